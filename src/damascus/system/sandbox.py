"""What a confined command may touch, and how that is enforced here: bubblewrap, Landlock, or plainly not at all.

    Cage(detect(), write=(workspace, home)).enclose(argv, cwd, env)     what the keeper is asked to start

A cage shows the system's programs and the toolchain, read-only; everything else is named, or not there. What works
here is found by trying it in earnest, once per process; there is no variable that says so.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path

from damascus.domain.errors import DamascusError, UsageError
from damascus.system import bubblewrap, exposure, landlock, seats, seccomp
from damascus.system.exposure import Show, Table
from damascus.system.scratch import scratch_folder
from damascus.system.seats import NOWHERE, Seat, Seats
from damascus.system.toolchains import toolchain

PROBE = ["/bin/sh", "-c", "exit 7"]
PROBED = 7
PROBE_LIMIT = 20.0
PACKAGE = str(Path(__file__).resolve().parents[2])
LANDLOCK_PROBE = f"""
import json, sys
sys.path.append({PACKAGE!r})
from damascus.system.landlock import restrict
restrict(json.loads(sys.argv[1]))
try:
    open(sys.argv[2])
except PermissionError:
    sys.exit({PROBED})
"""


class Level(StrEnum):
    """How a command is confined; shown in status and receipt as it is."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    UNCONFINED = "unconfined"


@dataclass(frozen=True)
class Cage:
    """One command's bounds. The system and the toolchain are readable; everything else is named here.

    `write`: folders it may write (its workspace, its HOME, its TMPDIR). `read`: what it may read beside. `gateway`: the
    Unix socket that leads to the model gateway, its only way out; None: no network but a loopback of its own.
    `port`: where that gateway is reached on loopback from inside (bubblewrap) or outside (Landlock).
    `network`: the machine's own network, for set-up commands that install packages.
    `form`: which bubblewrap; None: the one that was found to work. `seats`: which of these folders are seen elsewhere
    than they lie (`seats_at`).
    """

    level: Level
    write: tuple[Path, ...]
    read: tuple[Path, ...] = ()
    gateway: Path | None = None
    port: int | None = None
    network: bool = False
    form: bubblewrap.Form | None = None
    seats: Seats = NOWHERE

    def __post_init__(self) -> None:
        for path in self.read:
            if exposure.too_much(str(path)):
                raise UsageError(f"{path} can't be made readable as a whole. Name the folders in it that are needed.")

    def enclose(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> dict[str, object]:
        """The keeper's request: argv, env, and `landlock` rules where that is the level."""
        match self.level:
            case Level.BUBBLEWRAP:
                form = self.form or found().form
                if form is None:
                    raise DamascusError("bubblewrap does not work here. See what does: damascus doctor")
                shown, sources = exposure.seated(self.shown(), self.seats)
                inside = self.seats.inside(cwd)
                words, outer = bubblewrap.enclosed(
                    form, shown, argv, inside, env, network=self.network, sources=sources
                )
                return {"argv": words, "env": outer, "inside": True}
            case Level.LANDLOCK:
                return {"argv": [*argv], "env": dict(env), "landlock": self.rules()}
            case Level.UNCONFINED:
                return {"argv": [*argv], "env": dict(env)}

    def shown(self) -> Table:
        """Every path that there is for the command."""
        writable = (*self.write, self.gateway) if self.gateway else self.write
        standing = exposure.system() | dict(toolchain())
        return exposure.table(standing, map(str, self.read), map(str, writable))

    def rules(self) -> dict[str, object]:
        shown = self.shown()
        write = [path for path, show in shown.items() if show is Show.WRITE]
        read = _allowed(tuple((path, show) for path, show in shown.items() if show is not Show.WRITE))
        ports = None if self.network else [self.port] if self.port else []
        return landlock.rules([*read, "/proc"], write, ports)


def seats_at(level: Level, checkout: Path, home: Path | None = None, temporary: Path | None = None) -> Seats:
    """Where a command of this level sees its checkout, the HOME of set-up and its TMPDIR: at constant paths, if mounts
    can do it."""
    if level is not Level.BUBBLEWRAP:
        return NOWHERE
    others = ((home, seats.HOME), (temporary, seats.TEMPORARY))
    return Seats((Seat(checkout, seats.CHECKOUT), *(Seat(folder, seen) for folder, seen in others if folder)))


@lru_cache(maxsize=64)
def _allowed(shown: tuple[tuple[str, Show], ...]) -> tuple[str, ...]:
    paths = dict(shown)
    return tuple(part for path, show in shown if show is Show.READ for part in _without_hidden(path, paths))


def _without_hidden(path: str, shown: Table) -> Iterator[str]:
    """Landlock allows whole folders: one with something hidden in it is allowed by its parts. Links need no leave."""
    if not any(show is Show.HIDE and exposure.within(each, path) for each, show in shown.items()):
        yield path
    elif os.path.isdir(path) and shown.get(path) is not Show.HIDE:
        for entry in os.scandir(path):
            if not entry.is_symlink() and shown.get(entry.path) is not Show.HIDE:
                yield from _without_hidden(entry.path, shown)


# ── what works here ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class FoundSandbox:
    """The best level that works, the bubblewrap of it, and why each better one does not."""

    level: Level
    form: bubblewrap.Form | None = None
    refusals: tuple[str, ...] = ()


def detect() -> Level:
    """The best level that works here."""
    return found().level


@cache
def found() -> FoundSandbox:
    if sys.platform != "linux":
        return FoundSandbox(Level.UNCONFINED, refusals=(f"{sys.platform} has neither bubblewrap nor Landlock",))
    if not seccomp.known():
        return FoundSandbox(
            Level.UNCONFINED, refusals=(f"there is no filter of system calls for {os.uname().machine}",)
        )
    form, refusals = working_form()
    if form is not None:
        return FoundSandbox(Level.BUBBLEWRAP, form, refusals)
    if not (refusal := refused_by_landlock()):
        return FoundSandbox(Level.LANDLOCK, refusals=refusals)
    return FoundSandbox(Level.UNCONFINED, refusals=(*refusals, f"Landlock: {refusal}"))


def working_form() -> tuple[bubblewrap.Form | None, tuple[str, ...]]:
    """The first bubblewrap that runs a command in a real cage, and what those before it said."""
    refusals: list[str] = []
    for form in bubblewrap.forms():
        if not (refusal := refused_by(form)):
            return form, tuple(refusals)
        refusals.append(f"{form.program}: {refusal}")
    return None, tuple(refusals) or ("bubblewrap is not installed",)


def refused_by(form: bubblewrap.Form) -> str:
    """Why this bubblewrap can't confine; "" when it can."""
    with tempfile.TemporaryDirectory(prefix="damascus-sandbox-", dir=scratch_folder()) as folder:
        request = Cage(Level.BUBBLEWRAP, write=(Path(folder),), form=form).enclose(PROBE, Path(folder), {})
        assert isinstance(request["argv"], list)
        argv, given = seccomp.bubblewrap_with(request["argv"])
        try:
            return _tried(argv, given)
        finally:
            for fd in given:
                os.close(fd)


@cache
def refused_by_landlock() -> str:
    """Why Landlock can't confine; "" when the kernel says yes and a file that was not named can't be opened."""
    with tempfile.TemporaryDirectory(prefix="damascus-sandbox-", dir=scratch_folder()) as folder:
        inside, outside = Path(folder, "inside"), Path(folder, "outside")
        inside.mkdir()
        outside.touch()
        rules = json.dumps(Cage(Level.LANDLOCK, write=(inside,), read=(Path(PACKAGE),)).rules())
        return _tried([sys.executable, "-I", "-S", "-c", LANDLOCK_PROBE, rules, str(outside)])


def _tried(argv: list[str], given: Sequence[int] = ()) -> str:
    try:
        done = subprocess.run(
            argv,
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_LIMIT,
            pass_fds=given,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired) as err:
        return str(err)
    if done.returncode == PROBED:
        return ""
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return said[-1] if said else f"exit {done.returncode}"
