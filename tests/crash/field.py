"""A yard in which workers die: each a process of its own, forked from a server that has imported everything."""

import json
import multiprocessing
import os
import shlex
import signal
from dataclasses import dataclass
from functools import cache
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from damascus.domain.security_domains import SecurityDomain
from damascus.system import procfs
from tests.crash.worker_process import Act, Orders, main, sleep_file
from tests.waiting import eventually
from tests.yard import CONFIG, Yard, story

AGENT = """\
log=$HOME/agent.log
signs=$1
echo "start $DAMASCUS_ROLE" >> $log
name=$(sed -n 's/^ *"story_id": "\\([^"]*\\)".*/\\1/p' "$DAMASCUS_BRIEF")
if [ "$DAMASCUS_ROLE" = spec-refiner ]; then
    {before}
    cp $signs/refined-$name.md "$(sed -n 's/^ *"artifacts": "\\([^"]*\\)".*/\\1/p' "$DAMASCUS_BRIEF")/spec.md"
else
    mkdir -p tests
    printf '# REQ-001\\ntest "$(sh %s.sh)" = "hello %s"\\n' "$name" "$name" > tests/test_$name.sh
    {before}
    echo "echo hello $name" > $name.sh
fi
echo "end $DAMASCUS_ROLE" >> $log
"""
"""It tells by a file in its HOME, and is told by files in a folder that its command names: more it can't reach."""
AGENTS_IN_FULL = """\
log=$HOME/agent.log
echo "start $DAMASCUS_ROLE" >> $log
name=$(sed -n 's/^ *"story_id": "\\([^"]*\\)".*/\\1/p' "$DAMASCUS_BRIEF")
mkdir -p tests docs 2> /dev/null
status=VERIFIED helps=false concern=
case $DAMASCUS_ROLE in
test-author)
    grep -s REQ tests/test_$name.sh > /dev/null && echo "# every word" >> tests/test_$name.sh
    printf '# REQ-001\\ntest "$(sh %s.sh)" = "hello %s"\\n' "$name" "$name" >> tests/test_$name.sh ;;
test-critic)
    grep "every word" tests/test_$name.sh > /dev/null || { status=UNVERIFIED helps=true concern='"one word only"'; } ;;
code-implementer) echo "echo bye $name" > $name.sh ;;
fixer) echo "echo hello $name" > $name.sh ;;
doc-writer) echo "$name says hello" > docs/$name.md ;;
esac
printf '{"status": "%s", "can_further_iteration_help": %s, "summary": "read", "concerns": [%s], "domains": {%s}}' \\
    $status $helps "$concern" '{domains}' > $DAMASCUS_REPORT
echo "end $DAMASCUS_ROLE" >> $log
""".replace("{domains}", ", ".join(f'"{each}": "looked at"' for each in SecurityDomain))
"""Every role of profile `full`. The test-critic sends the tests back once, the code is wrong until the fixer comes."""
WAITING = 'echo "waits $DAMASCUS_ROLE" >> $log\n while ! test -e $signs/go; do sleep 0.02; done'
"""Between its test and its code it waits until `let_go`."""
ROUGH = "---\nstory: {name}\ntitle: Story {name}\n---\nSomething is wanted.\n"


@cache
def fork_server() -> ForkServerContext:
    """A fork costs milliseconds where an interpreter with all imports costs most of a second."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.crash.worker_process", "tests.crash.warm_imports"])
    return context


def shell_story(name: str, **parts: Any) -> str:
    scope = [f"{name}.sh", f"tests/test_{name}.sh"]
    return story(name, **{"scope": scope, "command": f"sh tests/test_{name}.sh", **parts})


class Field:
    """One yard, one or more stories that say hello, and workers for it."""

    def __init__(
        self,
        folder: Path,
        url: str,
        *,
        limits: str = "",
        files: dict[str, str] | None = None,
        before: str = "",
        more: str = "",
        script: str = AGENT,
    ) -> None:
        """`more` is added to its settings; `script` is what its agents do."""
        self.script = script
        config = more + CONFIG.replace("[agent]\n", '[agent]\nrefiner = true\nrefiner_approval = "auto"\n').replace(
            "[limits]\n", f"[limits]\n{limits}"
        )
        self.yard = Yard(folder, url, files=files or {"README": "a yard\n"}, config=config)
        self.url = url
        self.folder = folder
        self.signs = folder / "signs"
        self.signs.mkdir()
        self.agent = self.make_agent(before)
        self.processes: list[WorkerProcess] = []

    def make_agent(self, before: str = "", name: str = "agent") -> str:
        """An instant agent as a shell script; `before` runs between its test and its code."""
        path = self.folder / f"{name}.sh"
        path.write_text(self.script.replace("{before}", before or ":"))
        return shlex.join(["sh", str(path), str(self.signs)])

    def add(self, *names: str, rough: bool = False, **parts: Any) -> None:
        for name in names:
            whole = shell_story(name, **parts)
            if rough:
                (self.signs / f"refined-{name}.md").write_text(
                    whole.replace("\n---\n", "\n---\nSomething is wanted.\n\n", 1)
                )
            self.yard.add(ROUGH.format(name=name) if rough else whole, rough=rough)

    # ── workers ───────────────────────────────────────────────────────────────────────────────────────

    def start(self, *acts: Act, **how: Any) -> "WorkerProcess":
        orders = Orders(self.folder, self.url, how.pop("agent", self.agent), acts, **how)
        worker = WorkerProcess(self.folder, orders)
        self.processes.append(worker)
        return worker

    def killed(self, *acts: Act, **how: Any) -> "WorkerProcess":
        """Start a worker that must die by its own order, and wait for that."""
        worker = self.start(*acts, **how)
        code = worker.end()
        assert code == -signal.SIGKILL, f"the worker ended with {code}, not by SIGKILL:\n{worker.told()}"
        return worker

    def finish(self, **how: Any) -> "WorkerProcess":
        """A worker without orders works until nothing can move without a person."""
        worker = self.start(**how)
        code = worker.end()
        assert code == 0, f"the worker ended with {code}:\n{worker.told()}"
        return worker

    def close(self) -> None:
        for worker in self.processes:
            worker.kill()
        self.yard.db.close()

    # ── what happened ─────────────────────────────────────────────────────────────────────────────────

    def let_go(self) -> None:
        """Agents that wait for it go on."""
        (self.signs / "go").touch()

    def agents_told(self) -> str:
        logs = sorted(self.yard.project.folder.glob("homes/*/agent.log"))
        return "".join(path.read_text() for path in logs)

    def agent_lines(self, word: str, role: str = "code-implementer") -> int:
        return sum(line == f"{word} {role}" for line in self.agents_told().splitlines())

    def agent_waits(self, role: str = "code-implementer") -> "Agents":
        """The agent, once it has written its test and waits."""
        eventually(lambda: self.agent_lines("waits", role), 30, "the agent to wait")
        found = Agents.of(self.yard.project.folder)
        assert found.running()
        return found

    def pulls(self) -> list[dict[str, Any]]:
        """Every pull request of the local forge, as its refs have it."""
        git = self.yard.project.mirror.git
        names = git.out("for-each-ref", "--format=%(objectname)", "refs/damascus/pulls/").split()
        return [json.loads(git.out("cat-file", "blob", name)) for name in names]

    def branch(self, name: str) -> str | None:
        return self.yard.project.mirror.resolve(f"refs/heads/feat/{name}")

    def commits_on_main(self, name: str) -> list[str]:
        uuid = self.yard.item(name)["uuid"]
        return self.yard.git("log", "--format=%H", f"--grep=Damascus-Item: {uuid}", "main").split()


@dataclass(frozen=True)
class Agents:
    """Every process of the agents that were at work when it was looked, as seen from outside of their cages."""

    processes: frozenset[tuple[int, int]]

    @classmethod
    def of(cls, project: Path) -> "Agents":
        mark = b"\0HOME=" + os.fsencode(project / "homes")
        found = {each for each in procfs.table().values() if mark in b"\0" + procfs.environment(each.pid)}
        return cls(frozenset((each.pid, each.start) for each in found))

    def running(self) -> bool:
        now = (procfs.process(pid) for pid, _ in self.processes)
        return any(each and (each.pid, each.start) in self.processes and not each.zombie for each in now)


class WorkerProcess:
    """A worker that can be looked at, waited for, stopped and killed."""

    def __init__(self, folder: Path, orders: Orders) -> None:
        self.folder = folder
        self.process: BaseProcess = fork_server().Process(target=main, args=(orders,))
        self.process.start()

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def end(self, timeout: float = 120.0) -> int | None:
        self.process.join(timeout)
        return self.process.exitcode

    def kill(self) -> None:
        if self.process.exitcode is None:
            os.kill(self.pid, signal.SIGKILL)
            self.process.join(10)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def fall_asleep(self) -> None:
        """Ctrl-Z at a quiet moment: outside of a transaction, whose locks would stay until the server ends it."""
        sleep_file(self.folder, self.pid).touch()
        self.wait_stopped()

    def wait_stopped(self) -> None:
        eventually(self.is_stopped, 30, f"worker {self.pid} to stop itself")

    def is_stopped(self) -> bool:
        assert self.process.exitcode is None, self.told()
        return self.state() == "T"

    def state(self) -> str:
        """As /proc tells it: T for stopped."""
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2][:1]
        except OSError:
            return "gone"

    def moments(self, what: str = "reached") -> list[str]:
        path = self.folder / f"moments-{self.pid}.txt"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.partition(" ")[2] for line in lines if line.startswith(f"{what} ")]

    def wait_for(self, moment: str, timeout: float = 30.0) -> None:
        def came() -> bool:
            assert moment in self.moments() or self.process.exitcode is None, self.told()
            return moment in self.moments()

        eventually(came, timeout, f"{moment} in worker {self.pid}")

    def told(self) -> str:
        path = self.folder / f"worker-{self.pid}.log"
        return (path.read_text()[-3000:] if path.exists() else "") + "\n".join(self.moments()[-5:])
