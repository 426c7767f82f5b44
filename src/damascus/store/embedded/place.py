"""Where an embedded server lives, and the proofs that the place is ours and free.

Below `$DAMASCUS_HOME/postgres`: `data` the cluster, `log`, `run` the socket (in /tmp if its path would be too long),
`version` of the running server, `password` and `admin-password` (access.py), and `alive`: locked by whoever starts the
server and, inherited, by every process of it for as long as it lives. So only one process starts at a time, and whoever
gets the lock has the proof, without asking any PID, that no server of ours is left.
"""

import fcntl
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.errors import DamascusError
from damascus.store.embedded.binaries import ServerAccount

PORT = "5432"  # a part of the socket's name only: there is no TCP port
SOCKET = f".s.PGSQL.{PORT}"
SOCKET_PATH_LIMIT = 100  # the kernel's is 107 bytes on Linux, 103 on macOS
PATIENCE = 120.0  # seconds; recovery after a crash can take much longer than a start
LOG_CAP = 10 * 2**20
CURE = "Set DAMASCUS_HOME to another folder, or DAMASCUS_DATABASE_URL to a PostgreSQL of yours."


@dataclass(frozen=True)
class DatabasePlace:
    home: Path

    @property
    def folder(self) -> Path:
        return Path(os.path.realpath(self.home)) / "postgres"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def mark(self) -> str:
        """The cluster's name: on the server's command line and in the titles of its children."""
        return f"damascus-{hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:16]}"

    @property
    def sockets(self) -> Path:
        """The same for every process that knows the home, so it depends on no XDG_RUNTIME_DIR or TMPDIR."""
        beside = self.folder / "run"
        fits = len(os.fsencode(beside / SOCKET)) <= SOCKET_PATH_LIMIT
        return beside if fits else Path("/tmp") / self.mark

    @property
    def sockets_for_server(self) -> str:
        """Relative to its working folder where possible: root's account can't pass closed parents."""
        return "../run" if self.sockets.parent == self.folder else str(self.sockets)

    def make(self) -> None:
        mode = 0o711 if os.geteuid() == 0 else 0o700  # root's server passes through, and lists nothing
        self.home.parent.mkdir(parents=True, exist_ok=True)
        for folder in (self.home, self.folder):
            with suppress(FileExistsError):
                folder.mkdir()
                folder.chmod(mode)

    def make_sockets(self, account: ServerAccount | None) -> None:
        with suppress(FileExistsError):
            self.sockets.mkdir(mode=0o700)
        self.refuse_foreign_sockets(account)
        if account and os.lstat(self.sockets).st_uid == 0:
            os.chown(self.sockets, account.uid, account.gid, follow_symlinks=False)

    def refuse_foreign_sockets(self, account: ServerAccount | None) -> None:
        """Whoever owns the folder could listen there in our server's place."""
        found = os.lstat(self.sockets)
        ours = {0, account.uid} if account else {os.geteuid()}
        if not stat.S_ISDIR(found.st_mode) or found.st_uid not in ours or found.st_mode & 0o077:
            raise DamascusError(
                f"{self.sockets} must be a private folder (mode 0700) of ours, but it is a "
                f"{stat.filemode(found.st_mode)} of uid {found.st_uid}. Remove it, or: {CURE}"
            )

    def remove_remains(self) -> None:
        """A dead server's lock files. With `alive` held and no survivor only: PostgreSQL's own interlock goes, too."""
        for path in (self.data / "postmaster.pid", self.sockets / SOCKET, self.sockets / f"{SOCKET}.lock"):
            path.unlink(missing_ok=True)

    def remove_sockets(self) -> None:
        with suppress(OSError):
            self.sockets.rmdir()

    def cap_log(self) -> None:
        """The server appends, so its log can be cut while it runs; what was cut stays in log.old."""
        if self.log.exists() and self.log.stat().st_size > LOG_CAP:
            shutil.copyfile(self.log, self.folder / "log.old")
            os.truncate(self.log, 0)

    def log_end(self) -> str:
        with suppress(FileNotFoundError):
            return " / ".join(self.log.read_bytes()[-2000:].decode(errors="replace").splitlines()[-4:])
        return "(no log)"

    @contextmanager
    def alive_file(self) -> Iterator[int]:
        alive = os.open(self.folder / "alive", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            yield alive
        finally:
            os.close(alive)  # never LOCK_UN: that would take it from the server, too

    @contextmanager
    def switching(self) -> Iterator[None]:
        """One at a time brings a server of an older release up to date."""
        handle = os.open(self.folder / "switching", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def until(condition: Callable[[], bool], patience: float = PATIENCE) -> bool:
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
