"""The rows of what agents spend: reserved under a lock, counters that only grow, nothing lost and nothing twice."""

import threading
from typing import Any

import pytest

from damascus.domain.item import Item
from damascus.domain.money import BudgetStanding, Granted, Reserved, allow
from damascus.domain.ports import Usage
from damascus.store import spending
from damascus.store.db import Connection, Database, sql
from damascus.store.spending import Dispatch
from tests.store.lane import Lane, item_of
from tests.waiting import eventually

MODEL = "minimax-m3"


def dispatch(item: Item, step: str = "implement") -> Dispatch:
    return Dispatch(item, step, "code-implementer", MODEL)


def reserve(lane: Lane, item: Item, tokens: int = 100, dollars: int = 0) -> Dispatch:
    made = dispatch(item)
    lane.db.run(lambda c: spending.reserve(c, made, Granted(tokens), Granted(dollars)))
    return made


def record(lane: Lane, made: Dispatch, tokens: int, dollars: int | None = None, *, final: bool = False) -> None:
    lane.db.run(lambda c: spending.record(c, made, Usage(input_tokens=tokens, turns=1), dollars, final=final))


def standing(lane: Lane, item: Item, project: int = 1000) -> BudgetStanding:
    return lane.db.run(lambda c: spending.sums(c, item, whole=True)).standing("tokens", (100, 0, project))


def rows(lane: Lane) -> list[dict[str, Any]]:
    return lane.query("SELECT fence, state, tokens, microdollars FROM spending ORDER BY fence")


@pytest.fixture
def lane(db: Database) -> Lane:
    lane = Lane(db)
    lane.add("one")
    lane.add("two")
    return lane


@pytest.mark.req("X5")
def test_what_others_reserved_counts_until_they_settle_and_what_they_used_for_ever(lane: Lane) -> None:
    one, two = lane.claim(2)
    made = reserve(lane, one)
    assert standing(lane, two).project_reserved == 100
    record(lane, made, 30)
    assert (standing(lane, two).project_spent, standing(lane, two).project_reserved) == (30, 70)
    record(lane, made, 40, final=True)
    assert (standing(lane, two).project_spent, standing(lane, two).project_reserved) == (40, 0)
    assert standing(lane, one).story_spent == 40 and standing(lane, two).story_spent == 0


@pytest.mark.req("X5")
def test_a_dead_workers_reservation_ends_with_its_lease_and_its_use_is_counted_once(lane: Lane) -> None:
    one, two = lane.claim(2)
    record(lane, reserve(lane, one), 30)
    lane.expire(one)
    lane.rescue()
    assert (standing(lane, two).project_spent, standing(lane, two).project_reserved) == (30, 0)
    again = lane.claim_one("w2")
    assert again.id == one.id and standing(lane, again).story_spent == 30
    record(lane, reserve(lane, again), 50, final=True)
    assert [(row["state"], row["tokens"]) for row in rows(lane)] == [("settled", 30), ("settled", 50)]
    assert standing(lane, two).project_spent == 80


@pytest.mark.req("X5")
def test_who_lost_its_lease_still_tells_what_it_used_and_nobody_counts_it_down(lane: Lane) -> None:
    one = lane.claim_one()
    made = reserve(lane, one)
    record(lane, made, 30)
    lane.expire(one)
    lane.rescue()
    again = lane.claim_one("w2")
    reserve(lane, again)
    record(lane, made, 45, final=True)
    record(lane, made, 20)
    assert standing(lane, again).story_spent == 45


@pytest.mark.req("X5")
def test_a_reservation_that_is_written_twice_is_one(lane: Lane) -> None:
    """A transaction runs again when its answer was lost."""
    one, two = lane.claim(2)
    reserve(lane, one)
    record(lane, reserve(lane, one), 10)
    assert len(rows(lane)) == 1 and standing(lane, two).project_spent == 10


@pytest.mark.req("X5")
def test_two_steps_at_once_are_never_promised_the_same_money(lane: Lane, database_url: str) -> None:
    """The second looks only when the first has committed its reservation."""
    one, two = lane.claim(2)
    answers: list[object] = []

    def other() -> None:
        db = Database(database_url)
        answers.append(allow(db.run(lambda c: spending.sums(c, two, whole=True)).standing("tokens", (100, 0, 150))))
        db.close()

    thread = threading.Thread(target=other)

    def first(c: Connection) -> None:
        assert allow(spending.sums(c, one, whole=True).standing("tokens", (100, 0, 150))) == Granted(100)
        thread.start()
        blocked = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        eventually(lambda: c.execute(blocked).fetchone(), what="the second to wait for the lock")
        spending.reserve(c, dispatch(one), Granted(100), Granted())

    lane.db.run(first)
    thread.join(10)
    assert answers == [Reserved(150, 100)]


@pytest.mark.req("X5")
def test_a_raise_lifts_a_limit_and_never_makes_or_lowers_one(lane: Lane) -> None:
    one = lane.claim_one()

    def limits(story: int, project: int) -> tuple[int, int]:
        found = lane.db.run(lambda c: spending.sums(c, one, whole=True)).standing("tokens", (10, story, project))
        return found.story, found.project

    lane.db.run(lambda c: spending.raise_budget(c, lane.project.id, one.id, "tokens", 500))
    lane.db.run(lambda c: spending.raise_budget(c, lane.project.id, 0, "tokens", 900))
    assert limits(100, 200) == (500, 900)
    assert limits(800, 1000) == (800, 1000) and limits(0, 0) == (0, 0)
    lane.db.run(lambda c: spending.raise_budget(c, lane.project.id, one.id, "tokens", 600))
    assert limits(100, 200) == (600, 900)


@pytest.mark.req("X5")
def test_costs_of_merged_stories_a_forecast_and_models_without_a_price(lane: Lane) -> None:
    counts = {"ready": 3, "leased": 1, "blocked": 1, "done": 9}
    for name, tokens, dollars in (("a", 100, 10), ("b", 200, 20), ("c", 1000, 100)):
        assert spending.cost(lane.db, lane.project, counts).forecast is None
        lane.execute("DELETE FROM leases")
        lane.add(name)
        lane.execute("UPDATE work_items SET state = 'ready' WHERE story_id = %s", name)
        item = next(each for each in lane.claim(9) if each.story_id == name)
        record(lane, reserve(lane, item), tokens, dollars, final=True)
        lane.land(item)
    cost = spending.cost(lane.db, lane.project, counts)
    assert (cost.tokens, cost.microdollars, cost.per_story, cost.forecast) == (1300, 130, (433, 43), (1000, 100))
    open_one = item_of(lane, "two")
    record(lane, reserve(lane, open_one), 7)
    cost = spending.cost(lane.db, lane.project, counts)
    assert (cost.tokens, cost.microdollars, cost.unpriced, cost.unpriced_tokens) == (1307, 130, (MODEL,), 7)
    assert cost.published()["forecast"] == {"tokens": 1000, "usd": 0.0001}


@pytest.mark.req("X5")
def test_the_projects_sum_walks_one_index_however_many_rows(lane: Lane) -> None:
    lane.bulk("spends-", 20_000, "a.py")
    lane.execute(
        "INSERT INTO spending (project_id, item_id, run_no, step, fence, role, model, input_tokens, microdollars)"
        " SELECT %s, i.id, 1, 'implement', 1, 'code-implementer', %s, n, n"
        " FROM generate_series(1, 20000) n JOIN work_items i ON i.story_id = 'spends-' || n",
        lane.project.id, MODEL,
    )  # fmt: skip
    lane.db.run(lambda c: c.execute("VACUUM ANALYZE spending"), single=True)

    def plan(c: Connection) -> str:
        c.execute("SET LOCAL enable_seqscan = off")
        c.execute("SET LOCAL enable_bitmapscan = off")  # on so few rows any index will do
        told = c.execute(f"EXPLAIN {sql('spend_project')}".encode(), {"project": lane.project.id})
        return "\n".join(row["QUERY PLAN"] for row in told)

    assert "Index Only Scan using spending_of_project" in lane.db.run(plan)
    assert spending.cost(lane.db, lane.project, {}).tokens == 20000 * 20001 // 2
