"""The keys that programs read, by `--json`, by the API and by MCP alike (DESIGN §8)."""

from typing import Any

from damascus.store.views import StoryRow, WorkerRow


def item(row: StoryRow) -> dict[str, Any]:
    """The published keys (DESIGN §8)."""
    waiting = row.waiting_for
    return {
        "story_id": row.story_id,
        "title": row.title,
        "project": row.project,
        "phase": row.phase,
        "status": row.status,
        "milestone": row.shown_milestone,
        "step": row.step,
        "attempts": row.attempts,
        "budget_cycles": row.budget_cycles,
        "last_verdict": row.last_verdict,
        "last_feedback": row.last_feedback,
        "branch": row.branch,
        "base_commit": row.base_commit,
        "pr_url": row.pr_url,
        "merged_commit": row.merged_commit,
        "waiting_for": None if waiting is None else vars(waiting),
        "updated_at": row.updated_at,
    }


def worker_info(worker: WorkerRow) -> dict[str, Any]:
    """A process that claims, and on which host."""
    keys = ("id", "host", "pid", "slots", "busy", "confinement", "started_at", "trouble")
    return {key: getattr(worker, key) for key in keys}
