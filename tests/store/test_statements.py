"""Every statement of store/sql is one that PostgreSQL accepts, and the claim walks its index however long the queue."""

import re
from importlib import resources

import pytest

from damascus.store.db import Database, sql, statements
from tests.store.lane import Lane

NAMES = sorted(statements())
SOURCES = "\n".join(
    path.read_text()
    for path in sorted(resources.files("damascus").joinpath(".").rglob("*.py"))  # type: ignore[attr-defined]
)


@pytest.mark.parametrize("name", NAMES)
def test_every_statement_can_be_prepared(db: Database, name: str) -> None:
    """%(name)s becomes $n; each parameter says its type, so the plan does not depend on the value."""
    numbers: dict[str, int] = {}
    text = re.sub(r"%\((\w+)\)s", lambda m: f"${numbers.setdefault(m.group(1), len(numbers) + 1)}", sql(name))
    untyped = re.findall(r"%\(\w+\)s(?!::)", sql(name))
    assert untyped == []
    db.run(lambda c: c.execute(f"PREPARE statement AS {text.replace('%%', '%')}".encode()))


def test_every_file_of_statements_is_read_whole() -> None:
    """What stands in a file is one statement, or each has its name: none is lost, none is two."""
    files = [entry.read_text() for entry in resources.files("damascus.store").joinpath("sql").iterdir()]
    named = [re.findall(r"^-- name: (\w+)$", text, re.MULTILINE) for text in files]
    assert sum(len(names) or 1 for names in named) == len(NAMES)
    assert [name for name in NAMES if ";" in re.sub(r"--.*", "", sql(name))] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_statement_is_left_over(name: str) -> None:
    assert f'"{name}"' in SOURCES, f"the statement {name} of store/sql/ is used by nobody"


def plan(lane: Lane, text: str, *params: object) -> str:
    def work(c):  # type: ignore[no-untyped-def]
        return "\n".join(row["QUERY PLAN"] for row in c.execute(f"EXPLAIN {text}".encode(), params))

    return lane.db.run(work)


@pytest.mark.req("D1")
def test_the_claim_walks_its_index_however_long_the_queue(db: Database) -> None:
    lane = Lane(db)
    lane.bulk("ready-", 20_000, "a.py")
    lane.execute("ANALYZE work_items")
    chosen = (
        "SELECT * FROM work_items w WHERE w.project_id = %s AND w.state = 'ready'"
        " AND (%s IS NULL OR w.repo_id = ANY (%s))"
        " ORDER BY w.deadline_at, w.id LIMIT %s - cardinality(%s) FOR NO KEY UPDATE SKIP LOCKED"
    )
    [function] = lane.query("SELECT prosrc FROM pg_proc WHERE proname = 'claim_items'")
    squeezed = " ".join(re.sub(r"\b(p_project|mine|p_count|taken)\b", "%s", function["prosrc"]).split())
    assert chosen in squeezed, "the claim's inner SELECT is another one now: correct this test"
    typed = chosen.replace("(%s IS NULL OR w.repo_id = ANY (%s))", "(%s::bigint[] IS NULL OR w.repo_id = ANY (%s))")
    mine = [lane.project.repo_id]
    told = plan(lane, typed, lane.project.id, mine, mine, 8, [1, 2])
    assert "Index Scan using work_items_ready" in told and "Sort" not in told and "Seq Scan" not in told


@pytest.mark.req("D1")
def test_waking_and_due_waits_walk_their_indexes(db: Database) -> None:
    lane = Lane(db)
    lane.bulk("waits-", 20_000, "a.py")
    lane.execute("UPDATE work_items SET state = 'waiting', wait_kind = 'behind', wait_key = (id % 100)::text")
    lane.execute("ANALYZE work_items")
    woken = (
        "SELECT id FROM work_items WHERE state = 'waiting' AND wait_kind = %s AND wait_key = %s"
        " ORDER BY deadline_at, id LIMIT 1"
    )
    assert "work_items_wait" in plan(lane, woken, "behind", "7")
    due = (
        "SELECT id FROM work_items WHERE project_id = %s AND state = 'waiting' AND not_before <= now()"
        " ORDER BY not_before LIMIT 100"
    )
    assert "work_items_due" in plan(lane, due, lane.project.id)
