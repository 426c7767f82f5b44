"""SQL functions: one file each in store/functions/, applied again whenever its text has changed.

A migration is history and never changes; a function is only ever what its file says. So `migrate` compares the hash of
each file with the one that it applied last (table schema_functions) and applies what differs, in the transaction of the
newest migration. A function whose file is gone is dropped. A trigger stands beside its function.

Older code never puts its own functions back: neither where the schema is newer than it knows, nor where a newer release
has applied functions to the same schema. Functions also serve the workers of the release before, because these finish
what they hold; what can't be served that way needs a migration that says so (store/migrate.py).
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources

import psycopg

from damascus import __version__
from damascus.store.db import Connection

OTHER_RESULT = psycopg.errors.InvalidFunctionDefinition
"""CREATE OR REPLACE refuses another result type, or other names of parameters."""
SIGNATURES = (
    "SELECT p.oid, p.oid::regprocedure::text AS signature FROM pg_proc p"
    " WHERE p.pronamespace = current_schema()::regnamespace AND p.proname = %s"
)


@dataclass(frozen=True)
class FunctionFile:
    """One file of store/functions/."""

    name: str
    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


@cache
def function_files() -> tuple[FunctionFile, ...]:
    folder = resources.files("damascus.store").joinpath("functions")
    found = [FunctionFile(entry.name.removesuffix(".sql"), entry.read_text()) for entry in folder.iterdir()]
    return tuple(sorted(found, key=lambda file: file.name))


def are_current(connection: Connection) -> bool:
    """Are the database's functions this release's, or those of a newer one?"""
    changed, gone = _differing(connection)
    return not changed and not gone


def apply_functions(connection: Connection) -> None:
    """Bring every function in line with its file; only inside the migrations' lock and a transaction."""
    changed, gone = _differing(connection)
    for name in gone:
        for row in _known(connection, name):
            _drop(connection, row["signature"])
        connection.execute("DELETE FROM schema_functions WHERE name = %s", (name,))
    for file in changed:
        _replace(connection, file)
        connection.execute(
            "INSERT INTO schema_functions (name, sha256, release) VALUES (%s, %s, %s) ON CONFLICT (name) DO UPDATE"
            " SET sha256 = excluded.sha256, release = excluded.release, applied_at = now()",
            (file.name, file.sha256, __version__),
        )


def _differing(connection: Connection) -> tuple[list[FunctionFile], list[str]]:
    """The files to apply and the functions to drop."""
    rows = connection.execute("SELECT name, sha256, release FROM schema_functions").fetchall()
    if any(_numbers(row["release"]) > _numbers(__version__) for row in rows):
        return [], []
    applied = {row["name"]: row["sha256"] for row in rows}
    files = function_files()
    changed = [file for file in files if applied.get(file.name) != file.sha256]
    return changed, sorted(applied.keys() - {file.name for file in files})


def _replace(connection: Connection, file: FunctionFile) -> None:
    """Other parameters would make a second function of the same name: whatever was there before goes."""
    before = _known(connection, file.name)
    try:
        with connection.transaction():
            connection.execute(file.text.encode())
    except OTHER_RESULT:
        for row in before:
            _drop(connection, row["signature"])
        connection.execute(file.text.encode())
        return
    if len(_known(connection, file.name)) > len(before):
        for row in before:
            _drop(connection, row["signature"])


def _known(connection: Connection, name: str) -> list[dict[str, str]]:
    return connection.execute(SIGNATURES, (name,)).fetchall()


def _drop(connection: Connection, signature: str) -> None:
    """Without CASCADE: what still needs it, a trigger or a CHECK, must go by a migration first."""
    connection.execute(f"DROP FUNCTION {signature}".encode())


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in release.split("."))
