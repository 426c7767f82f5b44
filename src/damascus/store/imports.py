"""Stories that came from elsewhere: known again by the source that their specs name."""

from dataclasses import dataclass
from datetime import datetime

from damascus.domain.errors import UsageError
from damascus.domain.events import EventKind
from damascus.domain.ids import Sha, StoryId
from damascus.domain.spec import Spec, parse_spec
from damascus.domain.verdict import Phase
from damascus.store.db import Connection, Database, Row, sql
from damascus.store.journal import write_events
from damascus.store.projects import ProjectRow
from damascus.tasks.importers.planning import ImportedBefore, KnownImport
from damascus.tasks.importers.record import MARK
from damascus.tasks.importers.story_specs import mark_of


def imported_before(db: Database, project: ProjectRow) -> ImportedBefore:
    names = frozenset(str(row["story_id"]).lower() for row in db.all("story_names", project=project.id))
    found = [known for row in db.all("imported_stories", project=project.id) if (known := _known(row)) is not None]
    return ImportedBefore(names, {one.source.lower(): one for one in found})


def _known(row: Row) -> KnownImport | None:
    spec = spec_of_row(row)
    if spec is None or not spec.source:
        return None
    return KnownImport(
        StoryId(row["story_id"]),
        spec.source,
        row["phase"],
        row["claims"] > 0 or row["phase"] not in (Phase.SPEC, Phase.BUILD),
        mark_of(spec) or str(row["added_hash"] or "")[:MARK],
        bytes(row["spec"]),
        row["spec_path"],
        row["added_hash"] or "",
        row["merged_commit"] or "",
    )


def spec_of_row(row: Row) -> Spec | None:
    """None for what an older release took as a spec and this one does not."""
    try:
        return parse_spec(bytes(row["spec"]), row["story_id"], rough=True)
    except UsageError:
        return None


@dataclass(frozen=True)
class LandedImport:
    """An imported story that is done, and whose boxes nobody ticked yet."""

    item: int
    story: str
    spec: Spec
    commit: Sha


def landed_since(db: Database, repo: int, since: datetime) -> tuple[datetime, list[LandedImport]]:
    """By the database's clock, which is told as well: a host's may be wrong."""

    def work(c: Connection) -> tuple[datetime, list[Row]]:
        now = c.execute(sql("database_clock")).fetchone()
        assert now is not None
        return now["now"], c.execute(sql("landed_imports"), {"repo": repo, "since": since}).fetchall()

    now, rows = db.run(work)
    read = [(row, spec_of_row(row)) for row in rows]
    found = [(row, spec) for row, spec in read if spec is not None and spec.source]
    return now, [LandedImport(row["id"], row["story_id"], spec, Sha(row["merged_commit"])) for row, spec in found]


def note_ticked(db: Database, project: int, item: int, facts: dict[str, object]) -> None:
    def work(c: Connection) -> None:
        write_events(c, project, item, ((EventKind.SOURCE_TICKED, facts),))

    db.run(work)
