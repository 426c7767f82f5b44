"""SQL functions stand once, in a file each, and a database has exactly what the files say."""

import re
from collections.abc import Iterator

import psycopg
import pytest

from damascus.store import function_files as module
from damascus.store.db import Database
from damascus.store.function_files import FunctionFile, function_files
from damascus.store.migrate import FIRST_WITH_FILES, migrate, migrations
from tests.databases import empty_database
from tests.store.lane import Lane

HEAD = "CREATE OR REPLACE FUNCTION"
NAMED = re.compile(r"CREATE (?:OR REPLACE )?FUNCTION (\w+)")
OF_A_TYPE = "SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'i'"
OWN = f"p.pronamespace = 'public'::regnamespace AND NOT EXISTS ({OF_A_TYPE})"
PROBE = "CREATE OR REPLACE FUNCTION probe(p int) RETURNS int LANGUAGE sql AS $$ SELECT p + 1 $$;\n"


@pytest.fixture
def empty() -> Iterator[Database]:
    with empty_database() as url:
        db = Database(url)
        yield db
        db.close()


def functions(db: Database) -> dict[str, list[str]]:
    """Name → texts of the functions that are ours; the constructors of our range type belong to the type."""
    text = f"SELECT p.proname, p.prosrc FROM pg_proc p WHERE {OWN} ORDER BY 1"
    found: dict[str, list[str]] = {}
    for row in db.run(lambda c: c.execute(text.encode()).fetchall()):
        found.setdefault(row["proname"], []).append(row["prosrc"])
    return found


def become(monkeypatch: pytest.MonkeyPatch, *files: FunctionFile, release: str = module.__version__) -> None:
    """This release, with these files beside its own (or instead of those of the same name)."""
    names = {file.name for file in files}
    kept = [file for file in function_files() if file.name not in names]
    monkeypatch.setattr(module, "function_files", lambda: (*kept, *files))
    monkeypatch.setattr(module, "__version__", release)


@pytest.mark.parametrize("file", function_files(), ids=lambda file: str(file.name))
def test_a_file_holds_one_function_that_replaces_itself_and_says_why_it_is_there(file: FunctionFile) -> None:
    assert NAMED.findall(file.text) == [file.name] and f"{HEAD} {file.name}(" in file.text
    assert file.text.startswith("-- "), "a sentence above it"


def test_a_database_has_the_functions_of_the_files_and_no_others(db: Database) -> None:
    found = functions(db)
    assert sorted(found) == [file.name for file in function_files()]
    for file in function_files():
        assert [text.strip() in file.text for text in found[file.name]] == [True], file.name


def test_a_migration_since_then_holds_no_function() -> None:
    late = [migration for migration in migrations() if migration.version >= FIRST_WITH_FILES]
    assert late and [m.name for m in late if re.search(r"CREATE[\w ]* (FUNCTION|TRIGGER|PROCEDURE)\b", m.text)] == []


@pytest.mark.parametrize("version", range(1, FIRST_WITH_FILES))
def test_an_installation_of_any_earlier_schema_gets_them(empty: Database, db: Database, version: int) -> None:
    migrate(empty, upto=version)
    migrate(empty)
    assert functions(empty) == functions(db)


def test_a_changed_text_is_applied_again_and_only_that(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    lane = Lane(db)
    before = lane.query("SELECT name, xmin::text AS written FROM schema_functions ORDER BY name")
    become(monkeypatch, FunctionFile("probe", PROBE))
    assert migrate(db) == []
    assert lane.query("SELECT probe(1) AS n") == [{"n": 2}]
    become(monkeypatch, FunctionFile("probe", PROBE.replace("+ 1", "+ 2")))
    migrate(db)
    assert lane.query("SELECT probe(1) AS n") == [{"n": 3}]
    after = lane.query("SELECT name, xmin::text AS written FROM schema_functions WHERE name <> 'probe' ORDER BY name")
    assert after == before


@pytest.mark.parametrize(
    "text",
    [
        PROBE.replace("p int", "p int, q int"),
        PROBE.replace("RETURNS int", "RETURNS bigint"),
        PROBE.replace("p int", "other int").replace("SELECT p", "SELECT other"),
    ],
    ids=["another parameter", "another result", "another name of a parameter"],
)
def test_a_function_with_another_signature_takes_the_place_of_the_old_one(
    db: Database, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    become(monkeypatch, FunctionFile("probe", PROBE))
    migrate(db)
    become(monkeypatch, FunctionFile("probe", text))
    migrate(db)
    [one] = functions(db)["probe"]
    assert one in text


def test_a_function_whose_file_is_gone_is_dropped(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    become(monkeypatch, FunctionFile("probe", PROBE))
    migrate(db)
    monkeypatch.undo()
    migrate(db)
    assert "probe" not in functions(db)
    assert Lane(db).query("SELECT 1 FROM schema_functions WHERE name = 'probe'") == []


def test_a_function_that_fails_changes_nothing_not_even_the_migration_before_it(
    empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(empty, upto=migrations()[-2].version)
    before = functions(empty)
    become(monkeypatch, FunctionFile("probe", PROBE.replace("SELECT p", "SELECT no_such_column")))
    with pytest.raises(psycopg.errors.UndefinedColumn):
        migrate(empty)
    assert functions(empty) == before
    [row] = Lane.query(_bare(empty), "SELECT max(version) AS version FROM schema_migrations")
    assert row["version"] < migrations()[-1].version
    monkeypatch.undo()
    migrate(empty)
    assert sorted(functions(empty)) == [file.name for file in function_files()]


@pytest.mark.req("X11")
def test_an_older_release_does_not_put_its_functions_back(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    become(monkeypatch, FunctionFile("probe", PROBE), release="99.0.1")
    migrate(db)
    monkeypatch.undo()
    assert migrate(db) == []
    assert "probe" in functions(db), "the newer release's"


@pytest.mark.req("X11")
def test_code_that_a_newer_schema_still_fits_leaves_its_functions_alone(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = migrations()[-1].version
    values = f"({newest + 1}, 'later', 'x', {newest})"
    Lane(db).execute(f"INSERT INTO schema_migrations (version, name, sha256, readable_by) VALUES {values}")
    become(monkeypatch, FunctionFile("probe", PROBE))
    assert migrate(db) == []
    assert "probe" not in functions(db)


def _bare(db: Database) -> Lane:
    """A lane without a project: only its way of asking is wanted."""
    lane = object.__new__(Lane)
    lane.db = db
    return lane
