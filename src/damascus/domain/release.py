"""The receipt of a release (`damascus ship`): every task with its state and receipt, what main was verified by, and the
verdict that follows from it. Its JSON Schema is made from these classes (docs/schemas/).

The verdict is computed here and nowhere else: nobody can word it up.
"""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from damascus.domain.critique import RequirementStatus
from damascus.domain.described import Described
from damascus.domain.receipt import Strict
from damascus.domain.verdict import TaskStatus

FORMAT = 1


class ReleaseVerdict(Described):
    """What verifying main came to."""

    SHIP = "SHIP", "every task is DONE and all that was verified is green"
    CONDITIONAL = "CONDITIONAL", "something is UNVERIFIED by name, or only MVP"
    NO_SHIP = "NO-SHIP", "something is red or not done"


class CheckOfRelease(Strict):
    """One command on a clean checkout of main's tip. What was not run has not passed."""

    name: str
    command: str = ""
    state: Literal["passed", "failed", "not_run"]
    summary: str = ""


class ContractOfRelease(CheckOfRelease):
    """One line of a task's test contract."""

    task: str
    behaviour: str = ""


class CoverageOfRelease(Strict):
    """Of the project's lines, by its own suite; `percent` null: not measured."""

    percent: float | None = None
    wanted: int = 0


class FindingOfRelease(Strict):
    """A static security finding in main's files. `reviewed`: a security-reviewer answered it."""

    path: str
    line: int = 0
    rule: str = ""
    message: str = ""
    reviewed: bool = False


class TaskOfRelease(Strict):
    """A task, its state, and what its own receipt says of each requirement."""

    story: str
    title: str
    status: TaskStatus
    cancelled: bool = False
    commit: str | None = None
    on_main: bool = True
    receipt: str | None = None
    """The receipt's word; null: it has none."""
    requirements: dict[str, RequirementStatus] = Field(default_factory=dict)


class RepositoryOfRelease(Strict):
    """What was verified, and by what."""

    repo: str
    commit: str
    suite: CheckOfRelease
    contracts: list[ContractOfRelease] = Field(default_factory=list)
    coverage: CoverageOfRelease = CoverageOfRelease()
    findings: list[FindingOfRelease] = Field(default_factory=list)
    unread: list[str] = Field(default_factory=list)
    """Kinds of files that no analyser looks at."""
    unreviewed: list[str] = Field(default_factory=list)
    """Tasks that no security-reviewer has read."""
    notes: list[str] = Field(default_factory=list)
    """What else could not be proved, by name."""


class ReleaseReceipt(Strict):
    """All of it. `red`, `unverified` and `verdict` follow from the rest."""

    format: int = FORMAT
    project: str
    declared_by: str
    declared_at: str
    note: str = ""
    tasks: list[TaskOfRelease] = Field(default_factory=list)
    repositories: list[RepositoryOfRelease] = Field(default_factory=list)
    red: list[str] = Field(default_factory=list)
    unverified: list[str] = Field(default_factory=list)
    mvp: list[str] = Field(default_factory=list)
    verdict: ReleaseVerdict = ReleaseVerdict.NO_SHIP

    def judged(self) -> "ReleaseReceipt":
        """With what follows from it."""
        red, unverified, mvp = list(_red(self)), list(_unverified(self)), list(_mvp(self))
        return self.model_copy(
            update={"red": red, "unverified": unverified, "mvp": mvp, "verdict": verdict(red, unverified, mvp)}
        )


def verdict(red: list[str], unverified: list[str], mvp: list[str]) -> ReleaseVerdict:
    if red:
        return ReleaseVerdict.NO_SHIP
    return ReleaseVerdict.CONDITIONAL if unverified or mvp else ReleaseVerdict.SHIP


def _red(receipt: ReleaseReceipt) -> Iterator[str]:
    """Nothing checked is never green: a release without a task, or without a repository, is none."""
    if not any(task.status is TaskStatus.DONE for task in receipt.tasks):
        yield "no task is DONE"
    if not receipt.repositories:
        yield "no repository was verified"
    for task in receipt.tasks:
        if not task.cancelled and task.status is not TaskStatus.DONE:
            yield f"{task.story} is {task.status}"
        elif not task.cancelled and not task.on_main:
            yield f"{task.story} is not on main any more"
    for repo in receipt.repositories:
        for check in (repo.suite, *repo.contracts):
            if check.state == "failed":
                yield f"{_named(repo, check)}: {check.summary}"
        percent, wanted = repo.coverage.percent, repo.coverage.wanted
        if percent is not None and percent < wanted:
            yield f"{repo.repo}: the tests run {percent:g} % of the project's lines, {wanted} % are asked for"


def _unverified(receipt: ReleaseReceipt) -> Iterator[str]:
    for task in receipt.tasks:
        if task.cancelled:
            yield f"{task.story} was cancelled and is no part of this"
        elif task.status is TaskStatus.DONE:
            yield from _of_task(task)
    for repo in receipt.repositories:
        for check in (repo.suite, *repo.contracts):
            if check.state == "not_run":
                yield f"{_named(repo, check)}: not run{f' ({check.summary})' if check.summary else ''}"
        if repo.coverage.percent is None:
            yield f"{repo.repo}: coverage of the project was not measured"
        yield from (f"{repo.repo}: {story} was read by no security-reviewer" for story in repo.unreviewed)
        for one in repo.findings:
            if not one.reviewed:
                yield f"{repo.repo}: {one.path}:{one.line} {one.rule} was reviewed by nobody"
        yield from (f"{repo.repo}: no analyser looks at {kind}" for kind in repo.unread)
        yield from (f"{repo.repo}: {note}" for note in repo.notes)


def _of_task(task: TaskOfRelease) -> Iterator[str]:
    if task.receipt is None:
        yield f"{task.story} has no receipt"
    elif task.receipt != "VERIFIED":
        yield f"the receipt of {task.story} is {task.receipt}"
    for name, status in task.requirements.items():
        if not status.ready:
            yield f"{task.story}: {name} is {status}"


def _mvp(receipt: ReleaseReceipt) -> Iterator[str]:
    for task in receipt.tasks:
        for name, status in task.requirements.items():
            if status is RequirementStatus.MVP_VERIFIED:
                yield f"{task.story}: {name} is {status}"


def _named(repo: RepositoryOfRelease, check: CheckOfRelease) -> str:
    task = f"{check.task} " if isinstance(check, ContractOfRelease) else ""
    return f"{repo.repo}: {task}{check.name}"
