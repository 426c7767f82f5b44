"""Make a cluster, and set its server going in a session of its own."""

import os
import shutil
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.errors import DamascusError
from damascus.store.embedded.access import ADMIN, NAME, Access, sync
from damascus.store.embedded.binaries import ServerAccount, ServerPrograms, running_as
from damascus.store.embedded.place import CURE, PATIENCE, PORT, DatabasePlace

# Ours whatever postgresql.conf says: nobody else connects, and nothing committed is lost.
HELD = {"listen_addresses": "", "port": PORT, "unix_socket_permissions": "0700", "fsync": "on"}
# Written to postgresql.conf once; yours to tune.
TUNABLE = {
    "shared_buffers": "128MB",
    "max_connections": "200",
    "idle_in_transaction_session_timeout": "60s",
    "jit": "off",
    "log_min_messages": "warning",
    "log_checkpoints": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
CLUSTER = [
    f"--username={ADMIN}",
    "--auth=reject",  # until it has passwords (access.py)
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--data-checksums",
]


@dataclass(frozen=True)
class Launch:
    """One start. Its caller has locked the file `alive`, which everything started here inherits."""

    place: DatabasePlace
    programs: ServerPrograms
    account: ServerAccount | None
    alive: int

    def create(self) -> None:
        """Built aside and renamed last: a `data` that is there is a whole cluster with our database in it."""
        aside = self.place.folder / "data.new"
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(mode=0o700)
        if self.account:
            os.chown(aside, self.account.uid, self.account.gid)
        where = self._path_of(aside)
        # The name is in the file as well, so that a server started by hand bears it.
        settings = {**TUNABLE, "cluster_name": self.place.mark}
        written = [f"--set={key}={value}" for key, value in settings.items()]
        self._build(aside, ["initdb", "-D", where, *CLUSTER, *written])
        self._build(aside, ["postgres", "--single", "-D", where, "template1"], f"CREATE DATABASE {NAME};\n")
        self.settle(aside)
        aside.rename(self.place.data)
        sync(self.place.folder)

    def settle(self, cluster: Path) -> None:
        """Roles and passwords, then the rule that asks for them. Killed in between, the next start does it again."""
        access = Access(self.place)
        single = [
            "postgres",
            "--single",
            "-j",
            "-D",
            self._path_of(cluster),
            "-c",
            "log_min_error_statement=panic",
            NAME,
        ]
        self._build(cluster, single, access.statement())
        access.write_rules(cluster, self.account)

    def spawn(self) -> subprocess.Popen[bytes]:
        log = os.open(self.place.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            process = subprocess.Popen(
                self._server_command(),
                cwd=self.place.data,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(self.alive,),
                **running_as(self.account),
            )
        finally:
            os.close(log)
        # Should it die before us it is reaped at once, and no zombie keeps its PID.
        threading.Thread(target=process.wait, name="postgres-reaper", daemon=True).start()
        return process

    def refuse_other_major(self) -> None:
        major = (self.place.data / "PG_VERSION").read_text().strip()
        if major != self.programs.version.split(".")[0]:
            raise DamascusError(
                f"{self.place.data} was made by PostgreSQL {major}, this Damascus brings {self.programs.version}. "
                "Dump it with the Damascus that made it and restore it into a new DAMASCUS_HOME (docs/operations.md)."
            )

    def _server_command(self) -> list[str]:
        place = self.place
        where = self._path_of(place.data)
        settings = {**HELD, "cluster_name": place.mark, "unix_socket_directories": place.sockets_for_server}
        settings |= {"hba_file": f"{where}/pg_hba.conf"}
        words = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        return [str(self.programs.folder / "postgres"), "-D", where, *words]

    def _build(self, aside: Path, command: list[str], text: str = "") -> None:
        done = subprocess.run(
            [str(self.programs.folder / command[0]), *command[1:]],
            input=text.encode(),
            cwd=aside,
            capture_output=True,
            pass_fds=(self.alive,),  # an initdb that outlives us keeps the next starter waiting
            timeout=PATIENCE,
            **running_as(self.account),
        )
        if done.returncode != 0 or b"ERROR:" in done.stderr:  # --single ends with 0 after a failed statement
            reason = " ".join(done.stderr.decode(errors="replace").split())[-500:]
            raise DamascusError(f"PostgreSQL could not set up its cluster in {self.place.data}: {reason}. {CURE}")

    def _path_of(self, folder: Path) -> str:
        """`folder` is its working folder; by this name root's chosen account needs no right on any parent."""
        return "/proc/self/cwd" if self.account and Path("/proc/self/cwd").exists() else str(folder)
