"""One PostgreSQL for a whole test run, and a fresh database for each test: a clone of a migrated template.

The process that starts the run (xdist's controller) owns the folder by an flock and stops the server at the end; a
run that was killed is cleared away by the next one. Workers find the folder through an environment variable.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from uuid import uuid4

import psycopg

from damascus.domain.events import EventKind
from damascus.store.db import Database
from damascus.store.embedded.database import EmbeddedServer
from damascus.store.migrate import migrate

FOLDER = "DAMASCUS_TEST_FOLDER"
PREFIX = "damascus-tests-"
TEMPLATE = "migrated_template"
ABANDONED_AFTER = 60.0
ROOM = 2 * 2**30
WRITTEN_EVENTS = """
SELECT kind, array(SELECT DISTINCT jsonb_object_keys(o.body) FROM events_outbox o WHERE o.kind = e.kind)
  FROM events_outbox e GROUP BY kind
"""
CLONED = "STRATEGY FILE_COPY"
"""Files as they are, with what the first connection would work out anew: two thirds of the time of a logged copy."""
SETTINGS = (
    "ALTER ROLE damascus SET synchronous_commit = off",  # a test that kills the server brings its own
    "ALTER SYSTEM SET max_wal_size = '256MB'",
    "SELECT pg_reload_conf()",
)


def places() -> list[Path]:
    """In memory where there is room: a clone takes 20 ms there and 300 ms on a disk."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > ROOM
    return [memory, Path("/tmp")] if roomy and not os.statvfs(memory).f_flag & os.ST_NOEXEC else [Path("/tmp")]


class OwnedFolder:
    """The run's folder, made by the controller and held for as long as it lives."""

    def __init__(self) -> None:
        _remove_abandoned()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=places()[0]))
        self.path.chmod(0o711)
        self.lock = os.open(self.path / "owner", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        os.environ[FOLDER] = str(self.path)

    def close(self) -> None:
        _remove(self.path)
        os.close(self.lock)
        os.environ.pop(FOLDER, None)


def _remove(folder: Path) -> None:
    EmbeddedServer(folder / "home").stop()
    shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned() -> None:
    for folder in (found for place in places() for found in place.glob(f"{PREFIX}*")):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > ABANDONED_AFTER and (folder / "owner").is_file():
                _remove_if_free(folder)


def _remove_if_free(folder: Path) -> None:
    handle = os.open(folder / "owner", os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(folder)
    finally:
        os.close(handle)


@cache
def shared_server() -> EmbeddedServer:
    """The run's server, started and its template made by whichever worker needs it first."""
    folder = Path(os.environ[FOLDER])
    server = EmbeddedServer(folder / "home")
    with _locked(folder / "template.lock"):
        if not (folder / "template.made").exists():
            server.ensure_running()
            _make_template(server)
            (folder / "template.made").touch()
    return server


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _make_template(server: EmbeddedServer) -> None:
    _admin(server, *SETTINGS, f"CREATE DATABASE {TEMPLATE} OWNER damascus")
    db = Database(url_of(server, TEMPLATE))
    migrate(db)
    db.close()


def url_of(server: EmbeddedServer, name: str) -> str:
    return server.url().replace("@/damascus?", f"@/{name}?")


def _admin(server: EmbeddedServer, *statements: str) -> None:
    with psycopg.connect(server.admin_url(), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def _unlisted_events(url: str) -> list[tuple[str, list[str]]]:
    """What the test has written of a kind, or with facts, that domain/events.py does not list."""
    listed = {kind.value: set(kind.fields) for kind in EventKind}
    with psycopg.connect(url, options="-c lock_timeout=5s") as connection:  # a test may leave a transaction open
        written = connection.execute(WRITTEN_EVENTS).fetchall()
    return [(kind, facts) for kind, facts in written if kind not in listed or not set(facts) <= listed[kind]]


@contextmanager
def fresh_database() -> Iterator[str]:
    """The address of a migrated database that nobody else uses; dropped afterwards."""
    server, name = shared_server(), f"test_{uuid4().hex[:16]}"
    _admin(server, f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} OWNER damascus {CLONED}")
    yield url_of(server, name)
    strange = _unlisted_events(url_of(server, name))
    _admin(server, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    assert strange == [], "events that domain/events.py does not list, or facts of them"


@contextmanager
def empty_database() -> Iterator[str]:
    """The address of a database without any schema."""
    server, name = shared_server(), f"empty_{uuid4().hex[:16]}"
    _admin(server, f"CREATE DATABASE {name} OWNER damascus")
    yield url_of(server, name)
    _admin(server, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
