"""The read side: what `status` reads stays a few short index walks, however long the queue is."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from damascus.store import projects, views
from damascus.store.db import Database, sql
from damascus.store.projects import ProjectRow
from damascus.store.receipts import _unverified
from damascus.store.stats import stats

FILL = """
INSERT INTO work_items (project_id, project, repo_id, story_id, title, phase, state, deadline_at, file_scope, spec,
    spec_hash, spec_path, branch, wait_kind, wait_key, pr_url, merged_commit, resume_phase)
SELECT %(project)s, 'calc', %(repo)s, 'S-' || n, 'Story ' || n, phase, state, now() + n * interval '1 ms',
       ARRAY['m' || n || '.py'], convert_to(repeat(md5(n::text), 40), 'utf8'), '', '', '',
       CASE state WHEN 'waiting' THEN 'scope' END, CASE state WHEN 'waiting' THEN '1' END,
       CASE phase WHEN 'done' THEN 'local://calc/pulls/' || n END, CASE phase WHEN 'done' THEN 'abc' END,
       CASE phase WHEN 'blocked' THEN 'build' END
  FROM generate_series(1, %(n)s) n,
       LATERAL (SELECT (ARRAY['build', 'build', 'done', 'blocked', 'cancelled'])[1 + n %% 5] AS phase,
                       (ARRAY['ready', 'waiting', 'resting', 'resting', 'resting'])[1 + n %% 5] AS state) kinds
"""
READ = {
    "view_counts": {"today": datetime(2020, 1, 1, tzinfo=UTC)},
    "view_picked": {"limit": 50, "ready": 5, "since": None},
}


@pytest.fixture
def project(db: Database) -> ProjectRow:
    return projects.register(db, uuid4(), "calc", "/nowhere", ("main", None))


def fill(db: Database, project: ProjectRow, n: int) -> None:
    params = {"project": project.id, "repo": project.repo_id, "n": n}
    db.connection().execute("SET synchronous_commit = on")  # else VACUUM can't know yet that the rows are visible
    db.run(lambda c: c.execute(FILL.encode(), params))
    db.connection().execute("VACUUM ANALYZE work_items")


def test_counts_are_of_everything_and_rows_of_what_matters(db: Database, project: ProjectRow) -> None:
    fill(db, project, 500)
    seen = views.snapshot(db, project, READ["view_counts"]["today"])
    expected = {"all": 500, "leased": 0} | dict.fromkeys(("ready", "waiting", "done", "blocked", "cancelled"), 100)
    assert {what: seen.count(what) for what in expected} == expected
    assert [row.phase for row in seen.rows[:50]] == ["blocked"] * 50
    assert sum(row.state == "ready" for row in seen.rows) == views.READY_SHOWN
    assert not any(row.phase == "done" for row in seen.rows)


def test_what_was_finished_since_can_be_asked_for(db: Database, project: ProjectRow) -> None:
    fill(db, project, 20)
    began = datetime(2020, 1, 1, tzinfo=UTC)
    seen = views.snapshot(db, project, began, since=began)
    assert sum(row.phase == "done" for row in seen.rows) == 4


def test_everything_comes_in_the_order_it_was_added(
    db: Database, project: ProjectRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(db, project, 30)
    monkeypatch.setattr(views, "CHUNK", 7)
    assert [row.story_id for row in views.every_row(db, project)] == [f"S-{n}" for n in range(1, 31)]


def test_another_project_is_never_shown(db: Database, project: ProjectRow) -> None:
    other = projects.register(db, uuid4(), "other", "/elsewhere", ("main", None))
    fill(db, other, 50)
    seen = views.snapshot(db, project, READ["view_counts"]["today"])
    assert (seen.rows, seen.count("all"), stats(db, project)["landed"]) == ((), 0, 0)


@pytest.mark.parametrize("name", READ)
def test_status_never_walks_through_the_whole_queue(name: str, db: Database, project: ProjectRow) -> None:
    fill(db, project, 20_000)
    text = f"EXPLAIN {sql(name)}"
    plan = db.run(lambda c: c.execute(text.encode(), {"project": project.id, **READ[name]}).fetchall())
    scanned = [row["QUERY PLAN"].strip() for row in plan if "Seq Scan on work_items" in row["QUERY PLAN"]]
    assert scanned == [], "an index is missing: work_items (project_id, phase, updated_at) WHERE state = 'resting'"


def test_what_a_later_step_proved_is_no_longer_unverified() -> None:
    gates = [
        {"gate": "tests", "unverified": ["count of tests"]},
        {"gate": "tests", "unverified": []},
        {"gate": "red", "unverified": ["red run (refactor)"]},
    ]
    levels = {"implement": "unconfined", "red": "bubblewrap"}
    assert _unverified(gates, "done", levels) == ["confinement: implement ran unconfined", "red run (refactor)"]
    assert "landing: not on main" in _unverified(gates, "build", levels)
