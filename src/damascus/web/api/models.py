"""The schemas of the API: the keys that `--json` of the same verb publishes, with their types.

Nothing is decided here. A key that a newer release adds is passed on, so clients must ignore what they don't know.
"""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from damascus.domain.merge_queue import EntryState
from damascus.domain.verdict import Phase, Verdict


class Published(BaseModel):
    """What programs read."""

    model_config = ConfigDict(extra="allow")


class WaitingFor(Published):
    """What a story waits for, and who acts next."""

    kind: str
    key: str
    who: str | None
    wake_at: datetime | None


class StorySummary(Published):
    """An entry of `damascus status --json`."""

    story_id: str
    title: str
    project: str
    phase: Phase
    status: str
    milestone: str | None
    step: str | None
    attempts: int
    budget_cycles: int
    last_verdict: Verdict | None
    last_feedback: dict[str, Any] | None
    branch: str
    base_commit: str | None
    pr_url: str | None
    merged_commit: str | None
    waiting_for: WaitingFor | None
    updated_at: datetime


class StoryList(Published):
    """`next` is the cursor of the next page; null on the last one."""

    items: list[StorySummary]
    next: str | None


class JournalStep(Published):
    """A step of a run, as its journal has it."""

    run_no: int
    phase: str
    step: str
    key: str
    status: str
    started_at: datetime
    done_at: datetime | None
    input: Any
    output: Any


class StoryIssue(Published):
    """A question that was asked about a story."""

    id: int
    question: str
    options: list[str]
    owner: str | None
    answer: str | None
    created_at: datetime
    closed_at: datetime | None


class WholeStory(StorySummary):
    """`damascus show STORY --json`."""

    tries: int
    spec_path: str
    spec_hash: str
    file_scope: list[str]
    candidate: str | None
    run_no: int
    claims: int
    rescues: int
    priority: int
    rough: bool
    answers: list[str]
    created_at: datetime
    first_attempted_at: datetime | None
    resume_phase: Phase | None
    change: dict[str, Any] | None
    spec: str
    steps: list[JournalStep]
    issues: list[StoryIssue]
    cost: Any
    dispatches: list[dict[str, Any]]
    returned: dict[str, Any] | None
    concerns: list[str]
    contracts: list[dict[str, Any]]
    patterns: list[dict[str, Any]]
    on_main: bool | None
    run_folder: str


class StoryWhy(Published):
    """`damascus why STORY --json`."""

    story_id: str
    why: str
    item: StorySummary


class ArtifactVersion(Published):
    """A file that a step left."""

    name: str
    version: int
    run_no: int
    step: str
    sha256: str
    made_at: datetime


class Artifacts(Published):
    """What the steps of a story left, by name and version."""

    story_id: str
    artifacts: list[ArtifactVersion]


class AnswerOffered(Published):
    """An answer that a question offers, and what it does."""

    number: int
    id: str | None
    text: str
    effect: str


class InboxEntry(Published):
    """An entry of `damascus inbox --json`."""

    id: int
    story_id: str | None
    title: str | None
    question: str
    options: list[str]
    owner: str | None
    created_at: datetime
    phase: Phase | None
    attempts: int | None
    budget_cycles: int | None
    last_verdict: Verdict | None
    last_feedback: dict[str, Any] | None
    priority: int | None
    answer: str | None
    concerns: list[Any] | None
    choices: list[AnswerOffered]


class Inbox(Published):
    """The open questions, the most urgent first."""

    issues: list[InboxEntry]


class QueuePlace(Published):
    """A story in the merge queue: it is tested on top of `on`, or of main where that is null."""

    place: int
    story_id: str
    title: str
    state: EntryState
    on: str | None
    base: str
    commit: str
    entered_at: datetime


class QueueOfBranch(Published):
    """The line for one branch of one repository."""

    repo: str
    target: str
    width: int
    entries: list[QueuePlace]


class Queues(Published):
    """Every merge queue of the project."""

    queues: list[QueueOfBranch]


class EventLine(Published):
    """A line of `damascus events --json`."""

    seq: int | None
    id: int
    at: datetime
    story_id: str | None
    kind: str
    body: dict[str, Any]


class EventList(Published):
    """Events in order. `next` is the number to give as `after`; `more`: there is more at this moment; `gone`: up to
    this number events went by age, where the page begins before it."""

    events: list[EventLine]
    next: int
    more: bool
    gone: int | None


class Times(Published):
    """Seconds."""

    median: float | None
    p90: float | None


class Stats(Published):
    """`damascus stats --json`."""

    landed: int
    lead_seconds: Times
    work_seconds: Times
    tries: dict[str, int]
    verdicts: dict[str, int]
    files: list[dict[str, Any]]
    flaky: list[dict[str, Any]]
    cost: dict[str, Any]


class WorkerInfo(Published):
    """A process that claims, as `damascus status --json` has it."""

    id: str
    host: str
    pid: int
    slots: int
    busy: int
    confinement: str
    started_at: datetime
    trouble: dict[str, Any] | None


class Workers(Published):
    """Those that live, as far as this host can tell."""

    workers: list[WorkerInfo]


class ActSaid(Published):
    """What was done, in the words that the command prints, and what to do next."""

    said: str
    next: str


class ActedOnStory(ActSaid):
    """`was_leased`: it was taken from a worker."""

    story_id: str
    phase: Phase
    was_leased: bool


class QuestionAnswered(ActSaid):
    """The question, and its story if it has one."""

    question: int
    story_id: str | None
    answer: str


class StoryQueued(Published):
    """What became of one spec."""

    story_id: str
    phase: str
    replaced: bool
    unchanged: bool


class StoriesAdded(ActSaid):
    """What became of each, and what is probably a slip in one."""

    queued: list[StoryQueued]
    warnings: list[str]


class Problem(BaseModel):
    """RFC 9457: why it was refused. `detail` is the sentence that the command line says."""

    type: str
    title: str
    status: int
    detail: str
