"""Rows become typed values here and nowhere else."""

from typing import Any

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Fence, Sha, StoryId
from damascus.domain.item import Item
from damascus.domain.verdict import Milestone, Phase, Verdict
from damascus.store.db import Row


def item(row: Row) -> Item:
    return Item(
        id=row["id"],
        uuid=row["uuid"],
        project_id=row["project_id"],
        project=row["project"],
        repo_id=row["repo_id"],
        story_id=StoryId(row["story_id"]),
        title=row["title"],
        phase=Phase(row["phase"]),
        run_no=row["run_no"],
        fence=Fence(row["fence"]),
        spec=bytes(row["spec"]),
        spec_path=row["spec_path"],
        spec_hash=row["spec_hash"],
        file_scope=tuple(row["file_scope"]),
        branch=row["branch"],
        attempts=row["attempts"],
        budget_cycles=row["budget_cycles"],
        rough=row["rough"],
        acceptance=bytes(row["acceptance"]) if row["acceptance"] is not None else None,
        base_commit=_sha(row["base_commit"]),
        candidate=_sha(row["candidate"]),
        pr_url=row["pr_url"],
        merged_commit=_sha(row["merged_commit"]),
        last_verdict=Verdict(row["last_verdict"]) if row["last_verdict"] else None,
        last_feedback=feedback(row["last_feedback"]),
        failure_signature=row["failure_signature"],
        failure_streak=row["failure_streak"],
        series_since=row["series_since"],
        series_count=row["series_count"],
        series_ended=row["series_ended"],
        rescues=row["rescues"],
        milestone=Milestone(row["milestone"]) if row.get("milestone") else None,
        resume_phase=Phase(row["resume_phase"]) if row["resume_phase"] else None,
        first_attempted_at=row["first_attempted_at"],
        created_at=row["created_at"],
        answers=tuple(row["answers"]),
    )


def feedback(value: Any) -> VerdictFeedback | None:
    return VerdictFeedback.model_validate(value) if value else None


def _sha(value: str | None) -> Sha | None:
    return Sha(value) if value else None
