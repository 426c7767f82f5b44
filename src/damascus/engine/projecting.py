"""The files beside a task graph, made from the database: for a person's folder (maintenance/projector.py) and for a
commit of their own (steps/records.py). Nothing is read from them: they are a projection, never truth.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from posixpath import dirname, join
from typing import Any

from damascus.domain.config import TasksConfig
from damascus.domain.ports import GateName, GateResult
from damascus.domain.receipt import MutationStatus
from damascus.domain.spec import Spec
from damascus.domain.verdict import Phase, TaskStatus, task_status
from damascus.store import decisions, owners, projections
from damascus.store.db import Database, Row
from damascus.store.projects import ProjectRow
from damascus.tasks.projections.checkpoint import NOT_RUN, NOTHING_AGAIN, OK, checkpoint_file, regression
from damascus.tasks.projections.facts import FullCheckpoint, TaskFacts, TaskProof
from damascus.tasks.projections.records import assumptions_file, decisions_file, ownership_file
from damascus.tasks.projections.region import with_region
from damascus.tasks.statuses import Written, with_statuses

NAMES = ("CHECKPOINT.md", "DECISIONS.md", "ASSUMPTIONS.md", "FILE_OWNERSHIP_MAP.md")
WAITS = (TaskStatus.PENDING, TaskStatus.IN_PROGRESS)


@dataclass(frozen=True)
class Projection:
    """What the files say now: our part of each, and the statuses of each graph."""

    tasks: tuple[TaskFacts, ...]
    items: Mapping[str, int]
    landings: tuple[str, ...]
    full: tuple[FullCheckpoint, ...]
    texts: Mapping[str, str]

    @property
    def graphs(self) -> list[str]:
        return list(dict.fromkeys(task.graph for task in self.tasks))

    @property
    def paths(self) -> list[str]:
        return [*self.graphs, *self.texts]

    def statuses(self, graph: str) -> dict[str, Written]:
        return {task.id: Written(task.status, task.checkpoint) for task in self.tasks if task.graph == graph}

    def applied(self, path: str, raw: bytes | None) -> bytes | None:
        """The file as it becomes; None: a graph that is not there is a person's to bring back."""
        if path in self.texts:
            return with_region(raw or b"", self.texts[path])
        return None if raw is None else with_statuses(raw, self.statuses(path))


class BuilderFacts:
    """Of one repository. What can't change any more is kept: specs by their hash, proofs by the commit that landed."""

    def __init__(self, db: Database, project: ProjectRow) -> None:
        self.db, self.project = db, project
        self._specs: dict[str, Spec | None] = {}
        self._proofs: dict[tuple[int, str], TaskProof] = {}

    def look(self, settings: TasksConfig) -> Projection:
        rows = projections.task_rows(self.db, self.project.repo_id)
        items = {row["story_id"]: row["id"] for row in rows}
        names = {ident: name for name, ident in items.items()}
        landed = projections.landings(self.db, list(names))
        self._learn(rows)
        last = {one["item_id"]: one["at"] for one in landed}
        tasks = tuple(self._facts(place, row, last.get(row["id"])) for place, row in enumerate(rows, 1))
        found = Projection(tasks, items, tuple(names[one["item_id"]] for one in landed), self._full(), {})
        return self.with_texts(found, settings)

    def with_texts(self, found: Projection, settings: TasksConfig) -> Projection:
        """None where the repository has no task."""
        if not found.tasks:
            return found
        repo, full = self.project.repo_id, self._full()
        texts = (
            checkpoint_file(found.tasks, found.landings, full),
            decisions_file(decisions.decisions_of(self.db, repo)),
            assumptions_file(decisions.assumptions_of(self.db, repo)),
            ownership_file(owners.map_of(self.db, repo)),
        )
        folder = dirname(settings.graph)
        paths = [join(folder, name) for name in NAMES]
        return replace(found, full=full, texts=dict(zip(paths, texts, strict=True)))

    def _facts(self, place: int, row: Row, landed_at: datetime | None) -> TaskFacts:
        spec = self._specs.get(row["spec_hash"])
        phase = Phase(row["phase"])
        return TaskFacts(
            id=row["story_id"],
            title=row["title"],
            status=task_status(phase, row["started"]),
            graph=row["graph"],
            place=place,
            commit=row["merged_commit"] or "",
            landed_at=landed_at,
            exempt=spec.contract_exempt if spec else "",
            reason=_reason(row, phase),
            proof=self._proofs.get((row["id"], row["merged_commit"] or ""), TaskProof()),
        )

    def _learn(self, rows: list[Row]) -> None:
        """The specs that are new, and the proofs of what landed since the last look."""
        unknown = {row["spec_hash"] for row in rows} - self._specs.keys()
        self._specs |= projections.specs(self.db, self.project.repo_id, unknown)
        new = {row["id"]: str(row["merged_commit"]) for row in rows if row["phase"] == Phase.DONE}
        new = {item: commit for item, commit in new.items() if (item, commit) not in self._proofs}
        if not new:
            return
        steps, patterns = projections.proofs(self.db, list(new))
        told: dict[int, dict[str, Any]] = {item: {} for item in new}
        applied: dict[int, list[str]] = {item: [] for item in new}
        for step in steps:
            told[step["item_id"]][step["step"]] = step["output"]
        for one in patterns:
            applied[one["item_id"]].append(_pattern(one))
        self._proofs |= {(item, new[item]): _proof(told[item], tuple(applied[item])) for item in new}

    def _full(self) -> tuple[FullCheckpoint, ...]:
        return tuple(_checkpoint(row) for row in projections.checkpoints(self.db, self.project))

    # ── full checkpoints ──────────────────────────────────────────────────────────────────────────────

    def take_due(self, found: Projection, every: int) -> list[int]:
        """After every so many tasks that landed, one each; the numbers of those that were taken now."""
        taken: list[int] = []
        number = len(found.full) + 1
        reached = found.full[-1].done if found.full else 0
        while len(found.landings) >= reached + every:
            if not projections.take_checkpoint(self.db, self.project, _body(found, number, reached, every)):
                break
            taken.append(number)
            number, reached = number + 1, reached + every
        return taken


def _reason(row: Row, phase: Phase) -> str:
    match phase:
        case Phase.BLOCKED:
            return str(row["question"] or "a person has to act")
        case Phase.CANCELLED:
            return "a person cancelled it"
        case Phase.STALE:
            return str((row["change"] or {}).get("why", ""))
    return ""


def _pattern(row: Row) -> str:
    return f"{row['pattern']} ({row['title']})" if row["title"] else str(row["pattern"])


def _proof(told: Mapping[str, Any], patterns: tuple[str, ...]) -> TaskProof:
    results = [GateResult.model_validate(one) for one in (told.get("verify") or {}).get("results", [])]
    said = told.get("commit") or told.get("implement") or {}
    receipt = told.get("receipt") or {}
    unverified = tuple(map(str, receipt.get("proof", {}).get("unverified", ())))
    return TaskProof(tuple(results), patterns, str(said.get("summary", "")), _mutation(receipt), unverified)


def _mutation(receipt: Mapping[str, Any]) -> bool | None:
    status = receipt.get("mutation", {}).get("status", MutationStatus.NOT_RUN)
    return None if status == MutationStatus.NOT_RUN else status == MutationStatus.VERIFIED


def _checkpoint(row: Row) -> FullCheckpoint:
    body: dict[str, Any] = row["body"]
    at: datetime = row["created_at"]
    names = ("tasks", "blocked", "stale", "patterns")
    told: dict[str, Any] = {name: tuple(body.get(name, [])) for name in names}
    told |= {name: str(body.get(name, "")) for name in ("remaining", "regression")}
    return FullCheckpoint(int(body["number"]), int(body["done"]), at, **told)


def _body(found: Projection, number: int, reached: int, every: int) -> dict[str, object]:
    since = list(found.landings[reached : reached + every])
    known = {task.id: task for task in found.tasks}
    concerned = [known[name] for name in since if name in known]
    waiting = [(status, sum(task.status is status for task in found.tasks)) for status in WAITS]
    stopped = {
        status: [f"{task.id}: {task.reason[:200]}" for task in found.tasks if task.status is status][:50]
        for status in (TaskStatus.BLOCKED, TaskStatus.STALE)
    }
    return {
        "number": number,
        "done": reached + every,
        "tasks": since,
        "remaining": ", ".join(f"{count} {status}" for status, count in waiting if count),
        "blocked": stopped[TaskStatus.BLOCKED],
        "stale": stopped[TaskStatus.STALE],
        "patterns": sorted({pattern for task in concerned for pattern in task.proof.patterns}),
        "regression": _regressions(concerned),
    }


def _regressions(tasks: list[TaskFacts]) -> str:
    """✅ only where each was looked at and none failed. What was not run again was not looked at."""
    said = [regression(task.proof.of(GateName.IMPACT)) for task in tasks]
    clean = sum(each.startswith(OK) for each in said)
    if said and clean == len(said):
        return f"{OK} no cross-task failures"
    if all(each.startswith((NOTHING_AGAIN, NOT_RUN)) for each in said):
        return "nothing was run again" if said else NOT_RUN
    others = [f"{task.id}: {each}" for task, each in zip(tasks, said, strict=True) if not each.startswith(OK)]
    return f"{clean} of {len(said)} without cross-task failures; {'; '.join(others)}"[:600]
