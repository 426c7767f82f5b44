"""Gitea's programs as `make forge` builds them, and whom they run as.

Gitea refuses root, and a runner in host mode runs whatever a workflow says. So where we are root each gets a number of
its own that no account of the machine has: neither can touch PostgreSQL's files, and a job can't touch Gitea's.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from damascus.domain.errors import DamascusError

VERSION = "1.26.4"  # tools/forge/go.mod
OLDER = "1.25.5"  # tools/forge-1.25/go.mod, for the contract suite
STATE_FOLDER = Path("/var/lib/damascus")
NUMBERS = range(61184, 65520, 2)  # what systemd, too, takes for services without an account


@dataclass(frozen=True)
class Programs:
    """One version of Gitea and the runner that serves every version."""

    gitea: Path
    runner: Path
    static: Path
    version: str

    @property
    def whole(self) -> bool:
        return os.access(self.gitea, os.X_OK) and os.access(self.runner, os.X_OK) and self.static.is_dir()


def cache_folder(environ: Mapping[str, str]) -> Path:
    if named := environ.get("DAMASCUS_FORGE_DIR"):
        return Path(named)
    cache = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or Path.home()) / ".cache"
    return Path(cache) / "damascus" / "forge"


def find_programs(environ: Mapping[str, str], version: str = VERSION) -> Programs:
    cache = cache_folder(environ)
    place = cache / version
    found = Programs(place / "gitea", cache / VERSION / "runner", place / "static", version)
    if found.whole:
        return found
    command = "make forge" if version == VERSION else "make forge forge-older"
    go = "" if shutil.which("go", path=environ.get("PATH")) else ", which needs Go 1.26 (not found) and gcc"
    raise DamascusError(f"Gitea {version} is not built. In a clone of Damascus: {command}{go} (docs/forges.md).")


# ── whom they run as ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Account:
    """Two numbers where we are root; ourselves, both None, where we are not."""

    server: int | None = None
    runner: int | None = None


def account_of(folder: Path) -> Account:
    """The same for a folder whenever it is asked."""
    if os.geteuid() != 0:
        return Account()
    digest = int.from_bytes(hashlib.sha256(os.fsencode(folder)).digest()[:8])
    number = NUMBERS[digest % len(NUMBERS)]
    return Account(number, number + 1)


def as_user(number: int | None) -> dict[str, Any]:
    """Arguments of subprocess."""
    dropped = {"user": number, "group": number, "extra_groups": []} if number is not None else {}
    return {"umask": 0o077, "start_new_session": True, "stdin": subprocess.DEVNULL, **dropped}


def give(folder: Path, number: int | None) -> Path:
    """A private folder that belongs to `number`."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if number is not None:
        os.chown(folder, number, number)
    return folder


def can_enter(folder: Path, number: int | None) -> bool:
    asked = subprocess.run(["test", "-x", str(folder)], cwd="/", **as_user(number))
    return asked.returncode == 0


def reachable_folder(wanted: Path) -> Path:
    """`wanted`, which is made; another below /var/lib/damascus where root's is closed to the server's number."""
    wanted.mkdir(parents=True, exist_ok=True)
    wanted.chmod(0o711 if os.geteuid() == 0 else 0o700)
    if can_enter(wanted, account_of(wanted).server):
        return wanted
    name = hashlib.sha256(os.fsencode(wanted)).hexdigest()[:16]
    _make_state_folder()
    return STATE_FOLDER / f"forge-{name}"


def reachable_programs(programs: Programs, account: Account) -> Programs:
    """The programs; a copy of them where they lie in a folder that is closed to the account."""
    if can_enter(programs.gitea, account.server) and can_enter(programs.runner, account.runner):
        return programs
    name = f"gitea-{programs.version}-{programs.gitea.stat().st_mtime_ns:x}"
    place = copied({"gitea": programs.gitea, "runner": programs.runner, "static": programs.static}, name)
    return replace(programs, gitea=place / "gitea", runner=place / "runner", static=place / "static")


def copied(parts: Mapping[str, Path], name: str) -> Path:
    """A folder that every account may read, made once, whole or not there at all.

    By hard links where that is possible: they cost nothing.
    """
    place = STATE_FOLDER / name
    if place.is_dir():
        return place
    _make_state_folder()
    with tempfile.TemporaryDirectory(dir=STATE_FOLDER, prefix=".copy-") as aside:
        made = Path(aside) / "made"
        made.mkdir()
        for part, source in parts.items():
            if source.is_dir():
                shutil.copytree(source, made / part, copy_function=_linked)
            else:
                _linked(source, made / part)
        made.chmod(0o755)
        with suppress(OSError):  # somebody else was first: theirs is as good
            made.rename(place)
    return place


def _make_state_folder() -> None:
    """Open to pass, whatever the umask; one that is there keeps its mode."""
    with suppress(FileExistsError):
        STATE_FOLDER.mkdir(parents=True)
        STATE_FOLDER.chmod(0o711)


def _linked(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
