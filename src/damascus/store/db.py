"""Connections and transactions. Losing the database is no failure of a story: we reconnect and go on.

A transaction function may run again after a lost connection, so each one is written to be repeatable: the
journal's key, the fence and ON CONFLICT make the second run find the first.
"""

import json
import re
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from damascus.domain.errors import DamascusError, DatabaseUnreachable, Fenced, Stopping
from damascus.domain.storable import OUTPUT_LIMIT, storable
from damascus.store.embedded.access import password

T = TypeVar("T")
Row = dict[str, Any]
Connection = psycopg.Connection[Row]

FENCED = "DM001"
NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
SUSPECT = ("\\u0000", "\\ud", "NaN", "Infinity")
AGAIN = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected, psycopg.errors.LockNotAvailable)
OTHER_SHAPE = "cached plan must not change result type"
"""A newer release gave a table another column: what was prepared with SELECT * must be prepared again."""
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 2.0


@cache
def statements() -> dict[str, str]:
    """All of store/sql/: a file per concern with `-- name: …` above each statement, or a long one in its own file."""
    found: dict[str, str] = {}
    for entry in resources.files("damascus.store").joinpath("sql").iterdir():
        first, *named = NAME.split(entry.read_text())
        parts = dict(zip(named[::2], named[1::2], strict=True)) or {entry.name.removesuffix(".sql"): first}
        if twice := parts.keys() & found.keys():
            raise ValueError(f"store/sql has two statements called {sorted(twice)[0]}")
        found |= {name: text.strip().removesuffix(";") for name, text in parts.items()}
    return found


def sql(name: str) -> str:
    """One statement of store/sql/, by name."""
    return statements()[name]


def never() -> bool:
    return False


class Database:
    """A connection per thread; `start` brings an embedded server back when it is ours."""

    def __init__(self, url: str, *, start: Callable[[], object] | None = None, patience: float = 0.0) -> None:
        self.url = url
        self.patience = patience
        self.stopping: Callable[[], bool] = never
        self.losses = 0
        self._start = start
        self._local = threading.local()
        self._all: list[tuple[threading.Thread, Connection]] = []
        self._guard = threading.Lock()

    def run(self, work: Callable[[Connection], T], *, single: bool = False) -> T:
        """Run `work` in one transaction, again after a lost connection or a serialization failure.

        A `single` statement is a transaction by itself: one round trip instead of three.
        """
        pause, since = FIRST_PAUSE, time.monotonic()
        while True:
            try:
                connection = self.connection()
                with nullcontext() if single else connection.transaction():
                    return work(connection)
            except AGAIN:
                pass
            except psycopg.errors.FeatureNotSupported as err:
                if OTHER_SHAPE not in str(err):
                    raise
                self._forget_connection()
            except (psycopg.OperationalError, psycopg.InterfaceError) as err:
                self._lost(err, since)
            except psycopg.Error as err:
                raise (Fenced(str(err)) if err.sqlstate == FENCED else err) from None
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    def one(self, name: str, /, **params: Any) -> Row | None:
        return self.run(lambda c: c.execute(sql(name), params).fetchone(), single=True)

    def all(self, name: str, /, **params: Any) -> list[Row]:
        return self.run(lambda c: c.execute(sql(name), params).fetchall(), single=True)

    def do(self, name: str, /, **params: Any) -> None:
        self.run(lambda c: c.execute(sql(name), params), single=True)

    def connection(self) -> Connection:
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None or connection.closed:
            connection = self._connect()
            self._local.connection = connection
            with self._guard:
                self._all = [*_of_living_threads(self._all), (threading.current_thread(), connection)]
        return connection

    def _connect(self) -> Connection:
        connection = psycopg.connect(
            self.url, autocommit=True, row_factory=dict_row, connect_timeout=10, application_name="damascus",
            keepalives_idle=20, keepalives_interval=5, keepalives_count=4, tcp_user_timeout=60_000,
            options="-c lock_timeout=30s -c idle_in_transaction_session_timeout=60s -c timezone=UTC",
            password=_password(self.url),
        )  # fmt: skip
        connection.prepare_threshold = 3
        return connection

    def _lost(self, err: Exception, since: float) -> None:
        """Forget the connection, start our own server; give up only when nobody wants to wait."""
        self.losses += 1
        self._forget_connection()
        if self.stopping():
            raise Stopping from None
        if time.monotonic() - since > self.patience:
            raise DatabaseUnreachable(unreachable(self.url, err)) from None
        if self._start is not None:
            try:
                self._start()
            except (DamascusError, OSError):
                return

    def _forget_connection(self) -> None:
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def close(self) -> None:
        with self._guard:
            for _, connection in self._all:
                connection.close()
            self._all = []


def _of_living_threads(known: list[tuple[threading.Thread, Connection]]) -> list[tuple[threading.Thread, Connection]]:
    """The others are closed: a server's threads come and go."""
    for thread, connection in known:
        if not thread.is_alive():
            connection.close()
    return [(thread, connection) for thread, connection in known if not connection.closed]


def _password(url: str) -> str | None:
    """Of the file that our own server's address names: for libpq a PGPASSWORD of the user's would come first."""
    try:
        file = conninfo_to_dict(url).get("passfile")
        return password(Path(str(file))) if file else None
    except (psycopg.Error, OSError):
        return None


def unreachable(url: str, err: Exception) -> str:
    try:
        known = conninfo_to_dict(url)
        where = f"{known.get('host', 'localhost')} database {known.get('dbname', '')}".strip()
    except psycopg.Error:
        where = "DAMASCUS_DATABASE_URL"
    reason = next((line for line in str(err).splitlines() if line.strip()), "no answer").strip()
    return (
        f"the database at {where} can't be reached: {reason}. Start it, correct DAMASCUS_DATABASE_URL, or unset it "
        "to use the embedded one (damascus db start)."
    )


def jsonb(value: object) -> Jsonb:
    """A value for a jsonb column, without what PostgreSQL refuses there (domain/storable.py)."""
    return Jsonb(value, dumps=_dumps)


def _dumps(value: object) -> str:
    """Most values are short and plain: only what looks suspicious is taken apart."""
    text = json.dumps(value)
    if len(text) <= OUTPUT_LIMIT and not any(mark in text for mark in SUSPECT):
        return text
    return json.dumps(storable(value))


def database_clock(db: Database) -> datetime:
    """The only clock that decides: a worker's own may be wrong by minutes."""
    row = db.run(lambda c: c.execute("SELECT clock_timestamp() AS now").fetchone())
    assert row is not None
    now: datetime = row["now"]
    return now
