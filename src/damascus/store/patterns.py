"""Which patterns of the library agents were offered and applied, and decisions that people make patterns."""

from collections.abc import Iterable
from dataclasses import dataclass

from damascus.domain.events import EventKind
from damascus.store.db import Connection, Database, Row, sql
from damascus.store.journal import write_events

APPLIED = "applied"


@dataclass(frozen=True)
class PatternUse:
    """One pattern of a story: offered to its agents, or applied by them, as its diff shows."""

    pattern: str
    title: str
    state: str

    @property
    def name(self) -> str:
        return f"{self.pattern} ({self.title})" if self.title else self.pattern


def patterns_of(db: Database, item: int) -> list[PatternUse]:
    """Applied ones first."""
    return [PatternUse(**row) for row in db.all("patterns_of", item=item)]


def applied_in(db: Database, item: int) -> list[str]:
    """By name: `PATTERN-001 (title)`."""
    return [use.name for use in patterns_of(db, item) if use.state == APPLIED]


def offer(c: Connection, project: int, item: int, patterns: Iterable[tuple[str, str]]) -> None:
    """By id and title, in the transaction that sends the agent."""
    new = _written(c, "offer_pattern", item, patterns)
    if new:
        write_events(c, project, item, ((EventKind.PATTERNS_MATCHED, {"offered": new, "applied": []}),))


def apply(c: Connection, project: int, item: int, patterns: Iterable[tuple[str, str]]) -> None:
    """In the transaction that records the agent's work."""
    new = _written(c, "apply_pattern", item, patterns)
    if new:
        write_events(c, project, item, ((EventKind.PATTERNS_MATCHED, {"offered": [], "applied": new}),))


def _written(c: Connection, statement: str, item: int, patterns: Iterable[tuple[str, str]]) -> list[str]:
    done = (c.execute(sql(statement), {"item": item, "pattern": one, "title": title}) for one, title in patterns)
    return [row["pattern"] for cursor in done if (row := cursor.fetchone()) is not None]


# ── decisions ─────────────────────────────────────────────────────────────────────────────────────────


def candidates(db: Database, project: int) -> list[Row]:
    return db.all("pattern_candidates", project=project)


def decision(db: Database, project: int, number: int) -> Row | None:
    return db.one("decision", project=project, number=number)


def accept(db: Database, project: int, number: int, pattern: str, by: str) -> bool:
    """False: somebody has accepted it already."""

    def work(c: Connection) -> bool:
        row = c.execute(sql("accept_decision"), {"project": project, "number": number, "by": by}).fetchone()
        if row is None:
            return False
        told: dict[str, object] = {"pattern": pattern, "decision": number, "by": by}
        write_events(c, project, None, ((EventKind.PATTERN_ACCEPTED, told),))
        return True

    return db.run(work)
