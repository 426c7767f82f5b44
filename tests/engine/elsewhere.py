"""The local forge as if its CI ran elsewhere: it shows, look by look, what a test wrote down for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from damascus.domain.errors import TransientError
from damascus.domain.ids import Sha
from damascus.domain.ports import CiJob, CiRun, Job, Pull
from damascus.engine.tools import nothing
from tests.engine.shell_stories import FILES, Watched, config, good, shell_story
from tests.yard import Yard

QUICK = "[ci]\nlook_seconds = 0.05\nno_run_seconds = 0.3\nqueued_seconds = 0.3\nrunning_seconds = 2.0\n"
WORKFLOW = {".gitea/workflows/ci.yml": "on: push\n"}


@dataclass(frozen=True)
class Look:
    """What the forge answers at one look. No states: nothing has begun."""

    states: dict[str, str] = field(default_factory=dict)
    logs: dict[str, str] = field(default_factory=dict)
    provisional: bool = False
    fails: bool = False

    @property
    def red(self) -> bool:
        return bool({"failure", "cancelled"} & set(self.states.values()))

    def run(self, sha: Sha, number: int) -> CiRun:
        jobs = [CiJob.model_validate({"name": name, "state": state}) for name, state in self.states.items()]
        return CiRun(sha=sha, run_id=str(number) if jobs else "", jobs=jobs, provisional=self.provisional)


GREEN = Look({"test": "success"})
RUNNING = Look({"test": "running"})


class Elsewhere:
    """`looks` are shown one after the other, then `then`; one that is red stays until it is run again or another
    commit is asked for."""

    runs_ci = False

    def __init__(self, *looks: Look, then: Look = GREEN, can_rerun: bool = True) -> None:
        self.forge: Any = None
        self.looks = list(looks)
        self.then = then
        self.shown = then
        self.stays_for = ""
        self.can_rerun = can_rerun
        self.main = GREEN
        """What it shows of the commit that the yard began with."""
        self.asked: list[str] = []
        self.reruns: list[tuple[str, list[str]]] = []
        self.comments: list[str] = []
        self.trouble_with: set[str] = set()
        self.lags = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.forge, name)

    def run_id(self, sha: Sha) -> str:
        return ""

    def ci(self, sha: Sha, jobs: Mapping[str, Job]) -> CiRun:
        if self.forge.forge.mirror.message(sha).strip() == "start":
            return self.main.run(sha, 0)
        self.asked.append(sha)
        if self.stays_for != sha:
            self.shown = self.looks.pop(0) if self.looks else self.then
            self.stays_for = sha if self.shown.red and not self._lagging() else ""
        if self.shown.fails:
            raise TransientError("the forge answered 502")
        return self.shown.run(sha, len(set(self.asked)))

    def ci_log(self, ci: CiRun, job: CiJob) -> str:
        self._trouble("ci_log")
        return self.shown.logs.get(job.name, "")

    def rerun(self, ci: CiRun, jobs: list[str]) -> bool:
        if self.can_rerun:
            self.reruns.append((ci.sha, jobs))
            self.stays_for = ""
            if self.lags:
                self.looks.insert(0, self.shown)
        self._trouble("rerun")
        return self.can_rerun

    def comment(self, pull: Pull, key: str, text: str) -> None:
        self.comments.append(text)
        self.forge.comment(pull, key, text)

    def _lagging(self) -> bool:
        """One look after a re-run was asked for still shows the run before it."""
        lagging, self.lags = self.lags and bool(self.reruns), self.lags and not self.reruns
        return lagging

    def _trouble(self, call: str) -> None:
        """Once, after the effect: the reply is lost."""
        if call in self.trouble_with:
            self.trouble_with.discard(call)
            raise TransientError("the forge answered 502")


class Far(Yard):
    """A yard whose forge is elsewhere; one story `one` whose agent is good at each try."""

    def __init__(self, folder: Path, database_url: str, forge: Elsewhere, more: str = "", **parts: Any) -> None:
        files = {**FILES, **parts.pop("files", WORKFLOW)}
        quick = QUICK.replace("0.05", str(parts.pop("look", 0.05)))
        super().__init__(folder, database_url, files=files, config=config(quick + more))
        self.elsewhere = forge
        self.agent_seen = Watched(
            self, {"one": [good("one", **{"one.sh": f"echo hello one # {n}\n"}) for n in range(9)]}
        )
        self.add(shell_story("one", **parts), budget=50)

    def go(self, boundary: Any = nothing) -> dict[str, Any]:
        """Work until nothing moves without a person; the item."""
        worker = self.worker(self.agent_seen, boundary=boundary)
        self.elsewhere.forge = worker.tools.forge
        worker.tools = replace(worker.tools, forge=self.elsewhere)
        worker.run(nothing)
        return self.item("one")

    def lines(self, milestone: str) -> list[str]:
        told = [row["body"] for row in self.events("one", "milestone.changed")]
        return [body["line"] for body in told if body["milestone"] == milestone]

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [row["body"] for row in self.events("one", kind)]
