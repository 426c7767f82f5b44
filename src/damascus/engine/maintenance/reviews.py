"""A person's word on the pull request: an approving review lets the story land, one that wants changes sends it back.

Only reviews of exactly the commit that is shown count, of people who may write to the repository and are not the
token's user (the adapters see to that). Of one person the last word counts, and a wish for changes outweighs another's
approval. What was applied is known by the review's own number, so that it is applied once.
"""

from contextlib import suppress

from damascus.domain.approval import Word
from damascus.domain.errors import DamascusError
from damascus.domain.ports import Review
from damascus.domain.visible import visible
from damascus.engine.tools import Tools
from damascus.store import people
from damascus.store.db import Row

EVERY = 10.0
WHERE = "pull request"


def look_at_reviews(tools: Tools) -> list[str]:
    """The stories that go on by a person's word now."""
    if tools.forge.runs_ci:
        return []  # the local forge has no page on which somebody could say something
    awaited = tools.db.all("approvals_awaited", repo=tools.project.repo_id)
    return [row["story_id"] for row in awaited if _applied(tools, row)]


def _applied(tools: Tools, row: Row) -> bool:
    pull = tools.forge.find_pull(row["branch"])
    said = tools.forge.reviews(pull) if pull is not None and pull.state == "open" else []
    last = {review.by: review for review in said if review.commit == row["commit"]}
    new = [review for review in last.values() if review.id not in row["applied"]]
    refusal = next((review for review in new if review.state == "changes" and visible(review.words)), None)
    approving = next((review for review in new if review.state == "approved"), None)
    word = refusal or (approving if all(each.state == "approved" for each in last.values()) else None)
    return word is not None and _apply(tools, row["story_id"], word)


def _apply(tools: Tools, story: str, review: Review) -> bool:
    with suppress(DamascusError):  # somebody was quicker, at the terminal or on another host
        act = people.approve if review.state == "approved" else people.send_back
        act(tools.db, tools.project.id, story, Word(review.by, WHERE, review.words, review.id))
        tools.bell.ring()
        return True
    return False
