"""The project's repositories, for programs: who needs whom, CI of each main, who works and who waits there."""

from typing import Any

from damascus.store.graph import GraphView, Repo
from damascus.telling.graph import reason, works


def published(seen: GraphView) -> list[dict[str, Any]]:
    """The keys that programs read, one object for each repository."""
    return [_repository(seen, repo) for repo in seen.repos]


def _repository(seen: GraphView, repo: Repo) -> dict[str, Any]:
    names = {one.id: one.name for one in seen.repos}
    mine = [story for story in seen.stories if story["repo_id"] == repo.id]
    return {
        "name": repo.name,
        "path": repo.path,
        "main_branch": repo.main_branch,
        "needs": sorted(names[up] for up, down in seen.graph.edges if down == repo.id),
        "needed_by": sorted(names[down] for up, down in seen.graph.edges if up == repo.id),
        "ci": {"state": repo.ci_state, "commit": repo.ci_sha, "text": repo.ci_text, "red_since": repo.red_since},
        "max_workers": repo.max_workers,
        "working": [story["story_id"] for story in mine if works(story)],
        "waiting": [
            {"story_id": story["story_id"], "kind": story["wait_kind"], "for": reason(seen, story)}
            for story in mine
            if not works(story) and story["wait_kind"]
        ],
        "holds": [{"reason": h["reason"], "since": h["created_at"]} for h in seen.holds if h["repo_id"] == repo.id],
    }
