"""A fleet is upgraded host by host: who is too old claims nothing more, who is still fit goes on beside the new."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import damascus
from damascus.domain.errors import DamascusError, Outdated
from damascus.store import migrate as module
from damascus.store.db import Database
from damascus.store.migrate import Migration, migrate, migrations, schema_range
from tests.crash.field import WAITING, Field
from tests.store.lane import Lane
from tests.waiting import eventually

NEWEST = migrations()[-1].version
LATER = "CREATE TABLE of_a_later_release (id int);\n"


@pytest.fixture
def lane(db: Database) -> Lane:
    return Lane(db)


def apply(db: Database, version: int, readable_by: int | None) -> None:
    values = (version, "later", "x", readable_by)
    text = b"INSERT INTO schema_migrations (version, name, sha256, readable_by) VALUES (%s, %s, %s, %s)"
    db.run(lambda c: c.execute(text, values))


# ── which schema a release starts with ────────────────────────────────────────────────────────────────


@pytest.mark.req("X11")
def test_a_migration_says_in_its_head_which_older_code_it_leaves_working() -> None:
    assert Migration(9, "x", f"-- Why.\n-- readable by: 7\n\n{LATER}").readable_by == 7
    assert Migration(9, "x", LATER).readable_by is None
    assert Migration(9, "x", "SELECT '-- readable by: 7';\n").readable_by is None


@pytest.mark.req("X11")
def test_what_it_says_is_kept_in_the_database(db: Database) -> None:
    rows = db.run(lambda c: c.execute("SELECT version, readable_by FROM schema_migrations").fetchall())
    assert {row["version"]: row["readable_by"] for row in rows} == {m.version: m.readable_by for m in migrations()}


@pytest.mark.req("X11")
@pytest.mark.parametrize(
    ("newer", "starts"),
    [
        ([(1, 0)], True),
        ([(1, None)], False),
        ([(1, 1)], False),
        ([(1, 0), (2, 0)], True),
        ([(1, 0), (2, 1)], False),
        ([(1, None), (2, 0)], False),
    ],
)
def test_an_older_release_starts_only_where_every_newer_migration_allows_it(
    db: Database, newer: list[tuple[int, int | None]], starts: bool
) -> None:
    """Numbers are counted from this release's newest."""
    for version, readable_by in newer:
        apply(db, NEWEST + version, None if readable_by is None else NEWEST + readable_by)
    if starts:
        assert migrate(db) == []
        return
    with pytest.raises(DamascusError, match=rf"newer than this Damascus \(schema {NEWEST}\)\. Nothing was changed"):
        migrate(db)


# ── the claim ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("X11")
def test_a_worker_that_is_too_old_claims_nothing(db: Database) -> None:
    lane = Lane(db)
    lane.add("A", "B")
    lane.claim_one()
    apply(db, NEWEST + 1, None)
    with pytest.raises(Outdated, match="this worker is older than the database: upgrade it") as caught:
        lane.claim(2)
    assert f"It knows schema {NEWEST}, the database has schema {NEWEST + 1}" in str(caught.value)
    assert sorted(lane.states().values()) == ["leased", "ready"]


@pytest.mark.req("X11")
def test_a_worker_that_the_newer_schema_still_fits_claims_on(db: Database) -> None:
    lane = Lane(db)
    lane.add("A")
    apply(db, NEWEST + 1, NEWEST)
    assert [item.story_id for item in lane.claim()] == ["A"]


@pytest.mark.req("X11")
def test_a_worker_whose_database_was_put_back_claims_nothing(db: Database) -> None:
    lane = Lane(db)
    lane.add("A")
    lane.execute("DELETE FROM schema_migrations WHERE version = %s", NEWEST)
    with pytest.raises(Outdated, match="newer than the database, which was put back to schema"):
        lane.claim()


@pytest.mark.req("X11")
def test_the_range_is_what_this_release_brings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (schema_range().low, schema_range().high) == (NEWEST, NEWEST)
    schema_range.cache_clear()
    monkeypatch.setattr(module, "migrations", lambda: [*migrations(), Migration(NEWEST + 1, "later", LATER)])
    assert schema_range().high == NEWEST + 1
    schema_range.cache_clear()


# ── two releases at work on one queue ─────────────────────────────────────────────────────────────────


class Fleet:
    """`older` is this tree's package; `newer` a copy of it with one more migration. Both are real processes."""

    def __init__(self, folder: Path, url: str) -> None:
        self.field = Field(folder / "field", url)
        self.folder = folder
        self.processes: list[subprocess.Popen[str]] = []

    def newer(self, head: str) -> Path:
        copy = self.folder / "newer"
        shutil.copytree(Path(damascus.__file__).parent, copy / "damascus", ignore=shutil.ignore_patterns("__pycache__"))
        (copy / f"damascus/store/migrations/{NEWEST + 1:04d}_later.sql").write_text(head + LATER)
        return copy

    def start(self, package: Path | None, agent: str, *words: str) -> subprocess.Popen[str]:
        environ = {**self.field.yard.environ, "PYTHONPATH": str(package or Path(damascus.__file__).parents[1])}
        command = [sys.executable, "-m", "damascus.cli.main", "run", "--slots", "1", "--agent", "command"]
        process = subprocess.Popen(
            [*command, "--agent-command", agent, *words], cwd=self.field.yard.repo, env=environ, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.processes.append(process)
        return process

    def claims(self) -> dict[str, int]:
        """Which process took which story first."""
        rows = self.field.yard.query(
            "SELECT DISTINCT ON (i.id) i.story_id, e.body ->> 'worker' AS worker FROM events_outbox e"
            " JOIN work_items i ON i.id = e.item_id WHERE e.kind = 'item.claimed' ORDER BY i.id, e.id"
        )
        return {row["story_id"]: int(row["worker"].split(":")[2]) for row in rows}

    def done(self, name: str) -> bool:
        return bool(self.field.yard.item(name)["phase"] == "done")

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.communicate(timeout=10)
        self.field.close()


@pytest.fixture
def fleet(tmp_path: Path, database_url: str) -> Iterator[Fleet]:
    made = Fleet(tmp_path, database_url)
    yield made
    made.close()


def begun(fleet: Fleet, head: str) -> tuple[subprocess.Popen[str], subprocess.Popen[str]]:
    """The older one holds S-1 when the newer one migrates and takes the others."""
    fleet.field.add("S-1", "S-2", "S-3")
    older = fleet.start(None, fleet.field.make_agent(WAITING, "waiting"))
    fleet.field.agent_waits()
    newer = fleet.start(fleet.newer(head), fleet.field.agent, "--until-idle")
    eventually(lambda: fleet.done("S-3"), 60, "the newer one to work")
    fleet.field.let_go()
    out, err = newer.communicate(timeout=60)
    assert newer.returncode == 0, out + err
    assert fleet.claims() == {"S-1": older.pid, "S-2": newer.pid, "S-3": newer.pid}
    assert fleet.done("S-1") and not fleet.field.yard.questions(), "what it held is finished"
    return older, newer


@pytest.mark.req("X11")
def test_a_newer_release_migrates_while_an_older_one_goes_on(fleet: Fleet) -> None:
    older, _ = begun(fleet, f"-- readable by: {NEWEST}\n")
    fleet.field.add("S-4")
    eventually(lambda: fleet.done("S-4"), 60, "the older one to go on")
    assert fleet.claims()["S-4"] == older.pid
    older.send_signal(signal.SIGTERM)
    older.communicate(timeout=20)
    assert older.returncode == 130


@pytest.mark.req("X11")
def test_an_older_release_drains_when_it_does_not_know_the_schema(fleet: Fleet) -> None:
    older, _ = begun(fleet, "")
    fleet.field.add("S-4")
    _, err = older.communicate(timeout=30)
    assert older.returncode == 1
    assert "error: this worker is older than the database: upgrade it." in " ".join(err.split())
    assert "S-4" not in fleet.claims()
    again = fleet.start(None, fleet.field.agent)
    _, err = again.communicate(timeout=30)
    assert again.returncode == 1
    assert f"newer than this Damascus (schema {NEWEST})" in " ".join(err.split())


@pytest.mark.req("X11")
def test_a_column_that_a_newer_release_adds_stops_no_statement_that_was_prepared_before(lane: Lane) -> None:
    """PostgreSQL refuses a prepared SELECT * whose table has another shape now; the connection is made anew."""
    lane.add(*"ABCDEFGH")
    for _ in range(6):
        item = lane.claim_one()
        lane.review(item)
    with psycopg.connect(lane.db.url, autocommit=True) as newer:
        newer.execute("ALTER TABLE work_items ADD COLUMN of_a_later_release text")
    item = lane.claim_one()
    assert lane.review(item).phase == "review"
    assert lane.row(item.story_id)["state"] == "leased" and lane.violations() == []
