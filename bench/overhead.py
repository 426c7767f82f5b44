"""What does being sure cost? Forty stories through Damascus against a shell script that trusts everybody.

Both use the same agent, the same tests and two jobs. The script: worktree, agent, tests, commit, then under a lock
rebase, tests, fast-forward. Damascus: the same and all that it promises.
"""

import os
import stat
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.table import Result

STORIES = 40
JOBS = 2
PAIRS = 5
ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "bench",
    "GIT_AUTHOR_EMAIL": "bench@example.invalid",
    "GIT_COMMITTER_NAME": "bench",
    "GIT_COMMITTER_EMAIL": "bench@example.invalid",
}
CONFIG = """\
[limits]
disk_reserve_mb = 0
load_per_core = 0.0
[test]
command = "none"
[gates]
canary = false
mutation = "off"
coverage.changed = 0
coverage.project = 0
"""
"""The script proves nothing of its tests, so neither does Damascus here: bench/proofs.py has that."""
AGENT = """\
#!/bin/sh
# The instant agent: story S-7 gets m7.txt and its test.
cat >/dev/null
n=$(sed -n 's/.*"story_id": *"S-\\([0-9]*\\)".*/\\1/p' "$DAMASCUS_BRIEF" 2>/dev/null | head -n 1)
n=${n:-${PWD##*S-}}
echo "content of $n" > "m$n.txt"
printf '# REQ-001\\nsleep %s\\ntest -f m%s.txt\\n' "$SECONDS_OF_TEST" "$n" > "tests/test_$n.sh"
"""
SCRIPT = """\
#!/bin/sh
# One story, trusting everybody: worktree, agent, tests, commit, then under a lock rebase, tests, fast-forward.
set -e
n=$1
git -C repo worktree add -q -b "feat/S-$n" "../S-$n" main
cd "S-$n"
"$AGENT" < /dev/null
sh "tests/test_$n.sh"
git add -A
git commit -q -m "feat: story $n"
exec 9> ../lock
flock 9
git rebase -q main
sh "tests/test_$n.sh"
git -C ../repo merge -q --ff-only "feat/S-$n"
cd ..
git -C repo worktree remove --force "S-$n"
"""


def measure(seconds: float) -> Result:
    """The median of several pairs, each run back to back: a machine's speed may change from minute to minute.

    Nothing is deleted between them: ext4 gives no inode away that was freed in the last minutes and looks through all
    of them for each new file, so that what an earlier pair left behind would be measured too.
    """
    with tempfile.TemporaryDirectory(prefix="damascus-bench-") as folder:
        pairs = [_pair(Path(folder, str(n)), seconds) for n in range(PAIRS if seconds < 1 else 1)]
    ratios = sorted(ours / script for script, ours in pairs)
    ratio = statistics.median(ratios)
    limit = 1.35 if seconds < 1 else 0.8
    script, ours = (statistics.median(each) for each in zip(*pairs, strict=True))
    spread = f", {ratios[0]:.2f} to {ratios[-1]:.2f} in {len(pairs)} pairs" if len(pairs) > 1 else ""
    note = f"{STORIES} stories, {JOBS} slots: script {script:.2f} s, Damascus {ours:.2f} s{spread}"
    return Result(f"overhead, tests of {seconds:g} s", ratio, f"≤ {limit}", ratio <= limit, note)


def _pair(folder: Path, seconds: float) -> tuple[float, float]:
    return run_script(folder / "script", seconds), run_damascus(folder / "ours", seconds)


def make_repository(folder: Path, seconds: float) -> Path:
    repo = folder / "repo"
    (repo / "tests").mkdir(parents=True)
    (repo / "tests" / "README").write_text("tests\n")
    (repo / "damascus.toml").write_text(CONFIG)
    for args in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "start")):
        subprocess.run(["git", *args], cwd=repo, env=ENV, check=True)
    agent = folder / "agent"
    agent.write_text(AGENT.replace("$SECONDS_OF_TEST", f"{seconds:g}"))
    agent.chmod(agent.stat().st_mode | stat.S_IXUSR)
    return repo


def run_script(folder: Path, seconds: float) -> float:
    make_repository(folder, seconds)
    script = folder / "story"
    script.write_text(SCRIPT)
    numbers = "\n".join(str(n) for n in range(1, STORIES + 1))
    command = ["xargs", "-P", str(JOBS), "-n", "1", "sh", str(script)]
    env = {**ENV, "AGENT": str(folder / "agent")}
    began = time.monotonic()
    subprocess.run(command, cwd=folder, env=env, input=numbers, text=True, check=True, stdout=subprocess.DEVNULL)
    took = time.monotonic() - began
    landed = subprocess.run(
        ["git", "rev-list", "--count", "main"], cwd=folder / "repo", env=ENV, capture_output=True, text=True, check=True
    )
    assert int(landed.stdout) == STORIES + 1, landed.stdout
    return took


def spec(n: int) -> str:
    return (
        f"---\nstory: S-{n}\ntitle: story {n}\nscope: [m{n}.txt, tests/test_{n}.sh]\n---\n## Requirements\n"
        f"- REQ-001: m{n}.txt is there\n\n## TDD Plan\nIts test first.\n\n"
        f"## Test Command\n```sh\nsh tests/test_{n}.sh\n```\n"
    )


def run_damascus(folder: Path, seconds: float) -> float:
    """The wall time of `damascus run --until-idle` as a user starts it, embedded PostgreSQL running."""
    repo = make_repository(folder, seconds)
    specs = folder / "specs"
    specs.mkdir()
    for n in range(1, STORIES + 1):
        (specs / f"S-{n}.md").write_text(spec(n))
    damascus = Path(sys.executable).with_name("damascus")
    env = {**ENV, "DAMASCUS_HOME": str(folder / "home")}

    def call(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(damascus), *args], cwd=repo, env=env, capture_output=True, text=True)

    for args in (("init", "--yes"), ("add", *(str(path) for path in sorted(specs.iterdir())))):
        done = call(*args)
        assert done.returncode == 0, done.stderr
    try:
        began = time.monotonic()
        done = call(
            "run", "--until-idle", "--slots", str(JOBS), "--agent", "command", "--agent-command", str(folder / "agent")
        )
        took = time.monotonic() - began
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    finally:
        call("db", "stop")
    return took
