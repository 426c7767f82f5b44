"""All that a page tells of one story, read once: why, evidence, what happened, what it changes, what it cost."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TypeVar

from damascus.app import App, Project
from damascus.domain.errors import DamascusError, TransientError
from damascus.domain.ids import StoryId
from damascus.domain.pull_comment import WORDS, first_look
from damascus.domain.receipt import BuildReceipt
from damascus.domain.verdict import Phase
from damascus.git.snapshots import Snapshots
from damascus.people import changes, claims, rescuing
from damascus.people.diffs import StoryDiff, diff_by_risk
from damascus.people.explaining import Explained, explained
from damascus.people.rescuing import Kept
from damascus.people.tries import GateShown, TryShown, gates_of, tries_of
from damascus.store import receipts, spending, views
from damascus.store.db import Row
from damascus.store.views import StoryRow
from damascus.telling import costs, story
from damascus.telling.events import cells
from damascus.telling.phrases import plain
from damascus.telling.steps import came_to, took

T = TypeVar("T")
TIMELINE = 400
"""Lines of a timeline: the newest."""
STATUS_SHOWN = {"FULLY": "fully", "MVP": "mvp", "PARTIAL": "partial", "UNKNOWN": "unknown"}


@dataclass(frozen=True)
class EvidenceLine:
    """One requirement: how far it is proved and by what."""

    id: str
    text: str
    status: str
    gap: str
    tests: tuple[tuple[str, bool], ...]
    """Each with whether it is a negative case."""
    red_at: str
    green: bool
    code: tuple[str, ...]
    touched: bool


@dataclass(frozen=True)
class TimelineLine:
    """One line of a timeline: a step of a run, or an event."""

    at: datetime
    what: str
    told: str
    took: str = ""
    step: bool = False


@dataclass(frozen=True)
class StoryOnPage:
    """`evidence` is empty with `no_evidence` saying why; the same of the diff."""

    why: Explained
    row: StoryRow
    facts: list[tuple[str, str]]
    feedback: list[str]
    receipt: BuildReceipt | None
    evidence: tuple[EvidenceLine, ...]
    no_evidence: str
    first_look: str
    timeline: tuple[TimelineLine, ...]
    diff: StoryDiff | None
    no_diff: str
    gates: tuple[GateShown, ...]
    tries: tuple[TryShown, ...]
    artifacts: tuple[Row, ...]
    dispatches: tuple[Row, ...]
    cost: str
    issues: tuple[Row, ...]
    rescue: tuple[Kept, ...]
    off_main: bool


def story_page(app: App, project: Project, name: str) -> StoryOnPage:
    """`project` is the story's repository (`places.repository_of`)."""
    db = app.database
    why = explained(app, project, name)
    whole, steps = views.whole_row(db, project.row, name), views.journal(db, why.row.id)
    missing = claims.last_known_missing(app, project) if why.row.phase is Phase.DONE else {}
    row = claims.marked(why.row, missing)
    events = views.events(db, project.row, row.id, TIMELINE)
    receipt = receipts.newest_receipt(db, row.id)
    diff, no_diff = _or_why(lambda: _diff(app, project, row.story_id, receipt))
    dispatches = spending.of_story(db, row.id)
    return StoryOnPage(
        why=why,
        row=row,
        facts=story.facts(row, whole),
        feedback=story.feedback(row) if row.phase is not Phase.DONE else [],
        receipt=receipt,
        evidence=tuple(_evidence(receipt)) if receipt else (),
        no_evidence="" if receipt else "No commit of it has passed the gates yet, so nothing is proved.",
        first_look=first_look(receipt) if receipt else "",
        timeline=tuple(_timeline(events, steps)),
        diff=diff,
        no_diff=no_diff,
        gates=tuple(gates_of(steps)),
        tries=tuple(tries_of(steps, events)),
        artifacts=tuple(db.all("artifact_sizes", item=row.id)),
        dispatches=tuple(dispatches),
        cost=costs.story_line(dispatches),
        issues=tuple(views.issues(db, row.id)),
        rescue=_or_why(lambda: _kept(project, row.story_id))[0] or (),
        off_main=row.story_id in missing,
    )


def _or_why(asked: Callable[[], T]) -> tuple[T | None, str]:
    """What git can't tell is said in one sentence: the rest of the page stands."""
    try:
        return asked(), ""
    except (DamascusError, TransientError, OSError) as err:
        return None, plain(str(err)).splitlines()[0] if str(err) else "git could not be asked"


# ── the parts ─────────────────────────────────────────────────────────────────────────────────────────


def _evidence(receipt: BuildReceipt) -> list[EvidenceLine]:
    touched = set(receipt.requirements.touched)
    return [
        EvidenceLine(
            id=line.id,
            text=line.text,
            status=WORDS[line.status],
            gap=line.gap,
            tests=tuple((test, test in line.negative) for test in line.tests),
            red_at=line.red_at,
            green=line.green,
            code=tuple(line.code),
            touched=line.id in touched,
        )
        for line in receipt.requirement_lines
    ]


def _timeline(events: list[Row], steps: list[Row]) -> list[TimelineLine]:
    """Newest first."""
    told = [TimelineLine(row["created_at"], row["kind"], cells(row)[3]) for row in events]
    taken = [
        TimelineLine(s["started_at"], f"{s['phase']}: {s['step']}", came_to(s), took(s), step=True)
        for s in steps
        if s["started_at"] is not None
    ]
    return sorted([*told, *taken], key=lambda one: one.at, reverse=True)[:TIMELINE]


def _diff(app: App, project: Project, name: str, receipt: BuildReceipt | None) -> StoryDiff:
    """Two commits never differ in another way tomorrow: what was parsed is kept for the next look."""
    change = changes.change_of(app, project, name)
    return _parsed(_DiffOf(project, receipt), change)


@dataclass(frozen=True)
class _DiffOf:
    """Equal for the same project and receipt, so that it can be a key."""

    project: Project
    receipt: BuildReceipt | None

    @property
    def _key(self) -> tuple[int, str]:
        return self.project.row.repo_id, self.receipt.proof.tree if self.receipt else ""

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _DiffOf) and self._key == other._key


@lru_cache(maxsize=32)
def _parsed(whole: _DiffOf, change: changes.Change) -> StoryDiff:
    return diff_by_risk(whole.project, change, whole.receipt)


def _kept(project: Project, name: str) -> tuple[Kept, ...]:
    chain = Snapshots(project.mirror).chain(StoryId(name))
    return tuple(Kept(name, n, one) for n, one in enumerate(chain, 1))[:20]


def moment_of(kept: Kept) -> str:
    return rescuing.moment_of(kept.snapshot)
