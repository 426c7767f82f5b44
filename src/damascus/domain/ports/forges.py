"""Branches, pull requests, CI and main, wherever they live."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel, Field

from damascus.domain.config import CiConfig
from damascus.domain.described import Described
from damascus.domain.ids import Sha
from damascus.domain.ports.gates import ChangedFile, Job


class CiState(Described):
    """How a CI job is. Only `success` counts as passed (W1)."""

    SUCCESS = "success", "it ended well"
    FAILURE = "failure", "it ended, and not well"
    CANCELLED = "cancelled", "somebody or something ended it"
    SKIPPED = "skipped", "it was not run"
    RUNNING = "running", "it is at work"
    WAITING = "waiting", "no runner has taken it yet"


AT_WORK = (CiState.RUNNING, CiState.WAITING)


class PullState(Described):
    """How a pull request is."""

    OPEN = "open", "it can be merged"
    MERGED = "merged", "main contains it"
    CLOSED = "closed", "somebody closed it without merging"


class ReviewState(Described):
    """What a person said of a pull request."""

    APPROVED = "approved", "it may land"
    CHANGES = "changes", "something else is wanted"


class Pull(BaseModel):
    """A pull request as the forge tells it."""

    number: int
    url: str
    head: str
    base: str
    head_sha: str
    title: str
    body: str = ""
    state: PullState = PullState.OPEN
    merged_commit: str | None = None
    comments: list[str] = Field(default_factory=list)


OWN_STATUS = "damascus"
"""The name of our status on a commit. It tells of CI and is no part of it: CI is judged without it."""
STATUS_LINE = 140
"""So many characters of a status' sentence are shown; GitHub refuses more."""


class ProofState(Described):
    """Our status on a commit. Only evidence makes a success: a person's word lands a story, and proves nothing."""

    PENDING = "pending", "something is still missing: CI, a landing ahead, a person's word, or the proof itself"
    SUCCESS = "success", "proved here and green in CI"
    FAILURE = "failure", "it was sent back"


@dataclass(frozen=True)
class PullProof:
    """What a pull request says of its commit: one comment, found again by its key and edited in place, and a status."""

    key: str
    text: str
    commit: Sha
    state: ProofState
    line: str
    landed: Sha | None = None
    """As which commit it is on main; a pull that is closed says so in this comment, and needs no second one."""


class Review(BaseModel):
    """What a person, who may write to the repository and is not the token's user, said of one commit of a pull."""

    id: str
    by: str
    state: ReviewState
    words: str = ""
    commit: str


SKIPPED_LISTED = 200


class CiJob(BaseModel):
    """One job of a run."""

    name: str
    state: CiState
    log: str = ""
    summary: str = ""
    skipped: list[str] = []
    """Tests that it left out, by name, where its runner is read; at most `SKIPPED_LISTED`."""
    id: str = ""
    """The forge's own name for it, by which its log is asked for."""


@dataclass(frozen=True)
class WantedJobs:
    """Every job that CI shows must be a success (W1). `required` must be there besides, `optional` may be anything.

    `mirror` mirrors main and is judged there (W5): on a story's commit it may be skipped.
    """

    required: tuple[str, ...]
    optional: frozenset[str] = frozenset()
    mirror: str = ""

    @classmethod
    def of(cls, ci: CiConfig) -> "WantedJobs":
        """Who names a job as required and as optional wants it: required holds. A default gives way."""
        optional = frozenset(ci.optional) - frozenset(ci.required)
        required = ci.required or [name for name in ci.jobs or ["test"] if name not in optional]
        return cls(tuple(required), optional, ci.mirror_job)

    def may_be(self, job: "CiJob") -> bool:
        """Does nothing depend on how this one ended?"""
        return job.name in self.optional or (
            job.name == self.mirror and job.state == CiState.SKIPPED and job.name not in self.required
        )


class CiRun(BaseModel):
    """All jobs of one pushed commit, known by its full SHA."""

    sha: str
    run_id: str
    jobs: list[CiJob] = Field(default_factory=list)
    provisional: bool = False
    """Not known by its SHA but by repository and time (W6): it may be awaited, it proves nothing."""
    unverified: list[str] = Field(default_factory=list)
    """By name: optional jobs that were no success when the run was judged."""

    @property
    def finished(self) -> bool:
        return bool(self.jobs) and all(job.state not in AT_WORK for job in self.jobs)

    def ended(self, wanted: WantedJobs) -> bool:
        """An optional job that no runner ever takes holds nobody."""
        return bool(self.jobs) and all(job.state not in AT_WORK for job in self.judged(wanted))

    def judged(self, wanted: WantedJobs) -> list[CiJob]:
        return [job for job in self.jobs if not wanted.may_be(job)]

    def green(self, wanted: WantedJobs) -> bool:
        """Every job that is shown, and every one that must be there; nothing shown is not green."""
        states = {job.name: job.state for job in self.judged(wanted)}
        there = bool(states) and all(name in states for name in wanted.required)
        return there and not self.provisional and all(state == CiState.SUCCESS for state in states.values())

    def waved_through(self, wanted: WantedJobs) -> list[str]:
        """By name, what may be anything and is no success."""
        left = [job for job in self.jobs if job.name in wanted.optional and job.state != CiState.SUCCESS]
        return [f"CI job {job.name}: optional, {job.state}" for job in left]


@dataclass(frozen=True)
class Push:
    """A push moves the branch and the fence ref together, each only from what we last knew.

    `branch_was`/`fence_was` None means: must not exist yet.
    """

    branch: str
    commit: Sha
    fence_ref: str
    branch_was: Sha | None
    fence_was: Sha | None


@dataclass(frozen=True)
class RemoteRefs:
    """What the forge has for a story."""

    branch: Sha | None
    fence: Sha | None


class Stale(Exception):
    """A guarded move found another value than expected: somebody else was there."""


class Blocked(Exception):
    """A dirty path of the person's, or an unrepairable checkout: landing waits. `paths` are named."""

    def __init__(self, message: str, paths: list[str], *, needs_person: bool = False) -> None:
        super().__init__(message)
        self.paths = paths
        self.needs_person = needs_person


class HeadNeeded(Exception):
    """Main takes only the forge's own merge, and that lands exactly the tested commit only as the head of its pull."""


class MainBranch(Protocol):
    """Main, wherever it really lives: read it, and move it to exactly what was tested."""

    def main_tip(self) -> Sha:
        """Main as the forge has it now; the mirror has the commit afterwards."""
        ...

    def have(self, commit: Sha) -> bool:
        """The mirror has this commit afterwards, whichever host made it. False: the forge does not have it either."""
        ...

    def land(self, old: Sha, new: Sha, pull: Pull | None = None) -> None:
        """Main moves from `old` to exactly `new`, or Stale. A protected main takes the guarded merge of `pull`."""
        ...

    def landed(self, commit: Sha) -> bool: ...
    def annotate(self, commit: Sha, text: bytes) -> None:
        """This receipt is the note on a commit that landed, in the place of whatever was there."""
        ...


class StoryBranches(Protocol):
    """The branches of stories and of the queue, moved only from what was known."""

    def remote_refs(self, branch: str, fence_ref: str) -> RemoteRefs: ...
    def plant_fence(self, fence_ref: str, was: Sha | None, fence: int) -> Sha: ...
    def push(self, push: Push) -> None: ...
    def move(self, branch: str, new: Sha | None, was: Sha | None) -> None:
        """Move a branch of the queue from `was` (None: not there) to `new` (None: delete it), or raise Stale."""
        ...


class Pulls(Protocol):
    """Pull requests, and what people say there."""

    def find_pull(self, branch: str) -> Pull | None:
        """The branch's open pull, else its newest one."""
        ...

    def open_pull(self, branch: str, title: str, body: str, head: Sha) -> Pull: ...
    def diff(self, pull: Pull) -> list[ChangedFile]: ...
    def comment(self, pull: Pull, key: str, text: str) -> None: ...
    def tell(self, pull: Pull, proof: PullProof) -> list[str]:
        """The comment of this key says this text now, and the commit has this status, whoever told what before.
        What the forge refuses to show is returned, a sentence each; trouble on the way is raised, as ever."""
        ...

    def reviews(self, pull: Pull) -> list[Review]:
        """Oldest first, without those that were dismissed; none where the forge has no reviews."""
        ...

    def close_merged(self, pull: Pull, commit: Sha) -> None: ...


class CiRuns(Protocol):
    """CI of one commit, asked for by its full SHA."""

    @property
    def runs_ci(self) -> bool:
        """CI is run here and now, by this process; else somewhere else, and awaited."""
        ...

    def run_id(self, sha: Sha) -> str:
        """The id of a commit's CI run; "" while there is none."""
        ...

    def ci(self, sha: Sha, jobs: Mapping[str, Job]) -> CiRun:
        """Every job of exactly this commit. No jobs: nothing has begun."""
        ...

    def ci_log(self, ci: CiRun, job: CiJob) -> str:
        """The whole log of one job; "" where the forge has none (any more, or not yet)."""
        ...

    def rerun(self, ci: CiRun, jobs: list[str]) -> bool:
        """Ask for these jobs of this very commit once more; False where the forge can't."""
        ...


@dataclass(frozen=True)
class ForgeIssue:
    """An open issue, as the forge tells it."""

    number: int
    title: str
    body: str = ""
    labels: tuple[str, ...] = ()

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "ForgeIssue":
        """Gitea and GitHub call these things alike."""
        labels = tuple(str(each.get("name", "")) for each in row.get("labels") or [])
        return cls(int(row["number"]), str(row.get("title") or ""), str(row.get("body") or ""), labels)

    def has(self, label: str) -> bool:
        return label.casefold() in (each.casefold() for each in self.labels)


class Issues(Protocol):
    """What people ask for on a forge. Not every forge has it, and no story needs it: who imports asks for it alone."""

    def issues(self, label: str) -> list[ForgeIssue]:
        """Those that are open and have the label, oldest first; no pulls."""
        ...


class Forge(MainBranch, StoryBranches, Pulls, CiRuns, Protocol):
    """Where branches, pull requests, CI and main live. Who needs one capability only asks for that one."""

    @property
    def name(self) -> str: ...
