"""Numbered migrations, checked by hash, run under a lock. Expand first, contract a release later.

The lock is tried, not waited for: waiting in pg_advisory_lock() deadlocks with CREATE INDEX CONCURRENTLY.
"""

import hashlib
import re
import time
from dataclasses import dataclass
from importlib import resources

import psycopg

from damascus.domain.errors import DamascusError
from damascus.store.db import Connection, Database

LOCK = 0x0DA3A5C5
PATIENCE = 60.0
TABLE = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version integer PRIMARY KEY,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)
"""


@dataclass(frozen=True)
class Migration:
    """One file of store/migrations/."""

    version: int
    name: str
    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def migrations() -> list[Migration]:
    folder = resources.files("damascus.store").joinpath("migrations")
    found = []
    for entry in folder.iterdir():
        match = re.fullmatch(r"(\d{4})_(\w+)\.sql", entry.name)
        if match:
            found.append(Migration(int(match.group(1)), match.group(2), entry.read_text()))
    return sorted(found, key=lambda m: m.version)


def migrate(db: Database, upto: int | None = None) -> list[str]:
    """Bring the database to this release's schema; returns the names applied now."""
    known = [m for m in migrations() if upto is None or m.version <= upto]
    if _is_current(db, known):
        return []
    connection = db.connection()
    _take_lock(connection)
    try:
        connection.execute(TABLE)
        applied = _applied(connection)
        _check(applied, known)
        todo = [m for m in known if m.version not in applied]
        for migration in todo:
            _apply(connection, migration)
        return [m.name for m in todo]
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", (LOCK,))


def _is_current(db: Database, known: list[Migration]) -> bool:
    try:
        applied = db.run(_applied)
    except psycopg.errors.UndefinedTable:
        return False
    _check(applied, known)
    return len(applied) == len(known)


def _applied(connection: Connection) -> dict[int, str]:
    rows = connection.execute("SELECT version, sha256 FROM schema_migrations").fetchall()
    return {row["version"]: row["sha256"] for row in rows}


def _check(applied: dict[int, str], known: list[Migration]) -> None:
    newest = known[-1].version
    if any(version > newest for version in applied):
        raise DamascusError(
            f"the database has schema {max(applied)}, newer than this Damascus (schema {newest}). Nothing was changed. "
            "Upgrade Damascus on this machine, or use another database (docs/operations.md)."
        )
    for migration in known:
        if applied.get(migration.version, migration.sha256) != migration.sha256:
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


def _apply(connection: Connection, migration: Migration) -> None:
    with connection.transaction():
        connection.execute("SET LOCAL lock_timeout = '5s'")
        connection.execute(migration.text.encode())
        connection.execute(
            "INSERT INTO schema_migrations (version, name, sha256) VALUES (%s, %s, %s)",
            (migration.version, migration.name, migration.sha256),
        )
