"""Who may talk to the embedded server: nobody without a password. Old clusters are switched over."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from damascus.store.db import Database
from damascus.store.embedded.access import ADMIN, FILES, NAME, RULES
from damascus.store.embedded.binaries import running_as, server_account, server_programs
from damascus.store.embedded.database import EmbeddedServer
from damascus.store.embedded.place import PORT
from damascus.store.migrate import migrate
from tests.waiting import eventually

pytestmark = pytest.mark.req("D6", "F14")

SRC = Path(__file__).parents[2] / "src"
OLD_WAY = ["--username=damascus", "--auth=trust", "--encoding=UTF8", "--locale=C", "--set=shared_buffers=16MB"]
KILLED = """
import os, signal, sys
from pathlib import Path
from damascus.store.embedded import access, start
from damascus.store.embedded.database import EmbeddedServer
def die(*_, **__): os.kill(os.getpid(), signal.SIGKILL)
owner = {"choose": access.Access, "statement": access.Access, "rules": access.Access, "spawn": start.Launch}
name = {"choose": "_choose_password", "statement": "statement", "rules": "write_rules", "spawn": "spawn"}[sys.argv[2]]
setattr(owner[sys.argv[2]], name, die)
EmbeddedServer(Path(sys.argv[1])).ensure_running()
"""
MADE = "CREATE TABLE mine (n int PRIMARY KEY); INSERT INTO mine VALUES (1), (2); CREATE VIEW seen AS SELECT n FROM mine"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(tmp_path / "home")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(tmp_path_factory.mktemp("access"))
    server.ensure_running()
    yield server
    server.stop()


def one(url: str, query: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
        assert row is not None
        return row[0]


def without_password(server: EmbeddedServer, role: str) -> str:
    return f"postgresql://{role}@/{NAME}?host={server.place.sockets}&port={PORT}&passfile=/dev/null"


def refuse_strangers(server: EmbeddedServer) -> None:
    for role in (NAME, ADMIN, "postgres", "nobody"):
        with pytest.raises(psycopg.OperationalError, match=r"no password supplied|password authentication failed"):
            psycopg.connect(without_password(server, role))
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(without_password(server, role), password="damascus")


def test_nobody_is_trusted_without_a_password(running: EmbeddedServer) -> None:
    refuse_strangers(running)
    assert [stat.S_IMODE(running.access.file(role).stat().st_mode) for role in FILES] == [0o600, 0o600]
    assert {running.access.file(role).stat().st_uid for role in FILES} == {os.geteuid()}
    assert "trust" not in running.place.data.joinpath("pg_hba.conf").read_text().split()
    assert not any(running.access.file(role).read_text().split(":")[-1].strip() in running.url() for role in FILES)


@pytest.mark.parametrize(
    "harm",
    [
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "COPY (SELECT 1) TO '/tmp/damascus-never'",
        "SELECT pg_read_file('PG_VERSION')",
        "CREATE ROLE more SUPERUSER LOGIN",
        "ALTER ROLE damascus SUPERUSER",
        "ALTER SYSTEM SET archive_command = 'true'",
        "CREATE FUNCTION f() RETURNS int LANGUAGE c AS 'libc', 'getpid'",
        "SET ROLE damascus_admin",
        "CREATE DATABASE other",
    ],
)
def test_our_own_role_can_do_no_harm_outside(running: EmbeddedServer, harm: str) -> None:
    with (
        psycopg.connect(running.url(), autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(harm.encode())


def test_a_password_of_the_users_for_another_server_does_not_come_between(
    running: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "of another server")
    db = Database(running.url())
    assert db.run(lambda c: c.execute("SELECT current_user AS who").fetchone()) == {"who": NAME}
    db.close()


def test_passwords_that_were_lost_are_chosen_anew(running: EmbeddedServer) -> None:
    before = running.access.file(NAME).read_text()
    running.stop()
    running.access.file(NAME).unlink()
    assert running.ensure_running().how == "started"
    assert running.access.file(NAME).read_text() != before
    assert one(running.url(), "SELECT current_user") == NAME
    refuse_strangers(running)


# ── clusters of an older release ──────────────────────────────────────────────────────────────────────


def make_old_cluster(server: EmbeddedServer) -> None:
    """As the release before made it: one role, a superuser, trusted; with our schema and rows in it."""
    place, account = server.place, server_account(server.place.data)
    place.make()
    place.data.mkdir(mode=0o700)
    if account:
        os.chown(place.data, account.uid, account.gid)
    run = {"cwd": place.data, "check": True, "capture_output": True, **running_as(account)}
    where = "/proc/self/cwd" if account else str(place.data)
    programs = server_programs(account, place.folder).folder
    subprocess.run([programs / "initdb", "-D", where, *OLD_WAY], **run)
    single = [programs / "postgres", "--single", "-D", where]
    subprocess.run([*single, "template1"], input=b"CREATE DATABASE damascus;\n", **run)


def start_the_old_way(server: EmbeddedServer) -> subprocess.Popen[bytes]:
    """With the lock that every process of our server inherits."""
    place, account = server.place, server_account(server.place.data)
    place.make_sockets(account)
    where = "/proc/self/cwd" if account else str(place.data)
    settings = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={place.sockets_for_server}"]
    settings += ["-c", f"cluster_name={place.mark}"]
    programs = server_programs(account, place.folder).folder
    with place.alive_file() as alive:
        process = subprocess.Popen(
            [programs / "postgres", "-D", where, *settings], cwd=place.data, stderr=subprocess.DEVNULL,
            pass_fds=(alive,), **running_as(account),
        )  # fmt: skip
    eventually(lambda: server.status().running, what="the old server")
    return process


@pytest.fixture
def old(fresh: EmbeddedServer) -> EmbeddedServer:
    make_old_cluster(fresh)
    process = start_the_old_way(fresh)
    url = without_password(fresh, NAME)
    assert one(url, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") is True, "the control"
    db = Database(url)
    migrate(db)
    db.run(lambda c: c.execute(MADE.encode()))
    db.close()
    process.send_signal(signal.SIGINT)
    process.wait()
    return fresh


def assert_switched(server: EmbeddedServer) -> None:
    refuse_strangers(server)
    url = server.url()
    assert one(url, "SELECT sum(n) FROM seen") == 3
    assert one(url, "SELECT rolsuper OR rolcreatedb OR rolcreaterole FROM pg_roles WHERE rolname = 'damascus'") is False
    assert one(url, "SELECT string_agg(rolname, ' ') FROM pg_roles WHERE rolsuper") == ADMIN
    owners = "SELECT string_agg(DISTINCT relowner::regrole::text, ' ') FROM pg_class WHERE relnamespace = 2200"
    assert one(url, owners) == NAME
    db = Database(url)
    migrate(db)  # the owner may change what is there
    db.run(lambda c: c.execute("ALTER TABLE work_items ADD COLUMN later int"))
    db.close()


def test_an_old_cluster_is_switched_over_by_its_next_start(old: EmbeddedServer) -> None:
    assert old.ensure_running().how == "started"
    assert_switched(old)
    assert old.ensure_running().how == "attached"


def test_an_old_server_at_work_is_switched_over_too(old: EmbeddedServer) -> None:
    process = start_the_old_way(old)
    assert old.ensure_running().how == "started"
    assert process.wait() == 0
    assert_switched(old)


@pytest.mark.parametrize("when", ["choose", "statement", "rules", "spawn"])
def test_a_switch_that_was_killed_is_made_by_the_next_start(old: EmbeddedServer, when: str) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(old.home), when], env={**os.environ, "PYTHONPATH": str(SRC)}
    )
    assert killed.returncode == -signal.SIGKILL
    assert old.access.settled() is (when == "spawn")
    assert old.ensure_running().how == "started"
    assert_switched(old)


def test_rules_that_somebody_opened_are_closed_again(running: EmbeddedServer) -> None:
    running.stop()
    rules = running.place.data / "pg_hba.conf"
    rules.write_text("local all all trust\n")
    running.ensure_running()
    assert rules.read_text() == RULES
    refuse_strangers(running)
