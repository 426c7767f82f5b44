"""Queue, Graph, Fleet, Ledger, Events, Config: what each tells, and why it is empty where it is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha
from damascus.domain.merge_queue import EntryState, QueueEntry
from damascus.domain.verdict import Verdict
from damascus.store import event_pages, merge_queue
from damascus.system.hostid import host_name
from tests.cli import states
from tests.web.reading import Browser
from tests.yard import Yard, story

pytestmark = pytest.mark.req("X12")
ONE, TWO, THREE = ("1" * 40, "2" * 40, "3" * 40)


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Iterator[Yard]:
    made = Yard(tmp_path, database_url)
    yield made
    made.db.close()


def queued(yard: Yard, *entries: tuple[str, str, str, EntryState]) -> None:
    """Stories in the merge queue, each on its base."""
    yard.add(*(story(name, title=f"title of {name}") for name, *_ in entries))
    items = {item.story_id: item for item in states.claim(yard, len(entries))}
    for name, base, commit, state in entries:
        entry = QueueEntry(items[name].id, Sha(base), Sha(commit), state)
        yard.db.run(lambda c, e=entry: merge_queue.put(c, (yard.row.repo_id, "main"), e, 8))


def took(yard: Yard, name: str, seconds: float) -> None:
    """It is on main, and its CI took so long."""
    yard.add(story(name))
    states.landed(yard, name)
    yard.query(
        "INSERT INTO journal (item_id, run_no, phase, step, status, fence, started_at, done_at) "
        "VALUES (%s, 1, 'build', 'ci', 'done', 1, now() - make_interval(secs => 60 + %s), now() - interval '1 min') "
        "RETURNING 1",
        yard.item(name)["id"],
        seconds,
    )


# ── queue ─────────────────────────────────────────────────────────────────────────────────────────────


def test_the_train_says_who_is_tested_on_top_of_whom(yard: Yard) -> None:
    main = yard.main()
    queued(yard, ("S-1", main, ONE, EntryState.GREEN), ("S-2", ONE, TWO, EntryState.TESTING))
    yard.query(
        'UPDATE worker_records SET progress = \'{"jobs_passed": 4, "total_jobs": 6}\' WHERE item_id = %s RETURNING 1',
        yard.item("S-2")["id"],
    )
    page = Browser(yard).page("/queue")
    assert page.column("story") == ["S-1", "S-2"]
    assert page.column("tested on top of") == [f"main, {main[:7]}", "S-1 , 1111111"]
    assert page.column("CI jobs green") == ["unknown", "4 of 6"]
    assert page.column("on main in") == ["unknown", "unknown"]
    assert "nobody knows how long it takes" in page.text
    took(yard, "S-9", 300)
    page = Browser(yard).page("/queue")
    assert page.column("on main in")[1] == "~6 min" and "CI usually takes 5 min" in page.text


def test_who_was_sent_back_and_why(yard: Yard) -> None:
    assert "Nobody is in a merge queue" in Browser(yard).page("/queue").text
    yard.add(story("S-1"))
    why = VerdictFeedback(message="job test is red: <b>test_a</b>")
    states.rejected(yard, states.claim(yard)[0], Verdict.CI_FAILED, why)
    page = Browser(yard).page("/queue")
    assert (page.column("verdict"), page.column("why")) == (["ci_failed"], ["job test is red: <b>test_a</b>"])


# ── fleet ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W14.1")
def test_the_fleet_has_hosts_workers_and_what_they_hold(yard: Yard) -> None:
    assert "No worker of this project runs on any host. Start one: damascus run" in Browser(yard).page("/fleet").text
    yard.add(story("S-1"), story("S-2"))
    states.claim(yard)
    states.register(yard, f"{host_name()}:0123456789ab:1:2", slots=3)
    yard.db.do(
        "tell_trouble", worker=states.WORKER, service="rescuer", failures=3, cause="disk <full>", log="/l", seconds=60.0
    )
    yard.query("UPDATE worker_records SET step = 'implement', substate = 'running_out_of_time' RETURNING 1")
    page = Browser(yard).page("/fleet")
    assert "elsewhere" in page.text and "process 4242 on elsewhere" in page.text
    assert page.column("story") == ["S-1"] and page.column("step") == ["implement the agent was warned"]
    assert "rescuer has failed 3 times in a row" in page.text and "disk <full>" in page.text
    assert "disk: unknown (only that host can tell)" in page.text and "free of" in page.text


# ── graph ─────────────────────────────────────────────────────────────────────────────────────────────


def test_who_holds_which_files_and_who_waits_for_them(yard: Yard) -> None:
    assert "Nobody holds a file" in Browser(yard).page("/graph").text
    yard.add(story("S-1", scope=["src/io/", "tests/a.py"]), story("S-2", scope=["src/io/csv.py"]))
    states.claim(yard, 2)
    page = Browser(yard).page("/graph")
    assert (page.column("story"), page.column("who waits for them")) == (["S-1"], ["S-2"])
    assert page.column("holds") == ["src/io/ , tests/a.py"]
    assert page.column("repository") == ["repo"] and "no task graph is queued" in page.text


def test_tasks_with_what_they_need(yard: Yard) -> None:
    yard.add(
        story("TASK-001", graph="TASK-GRAPH.md"), story("TASK-002", graph="TASK-GRAPH.md", depends_on=["TASK-001"])
    )
    page = Browser(yard).page("/graph")
    assert page.column("task") == ["TASK-001", "TASK-002"]
    assert page.column("after") == ["–", "TASK-001"] and page.column("waits for") == ["nobody", "TASK-001"]
    assert page.column("status") == ["PENDING", "PENDING"]


# ── ledger ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D21")
def test_the_ledger_of_what_landed(yard: Yard) -> None:
    empty = Browser(yard).page("/ledger").text
    assert "No story has landed yet" in empty and "No test has failed and passed on one commit." in empty
    yard.add(story("S-1"), story("S-2"))
    states.rejected(yard, states.claim(yard)[0], Verdict.NOT_RED, VerdictFeedback(message="green without its code"))
    states.landed(yard, "S-1")
    took(yard, "S-3", 60)
    yard.query(
        "INSERT INTO spending "
        "(project_id, item_id, run_no, step, fence, role, model, input_tokens, microdollars, state) "
        "SELECT project_id, id, 1, 'implement', 1, 'code-implementer', 'm', 1000, 500000, 'settled' FROM work_items "
        "WHERE story_id IN ('S-1', 'S-3') RETURNING 1"
    )
    page = Browser(yard).page("/ledger")
    assert "merged at the first try 50 %" in page.text and "tries, p95 2" in page.text
    assert "a merged story $0.50" in page.text
    assert page.table("caught by kind")["tests that prove nothing"][1] == "1"
    assert page.html.count("<svg") >= 2 and "not_red" in page.links
    assert page.column("landed") == ["2"] and page.column("sent back") == ["1"]


# ── events ────────────────────────────────────────────────────────────────────────────────────────────


def test_events_go_back_and_forth_by_number(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    yard.add(*(story(f"S-{n}") for n in range(1, 8)))
    monkeypatch.setattr("damascus.people.event_pages.SIZE", 3)
    monkeypatch.setattr("damascus.people.event_pages.events_page.__defaults__", (3,))
    browser = Browser(yard)
    first = browser.page("/events")
    assert first.column("number") == ["7", "6", "5"] and first.column("story") == ["S-7", "S-6", "S-5"]
    second = browser.page(first.links["older →"])
    third = browser.page(second.links["older →"])
    assert second.column("number") == ["4", "3", "2"] and third.column("number") == ["1"]
    assert "older →" not in third.links
    assert browser.page(third.links["← newer"]).column("number") == ["4", "3", "2"]


def test_events_of_one_story_and_of_one_kind(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    yard.add(story("S-1"), story("S-2"))
    states.claim(yard)
    browser = Browser(yard)
    assert set(browser.page("/events?story=S-2").column("story")) == {"S-2"}
    page = browser.page("/events?kind=item.claimed")
    assert page.column("event") == ["item.claimed"] and "a worker took the item" in page.text
    assert "No event ship.declared has been written yet." in browser.page("/events?kind=ship.declared").text
    monkeypatch.setattr(event_pages, "LOOK", 1)
    cut = browser.page("/events?kind=story.added")
    assert "looked through here; others may hold one" in cut.text and "older, looking further →" in cut.links
    for wrong in ("kind=nothing", "before=x", "after=-1", "story=nobody"):
        assert 400 <= browser.page(f"/events?{wrong}").status < 500


# ── config ────────────────────────────────────────────────────────────────────────────────────────────


def test_config_says_whence_each_value_is_and_shows_no_secret(yard: Yard) -> None:
    written = (yard.repo / "damascus.toml").read_text()
    added = '[ci.jobs]\ntest = "deploy https://me:hunter2secret@forge.invalid/a/b"\n'
    yard.commit({"damascus.toml": f"{written}{added}"}, "a job")
    yard.app.environ["DAMASCUS_LIMITS_SLOTS"] = "7"
    page = Browser(yard).page("/config")
    assert "hunter2secret" not in page.html
    commit, limits = yard.main()[:7], page.table("[limits]")
    assert page.table("[ci]")["jobs"][1:5] == [
        '{ test = "deploy https://•••@forge.invalid/a/b" }',
        "damascus.toml",
        commit,
        "{}",
    ]
    assert limits["slots"][1:3] == ["7", "variable DAMASCUS_LIMITS_SLOTS"]
    assert limits["disk_reserve_mb"][3] not in (commit, "–"), "that line is of the commit before"
    assert "budget_cycles" not in limits
    whole = Browser(yard).page("/config?all=1").table("[limits]")
    assert whole["budget_cycles"][1:5] == ["5", "default", "–", "5"]
