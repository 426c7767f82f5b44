"""Numbered migrations, checked by hash, run under a lock. Expand first, contract a release later.

Since 0013 a migration changes tables, constraints and data alone. Functions stand once, in store/functions/, and are
brought in line with their files after the newest migration, in its transaction (store/function_files.py).

A fleet is upgraded host by host: the first new host migrates while the old ones go on. So each migration says in its
head which older code it leaves working (`-- readable by: N`, the lowest schema whose code still works with it); without
that line, none. Code that is too old claims nothing more (function claim_within) and refuses to start.

The lock is tried, not waited for: waiting in pg_advisory_lock() deadlocks with CREATE INDEX CONCURRENTLY.
"""

import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources

import psycopg

from damascus.domain.errors import DamascusError
from damascus.store.db import AGAIN, Connection, Database
from damascus.store.function_files import apply_functions, are_current

LOCK = 0x0DA3A5C5
PATIENCE = 60.0
LOCK_TIMEOUT = "5s"
FIRST_WITH_FILES = 13
"""The migration that made schema_functions."""
TABLE = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version integer PRIMARY KEY,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)
"""
SINCE_FLEETS = "ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS readable_by integer"
READABLE_BY = re.compile(r"^-- readable by: (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Migration:
    """One file of store/migrations/."""

    version: int
    name: str
    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def readable_by(self) -> int | None:
        """The lowest schema whose code still works once this is applied."""
        found = READABLE_BY.search(self.text)
        return int(found[1]) if found else None


@dataclass(frozen=True)
class Applied:
    """What the database remembers of a migration."""

    sha256: str
    readable_by: int | None


@dataclass(frozen=True)
class SchemaRange:
    """The schemas that this code works with, as far as it can know: the claim compares newer ones by their own word."""

    low: int
    high: int


def migrations() -> list[Migration]:
    folder = resources.files("damascus.store").joinpath("migrations")
    found = []
    for entry in folder.iterdir():
        match = re.fullmatch(r"(\d{4})_(\w+)\.sql", entry.name)
        if match:
            found.append(Migration(int(match.group(1)), match.group(2), entry.read_text()))
    return sorted(found, key=lambda m: m.version)


@cache
def schema_range() -> SchemaRange:
    """Every process brings the schema up to its own before it works, so that an older one is a restored back-up."""
    newest = migrations()[-1].version
    return SchemaRange(newest, newest)


def current_version(db: Database) -> int:
    row = db.one("schema_version")
    assert row is not None
    return int(row["version"])


def migrate(db: Database, upto: int | None = None) -> list[str]:
    """Bring the database to this release's schema and functions; returns the names of the migrations applied now."""
    known = [m for m in migrations() if upto is None or m.version <= upto]
    if _is_current(db, known):
        return []
    connection = db.connection()
    _take_lock(connection)
    try:
        connection.execute(TABLE)
        connection.execute(SINCE_FLEETS)
        applied = _applied(connection)
        _check(applied, known)
        todo = [m for m in known if m.version not in applied]
        for migration in todo[:-1]:
            _in_transaction(connection, partial(_apply, connection, migration))
        functions = _has_functions(applied, known)
        _in_transaction(connection, partial(_finish, connection, todo[-1:], functions))
        return [m.name for m in todo]
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", (LOCK,))


def _is_current(db: Database, known: list[Migration]) -> bool:
    try:
        applied = db.run(_applied)
    except psycopg.errors.UndefinedTable:
        return False
    _check(applied, known)
    if not all(migration.version in applied for migration in known):
        return False
    return not _has_functions(applied, known) or db.run(are_current)


def _has_functions(applied: dict[int, Applied], known: list[Migration]) -> bool:
    """Are the functions ours to apply? A newer schema has its own; one on the way up (`upto`) has those of its time."""
    newest = known[-1].version
    return newest == migrations()[-1].version and newest >= FIRST_WITH_FILES and max(applied, default=0) <= newest


def _applied(connection: Connection) -> dict[int, Applied]:
    rows = connection.execute("SELECT * FROM schema_migrations").fetchall()
    return {row["version"]: Applied(row["sha256"], row.get("readable_by")) for row in rows}


def _check(applied: dict[int, Applied], known: list[Migration]) -> None:
    newest = known[-1].version
    if any((its.readable_by or version) > newest for version, its in applied.items() if version > newest):
        raise DamascusError(
            f"the database has schema {max(applied)}, newer than this Damascus (schema {newest}). Nothing was changed. "
            "Upgrade Damascus on this machine, or use another database (docs/operations.md)."
        )
    for migration in known:
        if migration.version in applied and applied[migration.version].sha256 != migration.sha256:
            raise DamascusError(
                f"migration {migration.version:04d}_{migration.name} was applied in another form than this release's. "
                "Nothing was changed. Restore the database from a back-up of this release (docs/operations.md)."
            )


def _take_lock(connection: Connection) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        row = connection.execute("SELECT pg_try_advisory_lock(%s) AS got", (LOCK,)).fetchone()
        if row and row["got"]:
            return
        if time.monotonic() > until:
            raise DamascusError("another process has been migrating the database for a minute. Try again later.")
        time.sleep(0.05)


def _in_transaction(connection: Connection, work: Callable[[], None]) -> None:
    """Workers of the release before go on meanwhile: who is in the way of a lock is let through, then we try again."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            with connection.transaction():
                connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'".encode())
                return work()
        except AGAIN:
            if time.monotonic() > until:
                raise
        time.sleep(0.05)


def _finish(connection: Connection, newest: list[Migration], functions: bool) -> None:
    for migration in newest:
        _apply(connection, migration)
    if functions:
        apply_functions(connection)


def _apply(connection: Connection, migration: Migration) -> None:
    connection.execute(migration.text.encode())
    connection.execute(
        "INSERT INTO schema_migrations (version, name, sha256, readable_by) VALUES (%s, %s, %s, %s)",
        (migration.version, migration.name, migration.sha256, migration.readable_by),
    )
