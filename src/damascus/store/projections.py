"""What the files beside a task graph are made from, and what was written of them into a person's folder."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from damascus.domain.events import EventKind
from damascus.domain.spec import Spec, read_spec
from damascus.store.db import Connection, Database, Row, jsonb, sql
from damascus.store.journal import write_events
from damascus.store.projects import ProjectRow


@dataclass(frozen=True)
class ProjectedFile:
    """One file as we left it. `as_main`: but for our part it is what main has."""

    path: str
    sha256: str
    as_main: bool = False
    part: dict[str, Any] = field(default_factory=dict)


def newest_event(db: Database) -> int:
    row = db.one("stream_last")
    return int(row["last_seq"]) if row else 0


def task_rows(db: Database, repo: int) -> list[Row]:
    return db.all("task_rows", repo=repo)


def specs(db: Database, repo: int, hashes: Collection[str]) -> dict[str, Spec | None]:
    """By hash; None where one can't be read."""
    rows = db.all("task_specs", repo=repo, hashes=sorted(hashes)) if hashes else []
    return {row["spec_hash"]: read_spec(bytes(row["spec"]), row["spec_path"], rough=True)[0] for row in rows}


def item_named(db: Database, project: int, story: str) -> Row | None:
    return db.one("story", project=project, story=story)


def records_under_way(db: Database, repo: int) -> str | None:
    """A story that commits these files and has not ended."""
    row = db.one("records_under_way", repo=repo)
    return str(row["story_id"]) if row else None


def landings(db: Database, items: list[int]) -> list[Row]:
    return db.all("task_landings", items=items)


def proofs(db: Database, items: list[int]) -> tuple[list[Row], list[Row]]:
    """What judged and built them, and the patterns that they applied."""
    return db.all("task_proofs", items=items), db.all("task_patterns", items=items)


def checkpoints(db: Database, project: ProjectRow) -> list[Row]:
    return db.all("full_checkpoints", project=project.id, repo=project.repo)


def take_checkpoint(db: Database, project: ProjectRow, body: dict[str, object]) -> bool:
    """Once for each number, whoever comes first. Was it this one?"""

    def work(c: Connection) -> bool:
        c.execute(sql("lock_records"), {"project": project.id})
        known = c.execute(sql("full_checkpoints"), {"project": project.id, "repo": project.repo}).fetchall()
        if len(known) + 1 != body["number"]:
            return False
        write_events(c, project.id, None, ((EventKind.TASKS_CHECKPOINT, {"repo": project.repo, **body}),))
        return True

    return db.run(work)


def tell_edited(db: Database, project: ProjectRow, item: int, body: dict[str, object]) -> None:
    db.run(lambda c: write_events(c, project.id, item, ((EventKind.TASKS_STATUS_EDITED, body),)))


def edited(db: Database, project: int) -> list[Row]:
    """Statuses that somebody wrote by hand in the last day."""
    return db.all("statuses_edited", project=project)


def written(db: Database, repo: int) -> dict[str, ProjectedFile]:
    return {row["path"]: ProjectedFile(**row) for row in db.all("projections_of", repo=repo)}


def note(db: Database, repo: int, one: ProjectedFile) -> None:
    db.do("note_projection", repo=repo, path=one.path, sha256=one.sha256, as_main=one.as_main, part=jsonb(one.part))


def ours(db: Database, repo: int) -> dict[str, tuple[str, str]]:
    """By path the hash of each file that is main's but for our part, and the hash of main's own; "": main has none."""
    return {path: (one.sha256, str(one.part.get("main", ""))) for path, one in written(db, repo).items() if one.as_main}
