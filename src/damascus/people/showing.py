"""One story: its row, its questions, what happened step by step, what came of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from damascus.app import App, Project
from damascus.domain.ids import Sha
from damascus.domain.judged_contracts import JudgedContract, contract_line
from damascus.domain.ports import CiRun
from damascus.domain.verdict import Phase
from damascus.engine.returned import Returned, returned
from damascus.people import claims
from damascus.people.published import item
from damascus.store import spending, views
from damascus.store.db import Row
from damascus.store.patterns import PatternUse, patterns_of
from damascus.store.tasks import judged_contracts
from damascus.store.views import StoryRow
from damascus.telling import costs, stale, story
from damascus.telling.steps import concerns

KEPT = ("spec_path", "spec_hash", "file_scope", "candidate", "run_no", "claims", "rescues", "priority", "rough",
        "answers", "created_at", "first_attempted_at", "resume_phase")  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """All that is known of a story. `lost` is its commit if it is done and main lacks it."""

    row: StoryRow
    whole: Row
    steps: list[Row]
    issues: list[Row]
    dispatches: list[Row]
    returned: Returned | None
    lost: str | None
    workspace: Path | None
    run_folder: Path
    patterns: list[PatternUse]
    contracts: list[JudgedContract]
    """Its test contract, by the last judged run."""

    @property
    def concerns(self) -> list[str]:
        return concerns(self.steps)

    def facts(self) -> list[tuple[str, str]]:
        """A name and what is told of it, each."""
        place = [("workspace", str(self.workspace))] if self.workspace else []
        contract = [("contract", told)] if (told := contract_line(self.contracts)) else []
        known = (*story.facts(self.row, self.whole), *contract, *stale.facts(self.row), *story.patterns(self.patterns))
        return [*known, *place]

    def published(self) -> dict[str, Any]:
        """The keys that programs read."""
        row = self.row
        return {
            **item(row),
            "tries": row.tries,
            **{key: self.whole[key] for key in KEPT},
            "change": row.change,
            "spec": bytes(self.whole["spec"]),
            "steps": self.steps,
            "issues": self.issues,
            "cost": costs.of_story(self.dispatches),
            "dispatches": self.dispatches,
            "returned": self.returned.model_dump() if self.returned else None,
            "concerns": self.concerns,
            "contracts": [one.model_dump() | {"met": one.met} for one in self.contracts],
            "patterns": [vars(use) for use in self.patterns],
            "on_main": self.lost is None if row.phase == Phase.DONE else None,
            "run_folder": str(self.run_folder),
        }


def shown(app: App, project: Project, name: str) -> Shown:
    """In the story's repository (`places.repository_of`)."""
    db = app.database
    row = views.story_row(db, project.row, name)
    whole, steps = views.whole_row(db, project.row, name), views.journal(db, row.id)
    missing = claims.not_on_main(app, project) if row.phase == Phase.DONE else {}
    workspace = project.worktrees / row.story_id
    return Shown(
        row=claims.marked(row, missing),
        whole=whole,
        steps=steps,
        issues=views.issues(db, row.id),
        dispatches=spending.of_story(db, row.id),
        returned=_returned(project, whole, steps),
        lost=missing.get(row.story_id),
        workspace=workspace if workspace.exists() else None,
        run_folder=project.runs / row.story_id,
        patterns=patterns_of(db, row.id),
        contracts=judged_contracts(db, [row.id]).get(row.id, []),
    )


def _returned(project: Project, whole: Row, steps: list[Row]) -> Returned | None:
    """What the worker came back with, by git's and CI's word (W12); None while there is no candidate."""
    if not whole["candidate"]:
        return None
    said = [step["output"] for step in steps if step["step"] == "ci" and step["status"] == "done"]
    ci = CiRun.model_validate(said[-1]) if said else None
    head = Sha(whole["candidate"])
    own = project.mirror.parent(head)  # the row's base may be older: what landed since is not the story's
    return returned(project.mirror, own, head, ci, project.config.test.patterns)
