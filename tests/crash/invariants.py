"""What must hold after every death, whatever the story went through: I1 to I8, each as one query or look at git.

`check_invariants(field)` is for a field at rest: every worker has ended, nothing can move without a person.
"""

from collections import Counter
from itertools import pairwise
from typing import Any

from tests.crash.field import Field

WHOLE_WAY = [("build", "review"), ("review", "merge"), ("merge", "done")]
ONCE = ("build.committed", "build.pushed", "build.pr_opened", "ci.finished", "story.landed")


def check_invariants(field: Field) -> None:
    """I1 to I8 for every story of the field."""
    no_lease_without_its_item(field)
    for item in field.yard.query("SELECT * FROM work_items ORDER BY id"):
        ended_somewhere(field, item)
        scope_is_free(field, item)
        only_proved_commits_are_on_main(field, item)
        one_pull_per_branch(field, item)
        no_write_of_a_lower_fence(field, item)
        effects_happened_once(field, item)
        events_tell_every_change(field, item)
    main_is_whole(field)


def ended_somewhere(field: Field, item: dict[str, Any]) -> None:
    """I1: done or blocked or cancelled, and whoever is blocked has a question."""
    assert item["state"] == "resting" and item["phase"] in ("done", "blocked", "cancelled"), _of(item)
    if item["phase"] == "blocked":
        asked = field.yard.query("SELECT 1 FROM human_issues WHERE item_id = %s AND closed_at IS NULL", item["id"])
        assert asked, f"{item['story_id']} is blocked and nobody is asked"


def scope_is_free(field: Field, item: dict[str, Any]) -> None:
    """I2: the database refuses overlapping scopes while they live; at rest none may be left."""
    for table in ("active_scopes", "scope_barriers", "worker_records"):
        assert not field.yard.query(f"SELECT 1 FROM {table} WHERE item_id = %s", item["id"]), (table, _of(item))


def only_proved_commits_are_on_main(field: Field, item: dict[str, Any]) -> None:
    """I3: what is on main was judged without a finding and green in CI, by its full SHA."""
    for commit in field.commits_on_main(item["story_id"]):
        rows = _journal(field, item, commit)
        assert [row for row in rows if row["step"] == "verify" and not _findings(row["output"])], "not verified"
        green = [row for row in rows if row["step"] == "ci" and row["output"]["sha"] == commit]
        assert green and all(job["state"] == "success" for job in green[0]["output"]["jobs"]), "CI not green"


def one_pull_per_branch(field: Field, item: dict[str, Any]) -> None:
    """I4: one pull request per head, merged if and only if the story is done."""
    mine = [pull for pull in field.pulls() if pull["head"] == item["branch"]]
    assert len(mine) <= 1, f"{len(mine)} pull requests for {item['branch']}"
    if item["phase"] == "done":
        assert [(p["state"], p["merged_commit"], p["url"]) for p in mine] == [
            ("merged", item["merged_commit"], item["pr_url"])
        ]


def no_write_of_a_lower_fence(field: Field, item: dict[str, Any]) -> None:
    """I5: fences only grow, and a step was written by the claim that was the newest at that moment."""
    claims = field.yard.query(
        "SELECT (body ->> 'fence')::int AS fence, created_at FROM events_outbox"
        " WHERE item_id = %s AND kind = 'item.claimed' ORDER BY id", item["id"],
    )  # fmt: skip
    fences = [row["fence"] for row in claims]
    assert fences == sorted(set(fences)), fences
    for row in _journal(field, item):
        newer = [claim["created_at"] for claim in claims if claim["fence"] > row["fence"]]
        assert row["fence"] in fences, row
        assert not newer or row["done_at"] <= min(newer), f"{row['step']} was written after the next claim"


def effects_happened_once(field: Field, item: dict[str, Any]) -> None:
    """I6: the remote's own record: one merge, one commit on main."""
    commits = field.commits_on_main(item["story_id"])
    assert commits == ([item["merged_commit"]] if item["phase"] == "done" else []), commits


def events_tell_every_change(field: Field, item: dict[str, Any]) -> None:
    """I7: transitions form one chain that ends where the row is; every finished step told of itself once."""
    moves = [(e["body"]["from"], e["body"]["to"]) for e in field.yard.events(item["story_id"], "phase.transitioned")]
    assert all(one[1] == next_one[0] for one, next_one in pairwise(moves)), moves
    assert not moves or moves[-1][1] == item["phase"], moves
    told = Counter(event["kind"] for event in field.yard.events(item["story_id"]))
    done = Counter(row["step"] for row in _journal(field, item))
    assert (told["build.pushed"], told["build.pr_opened"], told["ci.finished"]) == (
        done["push"], done["propose"], done["ci"],
    )  # fmt: skip
    assert told["story.landed"] == (item["phase"] == "done")


def no_lease_without_its_item(field: Field) -> None:
    """I8: at rest no lease, no leased item, nobody in the queue."""
    assert not field.yard.query("SELECT * FROM leases")
    assert not field.yard.query("SELECT story_id FROM work_items WHERE state = 'leased'")
    assert not field.yard.query("SELECT * FROM queue_entries")


def main_is_whole(field: Field) -> None:
    """The person's checkout is exactly main, and nothing of ours lies about in it."""
    assert field.yard.git("status", "--porcelain") == ""
    left = [path.name for path in (field.yard.repo / ".git").iterdir() if path.name.endswith(".lock")]
    assert not left and not (field.yard.repo / ".git" / "damascus-landing").exists(), left


def check_landed_once(field: Field, name: str, *, rough: bool = False) -> None:
    """The story went its whole way, each event exactly once, at nobody's cost."""
    item = field.yard.item(name)
    assert item["phase"] == "done", (item["phase"], field.yard.questions(), item["last_feedback"])
    assert (item["attempts"], item["last_verdict"]) == (0, "passed")
    events = field.yard.events(name)
    moves = [(e["body"]["from"], e["body"]["to"]) for e in events if e["kind"] == "phase.transitioned"]
    assert moves == [("spec", "build")] * rough + WHOLE_WAY
    counts = Counter(event["kind"] for event in events)
    assert {kind: counts[kind] for kind in ONCE} == dict.fromkeys(ONCE, 1)
    assert field.yard.on_main(f"{name}.sh") == f"echo hello {name}"
    assert not field.yard.questions()


def _journal(field: Field, item: dict[str, Any], key: str | None = None) -> list[dict[str, Any]]:
    rows = field.yard.query("SELECT * FROM journal WHERE item_id = %s AND status = 'done'", item["id"])
    return [row for row in rows if key is None or row["key"] == key]


def _findings(judged: dict[str, Any]) -> list[Any]:
    return [finding for result in judged["results"] for finding in result["findings"]]


def _of(item: dict[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in ("story_id", "phase", "state", "wait_kind", "wait_key", "last_verdict")}
