"""The tasks of a task graph as the database has them: stories, in the order of their graph."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cached_property
from typing import Any

from damascus.domain.judged_contracts import JudgedContract
from damascus.domain.spec import Spec, parse_spec
from damascus.domain.verdict import Phase, TaskStatus, task_status
from damascus.store.db import Database, Row
from damascus.store.projects import ProjectRow


@dataclass(frozen=True)
class TaskRow:
    """One task. `depends_on` are ids of tasks; `added_hash` is of the spec as a person added it last."""

    id: int
    story_id: str
    title: str
    phase: Phase
    claims: int
    spec: bytes
    spec_hash: str
    spec_path: str
    graph: str
    graph_at: int | None
    merged_commit: str | None
    change: dict[str, Any] | None
    file_scope: list[str]
    updated_at: datetime
    depends_on: list[str]
    added_hash: str | None

    @classmethod
    def of(cls, row: Row) -> "TaskRow":
        typed = {"phase": Phase(row["phase"]), "spec": bytes(row["spec"])}
        return cls(**{field.name: row[field.name] for field in fields(cls)} | typed)

    @property
    def started(self) -> bool:
        return self.claims > 0

    @property
    def status(self) -> TaskStatus:
        """The task graph's word, computed: nothing stores it."""
        return task_status(self.phase, self.started)

    @cached_property
    def parsed(self) -> Spec:
        return parse_spec(self.spec, self.spec_path, rough=True)


def tasks_of(db: Database, project: ProjectRow) -> list[TaskRow]:
    """Every story whose spec names a graph; graph by graph, in the order that the file has."""
    return [TaskRow.of(row) for row in db.all("tasks_of", project=project.id)]


def place_tasks(db: Database, places: Sequence[tuple[int, int]]) -> None:
    """Item and place, each: a task that was begun moves with its graph too."""
    db.do("place_tasks", ids=[item for item, _ in places], places=[at for _, at in places])


def judged_contracts(db: Database, items: Sequence[int]) -> dict[int, list[JudgedContract]]:
    """By item what its last judged run showed; items that were never judged so far are not there."""
    found = db.all("judged_contracts", ids=list(items))
    return {row["item_id"]: [JudgedContract.model_validate(one) for one in row["contracts"] or []] for row in found}
