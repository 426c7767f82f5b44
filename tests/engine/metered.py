"""An agent of the tests' own that tells its overseer what a real one would: use, denials, trouble of the provider."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

from damascus.domain.ports import AgentRun, Brief, Denial, Usage, Watch
from damascus.engine.tools import nothing
from tests.engine.shell_stories import bad, good
from tests.waiting import eventually
from tests.yard import Yard

Act = Callable[[Brief, Path, Watch], AgentRun]


class Metered:
    """Does one act per call; calls beyond the list repeat the last."""

    name = "metered"
    confinement = "unconfined"

    def __init__(self, *acts: Act) -> None:
        self.acts = acts
        self.given: list[Brief] = []
        self.lock = threading.Lock()

    def run(self, brief: Brief, workspace: Path, watch: Watch) -> AgentRun:
        with self.lock:
            self.given.append(brief)
            act = self.acts[min(len(self.given), len(self.acts)) - 1]
        watch.transcript.write_text("an agent was here\n")
        return act(brief, workspace, watch)


def write(workspace: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)


def works(usage: Usage | None = None, *, well: bool = True, told: bool = True) -> Act:
    """Writes what the story asks, or something red; says what it used answer by answer, or only at the end."""

    def act(brief: Brief, workspace: Path, watch: Watch) -> AgentRun:
        write(workspace, (good if well else bad)(brief.story_id)["write"])
        if usage and told:
            watch.overseer.saw("usage", usage=usage)
        if ended := watch.overseer.end():
            return AgentRun(exit_code=None, ended=ended, usage=usage or Usage())
        return AgentRun(exit_code=0, usage=usage or Usage())

    return act


def trouble(*signs: tuple[str, dict[str, object]], files: dict[str, str] | None = None) -> Act:
    """Tells the signs and is ended by its overseer."""

    def act(brief: Brief, workspace: Path, watch: Watch) -> AgentRun:
        write(workspace, files or {})
        for sign, facts in signs:
            watch.overseer.saw(sign, **facts)
        ended = eventually(watch.overseer.end, what="the overseer to end it")
        return AgentRun(exit_code=None, ended=ended)

    return act


def denied(
    tool: str = "Bash", error: str = "not granted", tried: str = "rm -rf build"
) -> tuple[str, dict[str, object]]:
    return ("denied", {"denial": Denial(tool=tool, error=error, tried=tried)})


def says(run: AgentRun) -> Act:
    return lambda brief, workspace, watch: run


# ── a worker that dies ────────────────────────────────────────────────────────────────────────────────


def killed_worker(folder: Path, url: str, moment: tuple[str, str], tokens: int) -> None:
    """A process of its own: an agent that uses so many tokens, and kill -9 at a journal boundary."""

    def boundary(step: str, point: str) -> None:
        if (step, point) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    def act(brief: Brief, workspace: Path, watch: Watch) -> AgentRun:
        done = works(Usage(input_tokens=tokens, turns=1))(brief, workspace, watch)
        if moment == ("implement", "while it runs"):
            observed = "SELECT 1 FROM spending WHERE tokens > 0"
            eventually(lambda: yard.query(observed), what="the heartbeat to record what is used")
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    yard = Yard(folder, url)
    yard.worker(Metered(act), boundary=boundary).run(nothing)
