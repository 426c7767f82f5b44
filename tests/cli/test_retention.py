"""[retention]: what goes by age, what never does, and that whoever asks first is told exactly that."""

import os
import threading
from pathlib import Path

import pytest

from damascus.domain.ids import StoryId
from damascus.domain.ports import RunKey, TestRun
from damascus.engine.maintenance.retention import apply_retention, rules
from damascus.store import receipts, stream
from damascus.store.db import Database
from damascus.store.evidence import KeptEvidence
from damascus.system.hostid import host_name
from tests.cli.conftest import Cli
from tests.waiting import eventually
from tests.yard import CONFIG, HONEST, Yard, story

DAYS = "[retention]\nevidence_days = 10\nartifacts_days = 10\nlogs_days = 10\nevents_days = 10\n"
OLD, YOUNG = "11 days", "9 days"


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    """One story is done, one blocked; each has a run folder and events. All is as old as a test makes it."""
    made = Yard(tmp_path, database_url, config=CONFIG + DAYS)
    made.add(story("S-1"), story("S-2"), budget=2)
    made.work(made.agent(HONEST + "if brief['story_id'] == 'S-2': pathlib.Path('other.txt').write_text('x')\n"))
    assert (made.item("S-1")["phase"], made.item("S-2")["phase"]) == ("done", "blocked")
    stream.publish(made.db)
    keep(made, "one")
    return made


def keep(yard: Yard, command: str) -> None:
    run = TestRun(command=command, tree="t", exit_code=0)
    KeptEvidence(yard.db, yard.row.repo_id).keep(RunKey("t", command, "e", "v"), run)


def age(yard: Yard, interval: str) -> None:
    for table, column in (("work_items", "updated_at"), ("evidence", "made_at"), ("events_outbox", "created_at")):
        yard.query(f"UPDATE {table} SET {column} = {column} - interval '{interval}' RETURNING 1")


def counts(yard: Yard) -> dict[str, int]:
    return {rule.what: rule.look(rule.days).count for rule in rules(yard.tools())}


def events(yard: Yard, name: str) -> list[str]:
    return [row["kind"] for row in yard.events(name)]


@pytest.mark.req("X2.2")
def test_old_things_of_a_story_that_is_over_go_and_a_living_ones_stay(yard: Yard) -> None:
    log = yard.app.home / "logs" / f"{host_name()}:gone:1:1.jsonl"
    log.write_text("{}\n")
    os.utime(log, (0, 0))
    living, over = events(yard, "S-2"), events(yard, "S-1")
    age(yard, OLD)
    receipt = receipts.evidence(yard.db, yard.row, "S-1")
    told = counts(yard)
    assert told["evidence"] >= 1 and told["artifacts"] >= 1 and told["events"] > 3 and told["logs"] == 1
    apply_retention(yard.tools())
    assert counts(yard) == dict.fromkeys(told, 0) and not log.exists()
    assert yard.query("SELECT count(*) AS n FROM evidence") == [{"n": 0}]
    assert not (yard.project.runs / "S-1").exists() and (yard.project.runs / "S-2").is_dir()
    assert events(yard, "S-2") == living
    assert len(events(yard, "S-1")) == len(over) - told["events"] and "story.landed" in events(yard, "S-1")
    assert receipts.evidence(yard.db, yard.row, "S-1") == receipt
    assert yard.tools().snapshots.chain(StoryId("S-2")), "what rescue needs"


def test_young_things_stay_and_so_does_everything_where_the_number_is_0(tmp_path: Path, yard: Yard) -> None:
    age(yard, YOUNG)
    before = counts(yard)
    assert before == dict.fromkeys(before, 0)
    yard.commit({"damascus.toml": CONFIG + DAYS.replace("10", "0")}, "for ever")
    age(yard, "4000 days")
    apply_retention(yard.tools())
    assert (yard.project.runs / "S-1").is_dir() and len(yard.query("SELECT 1 FROM evidence")) >= 1
    assert "item.claimed" in events(yard, "S-1")


def test_followers_of_the_stream_stay_right(yard: Yard) -> None:
    """One that reads on misses nothing and sees nothing twice; one that begins before what went is told."""
    [last] = yard.query("SELECT last_seq FROM stream")
    kept = [row["seq"] for row in yard.query("SELECT seq FROM event_numbers ORDER BY seq")]
    age(yard, OLD)
    seen: list[int] = []
    other = Database(yard.db.url)

    def follow() -> None:
        for row in stream.follow(other, last["last_seq"]):
            seen.append(row["seq"])
            if len(seen) == 3:
                return

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    apply_retention(yard.tools())
    left = [row["seq"] for row in yard.query("SELECT seq FROM event_numbers ORDER BY seq")]
    assert set(left) < set(kept) and stream.pruned(yard.db) == max(set(kept) - set(left))
    yard.add(story("S-3"), story("S-4"), story("S-5"))
    eventually(lambda: stream.publish(yard.db) or len(seen) >= 3)
    thread.join(20)
    other.close()
    assert seen == [last["last_seq"] + n for n in (1, 2, 3)], "numbers go on where they were"


def test_an_event_without_a_number_never_goes(yard: Yard) -> None:
    yard.query("DELETE FROM event_numbers RETURNING 1")
    yard.query("UPDATE stream SET settled = 0 RETURNING 1")
    age(yard, OLD)
    before = events(yard, "S-1")
    apply_retention(yard.tools())
    assert events(yard, "S-1") == before


@pytest.mark.req("X2.2")
def test_prune_tells_first_and_then_does_just_that(yard: Yard, command: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in yard.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(yard.repo)
    age(yard, OLD)
    told = command("db", "prune", "--dry-run", "--json").json
    kinds = {"evidence", "artifacts", "pictures", "logs", "events"}
    assert told["dry_run"] and {each["what"] for each in told["aged"]} == kinds
    assert all(each["bytes"] > 0 and each["oldest"] for each in told["aged"] if each["count"])
    assert command("db", "prune", "--dry-run", "--json").json == told, "nothing was touched"
    assert (yard.project.runs / "S-1").is_dir()
    assert "would go" in command("db", "prune", "--dry-run").out
    done = command("db", "prune", "--json").json
    assert done["aged"] == told["aged"] and not (yard.project.runs / "S-1").exists()
    assert f"0 of {yard.row.name} went." in command("db", "prune").out


@pytest.mark.req("X2.2")
def test_prune_says_of_which_project_and_names_the_others(
    yard: Yard, tmp_path: Path, database_url: str, command: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "second").mkdir()
    other = Yard(tmp_path / "second" / "elsewhere", database_url)
    for name, value in yard.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(yard.repo)
    told = command("db", "prune", "--dry-run", "--json").json
    assert (told["project"], told["others"]) == (yard.row.name, [other.row.name])
    said = command("db", "prune", "--dry-run").out
    assert f"of {yard.row.name} would go" in said and f"Ask for {other.row.name} in their own folders" in said
