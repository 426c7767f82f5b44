"""Migrations: once, under a lock, checked by hash; and schema.sql is what they make."""

import threading
from collections.abc import Iterator
from importlib import resources
from uuid import UUID

import psycopg
import pytest

from damascus.domain.errors import DamascusError
from damascus.store.db import Database
from damascus.store.dump import dump
from damascus.store.migrate import migrate, migrations
from damascus.store.projects import ProjectRow
from tests.databases import empty_database
from tests.store.lane import Lane
from tests.waiting import eventually

UUID_THEN = UUID("6f1b0c9e-0000-4000-8000-000000000001")


@pytest.fixture
def empty() -> Iterator[Database]:
    with empty_database() as url:
        db = Database(url)
        yield db
        db.close()


def run(db: Database, text: str) -> list[dict[str, object]]:
    def work(c: psycopg.Connection[dict[str, object]]) -> list[dict[str, object]]:
        done = c.execute(text.encode())
        return done.fetchall() if done.description else []

    return db.run(work)


def old_lane(db: Database) -> Lane:
    """A queue at schema 1 with a story that was claimed and one that was not, as the release of that time wrote it."""
    migrate(db, upto=1)
    [project] = run(db, f"INSERT INTO projects (uuid, name) VALUES ('{UUID_THEN}', 'shop') RETURNING id")
    values = f"({project['id']}, '/nowhere', 'main')"
    [repo] = run(db, f"INSERT INTO repos (project_id, path, main_branch) VALUES {values} RETURNING id")
    ids = int(str(project["id"])), int(str(repo["id"]))
    lane = Lane(db, ProjectRow(ids[0], UUID_THEN, "shop", ids[1], UUID_THEN, "shop", False, "/nowhere", "main", None))
    for name in ("claimed", "fresh"):
        lane.bulk(f"{name}-", 1, f"{name}.py")
    lane.execute("UPDATE work_items SET claims = 3, updated_at = '2026-01-02 03:04:05Z' WHERE story_id = 'claimed-1'")
    return lane


@pytest.mark.req("T4")
def test_first_attempted_at_is_filled_from_updated_at_for_claimed_stories_only(empty: Database) -> None:
    lane = old_lane(empty)
    assert "first_attempted_at" not in lane.row("fresh-1")
    assert migrate(empty)[0] == "first_attempted_at"
    assert str(lane.row("claimed-1")["first_attempted_at"]) == "2026-01-02 03:04:05+00:00"
    assert lane.row("fresh-1")["first_attempted_at"] is None


@pytest.mark.req("T4")
def test_first_attempted_at_is_set_on_the_first_claim_and_never_overwritten(empty: Database) -> None:
    lane = old_lane(empty)
    migrate(empty)
    first = {item.story_id: item.first_attempted_at for item in lane.claim(2)}
    assert str(first["claimed-1"]) == "2026-01-02 03:04:05+00:00" and first["fresh-1"] is not None
    lane.execute("UPDATE leases SET expires_at = now() - interval '1 h'")
    lane.rescue()
    again = {item.story_id: item.first_attempted_at for item in lane.claim(2)}
    assert again == first
    with pytest.raises(psycopg.errors.RaiseException, match="never overwritten"):
        lane.execute("UPDATE work_items SET first_attempted_at = now()")


@pytest.mark.req("T4")
def test_the_column_is_nullable_so_that_the_release_before_goes_on(empty: Database) -> None:
    migrate(empty)
    [column] = run(
        empty,
        "SELECT is_nullable, data_type FROM information_schema.columns WHERE column_name = 'first_attempted_at'"
        " AND table_name = 'work_items'",
    )
    assert column == {"is_nullable": "YES", "data_type": "timestamp with time zone"}


def test_four_processes_that_migrate_at_once_apply_each_migration_once() -> None:
    with empty_database() as url:
        applied: list[list[str]] = []
        start = threading.Barrier(4, timeout=20)

        def one() -> None:
            db = Database(url)
            start.wait()
            applied.append(migrate(db))
            db.close()

        threads = [threading.Thread(target=one) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(applied, key=len) == [[], [], [], [m.name for m in migrations()]]


def test_a_migrated_database_is_left_alone(db: Database) -> None:
    assert migrate(db) == []


def test_a_changed_migration_is_refused_and_nothing_is_changed(empty: Database) -> None:
    migrate(empty, upto=1)
    run(empty, "UPDATE schema_migrations SET sha256 = 'other' WHERE version = 1")
    before = dump(empty.url)
    with pytest.raises(DamascusError, match="migration 0001_core was applied in another form") as caught:
        migrate(empty)
    assert "Nothing was changed" in str(caught.value)
    assert dump(empty.url) == before


def test_a_newer_schema_is_refused_with_the_sentence(db: Database) -> None:
    newest = migrations()[-1].version
    run(db, f"INSERT INTO schema_migrations (version, name, sha256) VALUES ({newest + 1}, 'later', 'x')")
    with pytest.raises(DamascusError) as caught:
        migrate(db)
    assert str(caught.value) == (
        f"the database has schema {newest + 1}, newer than this Damascus (schema {newest}). Nothing was changed. "
        "Upgrade Damascus on this machine, or use another database (docs/operations.md)."
    )


def test_a_migration_that_fails_leaves_the_schema_as_it_was(empty: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    from damascus.store import migrate as module

    text = "CREATE TABLE half (id int); SELECT no_such_function();"
    bad = module.Migration(module.migrations()[-1].version + 1, "bad", text)
    migrate(empty)
    before = dump(empty.url)
    monkeypatch.setattr(module, "migrations", lambda known=module.migrations: [*known(), bad])
    with pytest.raises(psycopg.errors.UndefinedFunction):
        migrate(empty)
    assert dump(empty.url) == before
    monkeypatch.undo()
    assert migrate(empty) == []


def test_a_worker_in_the_way_of_a_lock_is_let_through(empty: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds what a migration wants for longer than one try lasts; then the migration gets it."""
    from damascus.store import migrate as module

    monkeypatch.setattr(module, "LOCK_TIMEOUT", "20ms")
    migrate(empty, upto=12)
    tries: list[None] = []
    apply = module._apply
    monkeypatch.setattr(module, "_apply", lambda *given: (tries.append(None), apply(*given))[1])
    other = Database(empty.url)
    with psycopg.connect(empty.url) as worker:
        worker.execute("LOCK TABLE leases IN ROW EXCLUSIVE MODE")  # as whoever writes there
        thread = threading.Thread(target=lambda: migrate(other))
        thread.start()
        eventually(lambda: len(tries) > 2, what="several tries")
    thread.join(60)
    other.close()
    [row] = run(empty, "SELECT max(version) AS n FROM schema_migrations")
    assert row["n"] == migrations()[-1].version


def test_migrations_are_numbered_without_a_gap() -> None:
    assert [m.version for m in migrations()] == list(range(1, len(migrations()) + 1))


def test_the_readable_schema_is_what_the_migrations_make(db: Database) -> None:
    written = resources.files("damascus.store").joinpath("schema.sql").read_text()
    assert dump(db.url) == written, "run: python -m damascus.store.dump > src/damascus/store/schema.sql"
