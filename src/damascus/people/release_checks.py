"""Main is verified for a release: its whole suite, every contract of what is done, coverage of the project, and all
static security findings, on a clean checkout of its tip. Nothing is taken from an agent's word."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import floor
from pathlib import PurePosixPath
from typing import Any

from damascus.domain.config import Config
from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, Job, TestRun
from damascus.domain.release import (
    CheckOfRelease,
    ContractOfRelease,
    CoverageOfRelease,
    FindingOfRelease,
    RepositoryOfRelease,
)
from damascus.domain.scope import Scope
from damascus.domain.spec import Spec, parse_spec
from damascus.domain.tasks import TestContract
from damascus.engine.agent_step.sending import passed_on
from damascus.engine.tools import Tools
from damascus.gates.coverage_lines import project_lines
from damascus.gates.coverage_run import Looks
from damascus.gates.red_green import CANNOT_RUN
from damascus.gates.runs import failed_tests, summary, tells_single_tests, uncounted
from damascus.stacks import stack_of, written_name
from damascus.stacks.suite import Suite, suite_of
from damascus.store.db import Row
from damascus.writes.sast import findings, has_analyser

NO_SPEC = "---\nstory: ship\ntitle: The release\nscope: [README]\n---\n"


@dataclass(frozen=True)
class DoneTask:
    """A story that is done: its id, its frozen spec, and the commit that brought it to main."""

    story: str
    spec: Spec
    commit: Sha | None = None


@dataclass(frozen=True)
class BrokenPromise:
    """A line of a done task's contract that main does not keep."""

    task: DoneTask
    contract: TestContract
    tests: tuple[str, ...]


class MainVerified:
    """One repository at its tip, as the forge has it at this moment. `progress` is told each thing before it runs."""

    def __init__(self, tools: Tools, done: list[DoneTask], progress: Callable[[str], None]) -> None:
        self.tools, self.done, self.progress = tools, done, progress
        self.tip = tools.forge.main_tip()
        self.config: Config = tools.read_config(self.tip)
        self.files = tools.mirror.listing(self.tip).files
        self.notes: list[str] = []
        self.broken: list[BrokenPromise] = []
        self._again: dict[str, TestRun] = {}

    def verify(self) -> RepositoryOfRelease:
        suite = suite_of(self.config.test, self.files, self._read)
        reviewed = self.tools.db.all("security_reviewed", repo=self.tools.project.repo_id)
        return RepositoryOfRelease(
            repo=self.tools.project.repo,
            commit=self.tip,
            suite=self._suite(suite),
            contracts=[self._contract(task, one) for task in self.done for one in task.spec.contracts],
            coverage=self._coverage(suite),
            findings=list(self._findings(reviewed)),
            unread=sorted({self._kind(path) for path in self.files if self._unread(path)}),
            unreviewed=[row["story_id"] for row in reviewed if not row["reviewed"]],
            notes=list(dict.fromkeys(self.notes)),
        )

    # ── commands ──────────────────────────────────────────────────────────────────────────────────────

    def _suite(self, suite: Suite) -> CheckOfRelease:
        if not suite.command:
            return CheckOfRelease(name="suite", state="not_run", summary="there is none")
        self.notes += suite.left_out()
        return CheckOfRelease(name="suite", command=suite.command, **self._ran(suite.command, "ship-suite", fresh=True))

    def _contract(self, task: DoneTask, contract: TestContract) -> ContractOfRelease:
        """A line without a command of its own is a test of the task's Test Command."""
        command = contract.command or task.spec.test_command
        known: dict[str, Any] = {
            "name": contract.id,
            "task": task.story,
            "behaviour": contract.behaviour,
            "command": command,
        }
        if contract.file not in self.files:
            told = f"{contract.file} is not on main"
            self.broken.append(BrokenPromise(task, contract, (contract.file,)))
            return ContractOfRelease(**known, state="failed", summary=told)
        run = self._asked(command, f"ship-{task.story}", fresh=False)
        if not run.green and not run.timed_out and run.exit_code not in CANNOT_RUN:
            self._look_again(task, contract, run)
        return ContractOfRelease(**known, **_told_of(run))

    def _look_again(self, task: DoneTask, contract: TestContract, red: TestRun) -> None:
        """Luck breaks no promise: what is green the second time is told, and the release is red all the same."""
        again = self._again.get(red.command)
        again = again or self._run(red.command, f"ship-{task.story}-again", fresh=True)
        self._again[red.command] = again
        if again.green:
            self.notes.append(f"{task.story} {contract.id}: red, then green on the same commit")
            return
        failed = [test for test in failed_tests(again) if written_name(test)[0] == contract.file]
        if failed or not tells_single_tests(again):
            self.broken.append(BrokenPromise(task, contract, tuple(failed) or (f"`{red.command}`",)))

    def _ran(self, command: str, label: str, *, fresh: bool) -> dict[str, Any]:
        return _told_of(self._asked(command, label, fresh=fresh))

    def _asked(self, command: str, label: str, *, fresh: bool) -> TestRun:
        self.progress(f"{self.tools.project.repo}: {command}")
        run = self._run(command, label, fresh=fresh)
        if run.green:
            self.notes += uncounted(run)
        return run

    def _run(self, command: str, label: str, *, fresh: bool) -> TestRun:
        assert self.tools.runner is not None
        logs = self.tools.folder / "ship"
        env = passed_on(self.config.workspace.env)
        limit = self.config.test.timeout_seconds
        tree = self.tools.mirror.tree(self.tip)
        return self.tools.runner.run(Job(tree, command, limit, label, logs / f"{label}.log", env, fresh=fresh))

    # ── coverage ──────────────────────────────────────────────────────────────────────────────────────

    def _coverage(self, suite: Suite) -> CoverageOfRelease:
        wanted = int(self.config.gates.coverage.project)
        if not suite.command or not wanted:
            return CoverageOfRelease(wanted=wanted)
        assert self.tools.runner is not None
        self.progress(f"{self.tools.project.repo}: coverage of {suite.command}")
        candidate = self._candidate()
        code = [path for path in self.files if stack_of(path) is not None]
        look = Looks(self.tools.runner).at(candidate, candidate.tree, suite.command, "ship-coverage", code)
        self.notes += [f"coverage: {stack}: {why}" for stack, why in look.lines.why_not.items()]
        whole = project_lines(candidate, self.tip, look.lines.stacks).of_stacks_in(look.lines)
        percent = floor(10 * whole.percent(look.lines)) / 10 if whole.count else None
        return CoverageOfRelease(percent=percent, wanted=wanted)

    def _candidate(self) -> Candidate:
        """Main as it is, as a gate sees a candidate: nothing is changed in it."""
        mirror, logs = self.tools.mirror, self.tools.folder / "ship"
        spec = parse_spec(NO_SPEC.encode(), "the release", rough=True)
        return Candidate(
            commit=self.tip, tree=mirror.tree(self.tip), base=self.tip, changed=(), spec=spec, scope=Scope(()),
            config=self.config, read=mirror.read, files=lambda treeish: mirror.listing(treeish).files, logs=logs,
            private_logs=logs / "held-out", env=passed_on(self.config.workspace.env),
        )  # fmt: skip

    # ── security ──────────────────────────────────────────────────────────────────────────────────────

    def _findings(self, reviewed: list[Row]) -> Iterator[FindingOfRelease]:
        """Every one in main's files as they are now; known by file, rule and message, since lines move."""
        self.progress(f"{self.tools.project.repo}: static security findings")
        answered = {
            (one.get("path"), one.get("rule"), one.get("message"))
            for row in reviewed
            if row["reviewed"]
            for one in row["findings"] or []
        }
        for path in sorted(path for path in self.files if has_analyser(path)):
            for one in findings(path, self._read(path) or b""):
                found = FindingOfRelease(
                    path=path, line=int(str(one.get("line") or 0)), rule=str(one.get("rule") or ""),
                    message=str(one.get("message") or ""),
                )  # fmt: skip
                yield found.model_copy(update={"reviewed": (path, found.rule, found.message) in answered})

    def _unread(self, path: str) -> bool:
        return stack_of(path) is not None and not has_analyser(path)

    def _kind(self, path: str) -> str:
        return f"*{PurePosixPath(path).suffix}"

    def _read(self, path: str) -> bytes | None:
        return self.tools.mirror.read(Sha(self.tip), path)


def _told_of(run: TestRun) -> dict[str, Any]:
    return {"state": "passed" if run.green else "failed", "summary": summary(run)}
