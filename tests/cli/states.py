"""Stories brought into a state: by the queue itself where it can, by the row where only a run could."""

from datetime import UTC, datetime, timedelta
from typing import Any

from damascus.domain.item import Item
from damascus.domain.outcome import NeedsPerson, Outcome, Rejected, Transient, Wait
from damascus.domain.policy import decide
from damascus.store import leases, merge_queue, settle
from tests.yard import Yard

WORKER = "elsewhere:0123456789ab:4242:99"
SHA = "91ab33f0" + "0" * 32


def claim(yard: Yard, count: int = 1, worker: str = WORKER, seconds: float = 60.0) -> list[Item]:
    """As a worker of another host claims: parks what can't start."""
    register(yard, worker, slots=2)
    return leases.claim(yard.db, yard.row.id, worker, count, timedelta(seconds=seconds))


def register(yard: Yard, worker: str = WORKER, slots: int = 2) -> None:
    yard.db.do("register_worker", **_worker(yard, worker, slots))


def _worker(yard: Yard, worker: str, slots: int) -> dict[str, Any]:
    return {
        "project": yard.row.id,
        "id": worker,
        "host": worker.split(":", maxsplit=1)[0],
        "pid": int(worker.split(":")[2]),
        "slots": slots,
        "confinement": "bubblewrap",
    }


def came_to(yard: Yard, item: Item, outcome: Outcome) -> None:
    """Settle a claimed item as the engine does."""
    settle.settle(yard.db, item, decide(item, outcome, datetime.now(UTC)))


def waits(yard: Yard, item: Item, kind: str, key: str, wake_in: float | None = None) -> None:
    after = timedelta(seconds=wake_in) if wake_in is not None else None
    line = merge_queue.look(yard.db, item.repo_id, "main")
    came_to(yard, item, Wait(kind, key, after, version=line.version))


def outage(yard: Yard, item: Item, reason: str) -> None:
    came_to(yard, item, Transient(reason))


def rejected(yard: Yard, item: Item, verdict: Any, feedback: Any) -> None:
    came_to(yard, item, Rejected(verdict, feedback))


def asks(yard: Yard, item: Item, question: str, *options: str) -> int:
    from damascus.domain.feedback import VerdictFeedback

    came_to(yard, item, NeedsPerson(None, question, options, VerdictFeedback(message=question)))
    return int(yard.query("SELECT max(id) AS n FROM human_issues")[0]["n"])


def landed(yard: Yard, story: str) -> None:
    """On main, as the row says it and git does: main as it is."""
    commit = yard.main()
    yard.query(
        "UPDATE work_items SET phase = 'done', state = 'resting', pr_url = 'local://repo/pulls/44', claims = 1, "
        "merged_commit = %s, wait_kind = NULL, wait_key = NULL WHERE story_id = %s RETURNING id", commit, story,
    )  # fmt: skip
    item = yard.item(story)["id"]
    yard.query("DELETE FROM leases WHERE item_id = %s RETURNING item_id", item)
    yard.query(
        "INSERT INTO events_outbox (project_id, item_id, kind, body) VALUES (%s, %s, 'story.landed', "
        "jsonb_build_object('commit', %s::text, 'proof', 'it is reachable from main')) RETURNING id",
        yard.row.id, item, commit,
    )  # fmt: skip
