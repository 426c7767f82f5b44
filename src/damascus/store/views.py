"""What `status`, `show` and `events` read. Nothing here writes; every statement is a view_*.sql."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from damascus.domain.described import Described
from damascus.domain.errors import NotThere
from damascus.domain.scope import Scope
from damascus.domain.verdict import ACTIVE, Milestone, Phase, Substate, Verdict, task_status
from damascus.domain.waits import ENDED_BY_A_PERSON, ENDED_BY_A_STORY, ENDED_BY_CI, ItemState, WaitKind
from damascus.store.db import Database, Row
from damascus.store.projects import ProjectRow

SHOWN = 50
READY_SHOWN = 5
CHUNK = 2000
MILESTONES = {Phase.DONE: Milestone.DONE, Phase.BLOCKED: Milestone.BLOCKED, Phase.CANCELLED: Milestone.TERMINATED}
PERSON = "person"
"""What a blocked story waits for: no wait of the queue's, since nothing wakes it but an answer."""
OTHER_COUNTS = ("all", "done today", "questions")

KINDS = {kind.value: kind for kind in WaitKind}
TYPED: dict[str, type[Described]] = {
    "phase": Phase,
    "state": ItemState,
    "resume_phase": Phase,
    "last_verdict": Verdict,
    "milestone": Milestone,
    "substate": Substate,
    "blocker_phase": Phase,
}


@dataclass(frozen=True)
class Waiting:
    """What an item waits for, and who acts next: you, ci, a story, or nobody but time."""

    kind: str
    key: str
    who: str | None
    wake_at: datetime | None


@dataclass(frozen=True)
class StoryRow:
    """One item as people see it: the row, its worker record, its lease, who blocks it and the open question."""

    id: int
    story_id: str
    title: str
    project: str
    phase: Phase
    state: ItemState
    claims: int
    attempts: int
    budget_cycles: int
    last_verdict: Verdict | None
    last_feedback: dict[str, Any] | None
    branch: str
    base_commit: str | None
    pr_url: str | None
    merged_commit: str | None
    wait_kind: WaitKind | str | None
    """A plain word is a newer version's, which may work on the same database: it is told as it is."""
    wait_key: str | None
    not_before: datetime | None
    file_scope: list[str]
    run_no: int
    series_count: int
    series_since: datetime | None
    resume_phase: Phase | None
    rescues: int
    ready_at: datetime
    created_at: datetime
    first_attempted_at: datetime | None
    updated_at: datetime
    milestone: Milestone | None
    step: str | None
    substate: Substate | None
    line: str | None
    progress: dict[str, Any] | None
    milestone_since: datetime | None
    worker_id: str | None
    leased_at: datetime | None
    lease_expires_at: datetime | None
    lease_expired: bool | None
    blocker: str | None
    blocker_phase: Phase | None
    blocker_scope: list[str] | None
    issue: int | None
    issue_owner: str | None
    edits: str | None
    """The verb that adds its spec again, with the path, if a person has said that it will be corrected."""
    read_at: datetime
    change: dict[str, Any] | None = None
    """What made it STALE, until what is built anew is on main."""
    off_main: bool = False
    """Done, and main lacks it: asked of git by whoever shows it (people/claims.py)."""

    @classmethod
    def of(cls, row: Row) -> "StoryRow":
        """The row, its words typed."""
        shown = {name: row[name] for name in SHOWN_COLUMNS}
        typed: dict[str, Any] = {name: word(row[name]) for name, word in TYPED.items() if row[name] is not None}
        return cls(**shown | typed | {"wait_kind": KINDS.get(row["wait_kind"], row["wait_kind"])})

    @property
    def active(self) -> bool:
        return self.phase in ACTIVE

    @property
    def wanted(self) -> list[str]:
        """What of its scope the story before it has; all of it where nobody is known to be there."""
        both = Scope(tuple(self.file_scope)).shared_with(Scope(tuple(self.blocker_scope or ())))
        return both or self.file_scope

    @property
    def tries(self) -> int:
        """Which try this is, or was the last; 0: nobody began it."""
        if self.claims == 0:
            return 0
        ended = self.phase in (Phase.BLOCKED, Phase.CANCELLED, Phase.STALE)
        return max(self.attempts, 1) if ended else self.attempts + 1

    @property
    def status(self) -> str:
        """The task-graph word (A1)."""
        return task_status(self.phase, self.claims > 0).value

    @property
    def waiting_for(self) -> Waiting | None:
        if self.phase in (Phase.BLOCKED, Phase.STALE):
            return Waiting(PERSON, str(self.issue or ""), self.issue_owner or "you", None)
        if self.wait_kind is None:
            return Waiting(WaitKind.DEPENDENCY, self.blocker, self.blocker, None) if self.blocker else None
        if self.wait_kind in ENDED_BY_A_PERSON:
            who: str | None = "you"
        else:
            who = "ci" if self.wait_kind in ENDED_BY_CI else self.blocker
        key = self.blocker if self.wait_kind in ENDED_BY_A_STORY else self.wait_key
        return Waiting(self.wait_kind, key or "", who, self.not_before)

    @property
    def shown_milestone(self) -> str | None:
        return MILESTONES.get(self.phase) or self.milestone


SHOWN_COLUMNS = tuple(field.name for field in fields(StoryRow) if field.name != "off_main")


@dataclass(frozen=True)
class Trouble:
    """A service of a worker that fails again and again."""

    service: str
    failures: int
    since: datetime
    cause: str
    log: str

    @classmethod
    def of(cls, service: str, told: dict[str, Any]) -> "Trouble":
        since = datetime.fromisoformat(told["since"])
        return cls(service, told["failures"], since, told["cause"], told["log"])


@dataclass(frozen=True)
class WorkerRow:
    """A process that claims items."""

    id: str
    host: str
    pid: int
    slots: int
    confinement: str
    started_at: datetime
    busy: int
    renews: bool | None
    trouble: dict[str, Any] | None = None

    @property
    def troubles(self) -> list[Trouble]:
        """The longest first."""
        return sorted((Trouble.of(name, told) for name, told in (self.trouble or {}).items()), key=lambda t: t.since)


@dataclass(frozen=True)
class ProjectView:
    """One look at a project. `rows` are what is shown, `counts` are of everything."""

    project: str
    rows: tuple[StoryRow, ...]
    counts: dict[str, int]
    workers: tuple[WorkerRow, ...] = ()

    def count(self, what: str) -> int:
        return self.counts.get(what, 0)


def snapshot(
    db: Database, project: ProjectRow, today: datetime, *, everything: bool = False, since: datetime | None = None
) -> ProjectView:
    """What moves, what is blocked and the first in each line; `since` adds what was finished after it."""
    found = counts(db, project, today)
    rows = tuple(every_row(db, project) if everything else picked(db, project, since))
    return ProjectView(project.name, rows, found, tuple(workers(db, project)))


def picked(db: Database, project: ProjectRow, since: datetime | None = None) -> list[StoryRow]:
    """What a person wants to see first, without a count of anything."""
    params = {"project": project.id, "limit": SHOWN, "ready": READY_SHOWN, "since": since}
    return rows_of(db, project, [row["id"] for row in db.all("view_picked", **params)])


def counts(db: Database, project: ProjectRow, today: datetime) -> dict[str, int]:
    """How many items are in each state; of those at rest, in each phase."""
    found = {row["what"]: int(row["n"]) for row in db.all("view_counts", project=project.id, today=today)}
    known = sum(n for what, n in found.items() if what not in OTHER_COUNTS)
    return found | {ItemState.WAITING: found["all"] - known}


def rows_of(db: Database, project: ProjectRow, ids: list[int]) -> list[StoryRow]:
    """In the order of `ids`."""
    found = {row["id"]: StoryRow.of(row) for row in db.all("view_items", project=project.id, ids=ids)}
    return [found[i] for i in ids if i in found]


def every_row(db: Database, project: ProjectRow) -> Iterator[StoryRow]:
    """All items in the order they were added, read in pieces: a queue may be long."""
    ids = [row["id"] for row in db.all("view_ids", project=project.id)]
    for start in range(0, len(ids), CHUNK):
        yield from rows_of(db, project, ids[start : start + CHUNK])


def workers(db: Database, project: ProjectRow) -> list[WorkerRow]:
    return [WorkerRow(**row) for row in db.all("view_workers", project=project.id)]


def story_row(db: Database, project: ProjectRow, story: str) -> StoryRow:
    row = db.one("story", project=project.id, story=story)
    if row is None:
        raise NotThere(f"there is no story {story!r} in this project. See them all: damascus status --all")
    return rows_of(db, project, [row["id"]])[0]


def whole_row(db: Database, project: ProjectRow, story: str) -> Row:
    """The row itself, spec included."""
    row = db.one("story", project=project.id, story=story)
    assert row is not None
    return row


def events(db: Database, project: ProjectRow, item: int | None, limit: int) -> list[Row]:
    """The newest `limit`, oldest first."""
    return db.all("view_events", project=project.id, item=item, limit=limit)


def last_events(db: Database, item: int) -> dict[str, Row]:
    return {row["kind"]: row for row in db.all("view_last_events", item=item)}


def journal(db: Database, item: int, first_run: int = 1) -> list[Row]:
    return db.all("view_journal", item=item, run=first_run)


def issues(db: Database, item: int) -> list[Row]:
    return db.all("view_story_issues", item=item)
