"""What does a step cost beside its agent? An instant agent, bare and as a step of a build, in turn.

The step: its reservation and intent, a fresh workspace with the work so far, brief and prompt, the cage, a look at what
was written, the files as a commit, the journal. The bare one is the same shell script in a folder.
"""

import os
import statistics
import subprocess
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from bench import queue_database
from bench.table import Result
from damascus.domain.spec import parse_spec
from damascus.engine.agent_step.workspace import StartingPoint
from damascus.engine.run import Run
from damascus.engine.steps.implement import IMPLEMENT, Made
from damascus.lab.ground import Playground, story
from damascus.store import leases

RUNS = 50
MOST = 150.0
AGENT = """\
#!/bin/sh
echo "echo $$" > one.sh
printf '{"summary": "done"}' > "$DAMASCUS_REPORT"
"""
FILES = {f"src/module_{n}.py": f"def value():\n    return {n}\n" for n in range(50)}


def measure() -> list[Result]:
    with queue_database.server() as server, tempfile.TemporaryDirectory(prefix="damascus-bench-") as name:
        folder = Path(name)
        agent = folder / "agent.sh"
        agent.write_text(AGENT)
        run = _claimed(Playground(folder / "ground", server.url(), files=FILES), f"sh {agent}")
        steps, bare = [], []
        for n in range(-3, RUNS):  # the first ones look for the toolchain and fill what is kept
            took = (_step(run, n), _bare(folder, agent))
            if n >= 0:
                steps.append(took[0])
                bare.append(took[1])
    half, plain = statistics.median(steps), statistics.median(bare)
    note = f"p50 of {RUNS}: the script alone {plain:.1f} ms, as a step {half:.1f} ms, in turn"
    over = half - plain
    return [Result("an agent step over its agent, ms", over, f"≤ {MOST:g} (goal 100)", over <= MOST, note)]


def _claimed(ground: Playground, agent: str) -> Run:
    ground.add(story("S-1", scope=["one.sh", "src/"], command="sh one.sh"))
    worker = ground.worker(agent, slots=1)
    [item] = leases.claim(ground.db, ground.row.id, worker.id, 1, timedelta(hours=1))
    return Run(replace(item), worker.tools)


def _step(run: Run, n: int) -> float:
    spec = parse_spec(run.item.spec, run.item.spec_path)
    last = run.result(IMPLEMENT, str(n - 1))
    start = last.starting_point() if last else StartingPoint(base=run.tools.forge.main_tip())
    began = time.perf_counter()
    made = run.agent(IMPLEMENT, spec, start, key=str(n))
    took = (time.perf_counter() - began) * 1000
    assert isinstance(made, Made) and made.commit, made
    return took


def _bare(folder: Path, agent: Path) -> float:
    place = folder / "bare"
    place.mkdir(exist_ok=True)
    env = {"PATH": os.environ["PATH"], "DAMASCUS_REPORT": str(place / "report.json")}
    began = time.perf_counter()
    subprocess.run(["sh", str(agent)], cwd=place, env=env, check=True)
    return (time.perf_counter() - began) * 1000
