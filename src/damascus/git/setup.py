"""`[workspace]`: what the project wants in every checkout before an agent or a test runs there.

`setup` runs once per state of what it may read of the base, in a template checkout of its own; what it made is copied
into each new checkout, so that nobody can change it for another. `copy` brings untracked files of the user's folder.
Both come from main, never from a candidate.

What it made may name the place where it was made. In the sandbox every checkout is at one path (system/seats.py), so
that place is the checkout. Where no mount can do that, and something names it, set-up runs in each checkout.

The command is confined in files (packages bring scripts of their own), with a HOME that stays beside what it made, and
has the network: installing packages is what it is for. Its agent's network is another matter.
"""

import fcntl
import hashlib
import os
import shlex
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from damascus.domain.config import Config
from damascus.domain.errors import DamascusError, RootNeeded, SetupFailed, Stopping
from damascus.domain.ids import Sha
from damascus.git.in_place import set_up_in
from damascus.git.made import (
    LaidBySetup,
    MadeBySetup,
    content_of,
    entries,
    first_reference,
    is_as_laid,
    keep_only,
    made_in,
)
from damascus.git.mirror import Mirror
from damascus.git.own_products import own_products, refusal
from damascus.git.root_asked import RootAsked
from damascus.git.workspaces import delete
from damascus.stacks.others import footprints, toolchains
from damascus.stacks.own_code import Sources
from damascus.system import process, seats
from damascus.system.sandbox import Cage, Level, detect, seats_at
from damascus.system.toolchains import compilers

LAYOUT = "2"
"""Of a template's folder; an older one is never taken for a newer."""
MAKEFILES = frozenset({"Makefile", "makefile", "GNUmakefile", "justfile", "Taskfile.yml"})
MAKERS = frozenset({"make", "gmake", "just", "task"})
KEEP = ("PATH", "LANG", "SSL_CERT_FILE", *(name for each in toolchains() for name in each.registries))
REMEMBERED = 1000


class WorkspaceSetup:
    """Lays what [workspace] names into a checkout."""

    def __init__(
        self,
        mirror: Mirror,
        folder: Path,
        user_top: Path,
        stopping: Callable[[], bool],
        *,
        sandbox: Level | None = None,
        may_lack: bool = False,
    ) -> None:
        """`user_top` is where `copy` finds its files; `may_lack`: a host without the user's folder may have none."""
        self.sandbox = sandbox
        self.may_lack = may_lack
        self.mirror = mirror
        self.folder = folder
        self.user_top = user_top
        self.stopping = stopping
        self._homes: OrderedDict[Path, Path] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def level(self) -> Level:
        return self.sandbox or detect()

    @property
    def _seated(self) -> bool:
        """Is every checkout at one path for whoever runs in it?"""
        return bool(seats_at(self.level, self.folder).each)

    def prepare(self, checkout: Path, base: Sha, config: Config) -> None:
        if config.workspace.setup:
            self._set_up(checkout, base, config)
        for name in config.workspace.copy_files:
            self._copy_file(name, checkout)

    def as_laid(self, checkout: Path, base: Sha, config: Config) -> Callable[[str], bool]:
        """Which paths in a checkout are as set-up or `copy` put them there: these are no story's work."""
        made = MadeBySetup.read(self.folder / self._key(base, config)) if config.workspace.setup else None

        def unchanged(path: str) -> bool:
            if made is not None and is_as_laid(made.folder / path, checkout / path):
                return True
            return path in config.workspace.copy_files and is_as_laid(self.user_top / path, checkout / path)

        return unchanged

    def laid(self, base: Sha, config: Config) -> LaidBySetup | None:
        """What a checkout of this base gets. None where no hash can say it: set-up runs in each checkout."""
        copied = {name: self.user_top / name for name in config.workspace.copy_files}
        contents = {name: source.read_bytes() for name, source in copied.items() if source.is_file()}
        if not config.workspace.setup:
            return LaidBySetup("", contents)
        made = self._made(base, config)
        return (
            None
            if made.refers or not made.content
            else LaidBySetup(f"{self._key(base, config)} {made.content}", contents)
        )

    def home_of(self, checkout: Path) -> Path | None:
        """HOME of the set-up that this checkout was prepared by: what was fetched lies there."""
        with self._lock:
            return self._homes.get(checkout)

    def _set_up(self, checkout: Path, base: Sha, config: Config) -> None:
        made = self._made(base, config)
        if made.refers:
            place = SetupPlace(checkout, made.home, made.home.with_name("setup-again.log"))
            set_up_in(checkout, lambda folder: self.mirror.checkout(base, folder), lambda _: self._run(place, config))
        else:
            made.lay(checkout)
        with self._lock:
            self._homes[checkout] = made.home
            while len(self._homes) > REMEMBERED:
                self._homes.popitem(last=False)

    def _copy_file(self, name: str, checkout: Path) -> None:
        source, target = self.user_top / name, checkout / name
        if self.may_lack and not source.exists():
            return
        if ".." in Path(name).parts or name.startswith("/") or not source.is_file():
            raise DamascusError(
                f"[workspace] copy names {name}, no file of {self.user_top}. Create it or correct damascus.toml."
            )
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)

    # ── the template ──────────────────────────────────────────────────────────────────────────────────

    def _made(self, base: Sha, config: Config) -> MadeBySetup:
        place = self.folder / self._key(base, config)
        if (made := MadeBySetup.read(place)) is not None:
            return made
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.mirror.lock_file("setup"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return MadeBySetup.read(place) or self._build(place, base, config)

    def _key(self, base: Sha, config: Config) -> str:
        """The command, what it may read of the base, and where it sees itself."""
        seen = seats.CHECKOUT if self._seated else str(self.folder)
        state = hashlib.sha256("\0".join((LAYOUT, seen, config.workspace.setup)).encode())
        files = self.mirror.listing(base).files
        for path in read_by(config.workspace.setup, files):
            state.update(f"{path}\0{files[path].mode} {files[path].sha}\0".encode(errors="surrogateescape"))
        return state.hexdigest()[:24]

    def _build(self, place: Path, base: Sha, config: Config) -> MadeBySetup:
        if place.exists():
            delete(place)
        tree, home = place / "tree", place / "home"
        for folder in (tree, home):
            folder.mkdir(parents=True)
        self.mirror.checkout(base, tree)
        before = entries(tree)
        self._run(SetupPlace(tree, home, place / "setup.log"), config)
        roots = made_in(tree, before)
        self._refuse_own(tree, roots, home, base, config)
        refers = "" if self._seated else first_reference(tree, roots)
        keep_only(tree, roots)
        made = MadeBySetup(place / "made", home, roots, refers, content_of(tree, roots))
        tree.rename(made.folder)
        made.record(place)
        return made

    def _refuse_own(self, tree: Path, roots: Collection[str], home: Path, base: Sha, config: Config) -> None:
        files = self.mirror.listing(base).files

        def read(path: str) -> bytes:
            found = self.mirror.objects.find([files[path].sha])[0]
            return found.data if found is not None else b""

        sources = Sources(tree, files, seats_at(self.level, tree).inside(tree), read)
        for found in own_products(sources, roots, home):
            raise DamascusError(refusal(found, config.workspace.setup))

    def _run(self, place: "SetupPlace", config: Config) -> None:
        given = {key: os.environ[key] for key in (*KEEP, *config.workspace.env) if key in os.environ}
        here = seats_at(self.level, place.checkout, place.home)
        temporary = place.home.with_name("tmp")
        temporary.mkdir(exist_ok=True)
        own = {"HOME": here.inside(place.home), "TMPDIR": str(temporary)}
        root = RootAsked(temporary)
        done = process.run(
            process.shell(config.workspace.setup),
            cwd=place.checkout,
            env=root.lay(compilers() | given | own),
            log=place.log,
            timeout=config.workspace.setup_timeout_seconds,
            stopping=self.stopping,
            cage=Cage(self.level, write=(place.checkout, place.home, temporary), network=True, seats=here),
        )
        if done.stopped:
            raise Stopping
        if done.exit_code != 0 and root.refused():
            raise RootNeeded(
                f"the set-up command of [workspace] needs root rights, which nobody has here: "
                f"{config.workspace.setup!r} called sudo and was refused. See {place.log}; install what it wants on "
                "this machine, take sudo out of it on main, and retry.",
                str(place.log),
            )
        if done.exit_code != 0:
            raise SetupFailed(
                f"the set-up command of [workspace] failed (exit {done.exit_code}): {config.workspace.setup!r}. "
                f"See {place.log}; correct it on main and retry.",
                str(place.log),
            )


@dataclass(frozen=True)
class SetupPlace:
    """Where set-up runs, its HOME and its log."""

    checkout: Path
    home: Path
    log: Path


def read_by(command: str, files: Iterable[str]) -> list[str]:
    """What a set-up command is taken to read: lists of packages anywhere, and whatever its own words name."""
    try:
        words = {word.removeprefix("./") for word in shlex.split(command)}
    except ValueError:
        words = set(command.split())
    names = MAKEFILES if words & MAKERS else frozenset()
    return sorted(path for path in files if path in words or path in names or lists_packages(path))


def lists_packages(name: str) -> bool:
    """A lock file or a manifest of any stack: what says on which packages the code depends."""
    path = PurePosixPath(name)
    return any(
        path.name in each.lock_files or any(path.match(pattern) for pattern in each.lock_patterns)
        for each in footprints()
    )
