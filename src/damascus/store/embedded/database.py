"""The PostgreSQL that Damascus brings along: one server per DAMASCUS_HOME, started by whoever needs it first.

Any number of processes may want it at once, be killed at any line, or find what a killed one left. What is true is
asked of the socket; a PID is believed only if that process is a postgres at work in our folder (pgprocess); nothing
is removed before the proof that no server is left (pgplace). Why: docs/decisions/0001-embedded-postgres.md.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from damascus.domain.errors import DamascusError
from damascus.store.embedded.access import ADMIN, NAME, Access
from damascus.store.embedded.binaries import STATE_FOLDER, bin_folder, running_as, server_account, server_programs
from damascus.store.embedded.place import CURE, PATIENCE, PORT, SOCKET, DatabasePlace, try_lock, until
from damascus.store.embedded.process import recorded_pid, recorded_ready, servers_in, signal_server, works_in
from damascus.store.embedded.start import Launch

How = Literal["attached", "started", "created"]


@dataclass(frozen=True)
class Started:
    """What ensure_running found or did."""

    how: How
    seconds: float
    version: str


@dataclass(frozen=True)
class ServerStatus:
    running: bool
    pid: int | None
    version: str | None
    data: Path
    sockets: Path


def default_home(environ: Mapping[str, str]) -> Path:
    """DAMASCUS_HOME if it is set, else the platform's data folder; root's is the system's state folder."""
    if chosen := environ.get("DAMASCUS_HOME"):
        return Path(os.path.expanduser(chosen)).absolute()
    if os.geteuid() == 0:
        return STATE_FOLDER
    user = Path(environ.get("HOME") or Path.home())
    if sys.platform == "darwin":
        return user / "Library" / "Application Support" / "damascus"
    data = Path(environ.get("XDG_DATA_HOME", ""))
    return (data if data.is_absolute() else user / ".local" / "share") / "damascus"


@dataclass(frozen=True)
class EmbeddedServer:
    home: Path

    @property
    def place(self) -> DatabasePlace:
        return DatabasePlace(self.home)

    @property
    def access(self) -> Access:
        return Access(self.place)

    def url(self) -> str:
        """As the role that owns our database. The address holds no password: it names the file."""
        return self.access.url(NAME)

    def admin_url(self) -> str:
        """As the superuser, for what no command of ours does."""
        return self.access.url(ADMIN)

    def bin(self, tool: str) -> Path:
        program = bin_folder() / tool
        if not program.exists():
            raise DamascusError(f"There is no program {tool!r} among PostgreSQL's in {program.parent}.")
        return program

    def ensure_running(self) -> Started:
        """Attach to the server or start it; the first time make the cluster and its database."""
        began = time.monotonic()
        with self._trouble_told():
            how: How = "attached" if self._answers() and self.access.settled() else self._start_settled()
            self.place.cap_log()
            return Started(how, time.monotonic() - began, self._version() or "")

    def status(self) -> ServerStatus:
        with self._trouble_told():
            running = self._answers()
            pid, version = (self._pid(), self._version()) if running else (None, None)
            return ServerStatus(running, pid, version, self.place.data, self.place.sockets)

    def stop(self, fast: bool = True) -> bool:
        """True if it ran. Fast ends sessions and rolls back what is open; else it waits for the clients to leave."""
        with self._trouble_told():
            return self._stop_server(signal.SIGINT if fast else signal.SIGTERM)

    def _stop_server(self, number: signal.Signals) -> bool:
        place, pid = self.place, self._pid()
        if pid is None and self._answers():
            raise DamascusError(
                f"The server of {place.data} answers, but its process can't be seen from here. Stop it where it "
                "was started (another container?)."
            )
        if pid is None or not signal_server(pid, place.data, place.mark, number):
            return False
        if not until(lambda: not works_in(pid, place.data, place.mark)):
            raise DamascusError(f"PostgreSQL (process {pid}) has not stopped in {PATIENCE:g} s. See {place.log}.")
        with place.alive_file() as alive:
            if try_lock(alive):  # else the next starter is at work there
                place.remove_sockets()
        return True

    def _answers(self) -> bool:
        place = self.place
        try:
            place.refuse_foreign_sockets(server_account(place.data))
            (place.sockets / SOCKET).stat()
        except FileNotFoundError:
            return False
        if recorded_ready(place.data) and self._pid() is not None:
            return True  # what pg_isready would find, without a process: a person waits for this
        ask = [str(self.bin("pg_isready")), "-q", "-t", "3", "-h", str(place.sockets), "-p", PORT, "-U", NAME]
        return subprocess.run([*ask, "-d", NAME], stdin=subprocess.DEVNULL, **running_as(None)).returncode == 0

    def _pid(self) -> int | None:
        pid = recorded_pid(self.place.data)
        return pid if pid and works_in(pid, self.place.data, self.place.mark) else None

    def _version(self) -> str | None:
        with suppress(FileNotFoundError):
            return (self.place.folder / "version").read_text()
        return None

    def _start_settled(self) -> How:
        """A server of an older release may still be at work, and trusts whoever comes: it is stopped first, once."""
        self.place.make()
        if not self._answers():
            return self._start_once()
        with self.place.switching():
            if not self.access.settled() and self._answers():
                self._stop_server(signal.SIGINT)
            return "attached" if self._answers() else self._start_once()

    def _start_once(self) -> How:
        with self.place.alive_file() as alive:
            # Another starter, or a server that goes down or recovers, holds `alive`: wait for either end of it.
            if not until(lambda: self._answers() or try_lock(alive)):
                raise DamascusError(
                    f"PostgreSQL in {self.place.data} has neither answered nor ended in {PATIENCE:g} s (process "
                    f"{self._pid()}): {self.place.log_end()}. Look at {self.place.log}, then try again."
                )
            return self._start(alive) if try_lock(alive) else "attached"

    def _start(self, alive: int) -> How:
        place = self.place
        account = server_account(place.data)
        launch = Launch(place, server_programs(account, place.folder), account, alive)
        new = not (place.data / "PG_VERSION").exists()
        if new:
            launch.create()
        launch.refuse_other_major()
        self._refuse_survivors()
        place.remove_remains()
        if not self.access.settled():
            launch.settle(place.data)
        place.make_sockets(account)
        (place.folder / "version").write_text(launch.programs.version)
        self._wait_until_ready(launch.spawn())
        return "created" if new else "started"

    def _refuse_survivors(self) -> None:
        """`alive` is free, so these were not started by us."""
        if left := servers_in(self.place.data, self.place.mark):
            raise DamascusError(
                f"A PostgreSQL that Damascus did not start is at work in {self.place.data} (process {left[0]}). "
                "Stop it first."
            )

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        in_time = until(lambda: self._answers() or process.poll() is not None)
        end = f"{self.place.log_end()}. The whole log: {self.place.log}."
        if process.poll() is not None:
            raise DamascusError(f"PostgreSQL did not start: {end}")
        if not in_time:
            raise DamascusError(f"PostgreSQL is not ready after {PATIENCE:g} s and goes on; try again later: {end}")

    @contextmanager
    def _trouble_told(self) -> Iterator[None]:
        try:
            yield
        except (OSError, subprocess.TimeoutExpired) as err:
            raise DamascusError(f"The embedded PostgreSQL in {self.place.folder} can't be used: {err}. {CURE}") from err
