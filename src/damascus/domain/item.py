"""A work item as the engine sees it: the row, typed."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Fence, Sha, StoryId
from damascus.domain.verdict import Milestone, Phase, Verdict


@dataclass(frozen=True)
class Item:
    """One row of work_items."""

    id: int
    uuid: UUID
    project_id: int
    project: str
    repo_id: int
    story_id: StoryId
    title: str
    phase: Phase
    run_no: int
    fence: Fence
    spec: bytes
    spec_path: str
    spec_hash: str
    file_scope: tuple[str, ...]
    branch: str
    attempts: int
    budget_cycles: int
    rough: bool = False
    acceptance: bytes | None = None
    base_commit: Sha | None = None
    candidate: Sha | None = None
    pr_url: str | None = None
    merged_commit: Sha | None = None
    last_verdict: Verdict | None = None
    last_feedback: VerdictFeedback | None = None
    failure_signature: str | None = None
    failure_streak: int = 0
    series_since: datetime | None = None
    series_count: int = 0
    series_ended: bool = False
    rescues: int = 0
    milestone: Milestone | None = None
    resume_phase: Phase | None = None
    first_attempted_at: datetime | None = None
    created_at: datetime | None = None
    answers: tuple[str, ...] = field(default_factory=tuple)
    change: dict[str, Any] | None = None
    """What made it STALE, until what is built anew is on main (store/stale.py)."""
