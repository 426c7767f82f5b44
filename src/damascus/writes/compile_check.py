"""The compile check right after a write (A12). Python is compiled in the scanner's process; other compilers run caged.

A compiler may run what an agent wrote (a build script, a plugin, the project's own `tsc`), so it sees the workspace
read-only and writes into a cache of ours alone.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from damascus.domain.storable import clean
from damascus.scanning.scanner import ScanFailed, Scanner
from damascus.stacks import parsed_here
from damascus.stacks.compiling import CompileCheck, check_of
from damascus.system import process
from damascus.system.sandbox import Cage, Level, seats_at
from damascus.system.seats import Seats
from damascus.system.toolchains import fetched, fetched_packages, homes, variables
from damascus.writes.log import Compiled

SOURCE_LIMIT = 1_000_000
TEXT_LIMIT = 4_000
TIME_LIMIT = 60.0


def toolchain_environment() -> dict[str, str]:
    """HOME being a folder of ours, compilers are told where they and their packages lie."""
    known = {name: os.environ[name] for name in ("PATH", *variables()) if name in os.environ}
    packages = {each.variable: os.path.expanduser(f"~/{each.below_home}") for each in fetched_packages()}
    return homes() | {name: folder for name, folder in packages.items() if os.path.isdir(folder)} | known


@dataclass(frozen=True)
class Compiler:
    """`cache` is a folder of this workspace's own; `env` the toolchain's part of the environment."""

    workspace: Path
    scanner: Scanner
    cache: Path
    level: Level = Level.UNCONFINED
    env: Mapping[str, str] = field(default_factory=toolchain_environment)
    readable: tuple[Path, ...] = ()
    setup_home: Path | None = None
    time_limit: float = TIME_LIMIT

    def check(self, path: str, content: bytes) -> Compiled | None:
        """None for a file that no compiler reads."""
        if parsed_here(path):
            return self._python(path, content)
        asked = check_of(path, lambda name: (self.workspace / name).is_file(), str(self.cache))
        if asked is None:
            return None
        if asked.missing:
            return Compiled(tool=asked.tool, ok=None, text=asked.missing)
        return self._run(asked)

    def _python(self, path: str, content: bytes) -> Compiled:
        if len(content) > SOURCE_LIMIT:
            return Compiled(tool="py_compile", ok=None, text=f"over {SOURCE_LIMIT // 1_000_000} MB")
        try:
            error = self.scanner.compile_error(path, content.decode("utf-8", errors="replace"))
        except ScanFailed as err:
            return Compiled(tool="py_compile", ok=None, text=str(err))
        return Compiled(tool="py_compile", ok=not error, text=error)

    def _run(self, asked: CompileCheck) -> Compiled:
        home, temporary = self.cache / "home", self.cache / "tmp"
        for folder in (home, temporary):
            folder.mkdir(parents=True, exist_ok=True)
        made = (self.setup_home,) if self.setup_home else ()
        seats = seats_at(self.level, self.workspace, self.setup_home)
        cage = Cage(self.level, write=(self.cache,), read=(self.workspace, *made, *self.readable), seats=seats)
        done = process.run(
            asked.argv,
            cwd=self.workspace / asked.folder,
            env={**self.env, **self._fetched(seats), **asked.environment, **self._own(home, temporary)},
            log=self.cache / "compile.log",
            timeout=self.time_limit,
            cage=cage,
        )
        seconds, text = round(done.seconds, 3), clean(done.tail, TEXT_LIMIT).strip()
        if done.timed_out:
            over = f"took over {self.time_limit:g} s"
            return Compiled(tool=asked.tool, ok=None, text=over, seconds=seconds)
        ok = done.exit_code == 0
        return Compiled(tool=asked.tool, ok=ok, text="" if ok else text, seconds=seconds)

    def _fetched(self, seats: Seats) -> dict[str, str]:
        found = fetched(self.setup_home) if self.setup_home else {}
        return {name: seats.inside(folder) for name, folder in found.items()}

    def _own(self, home: Path, temporary: Path) -> dict[str, str]:
        """Compilers write below HOME and beside the source; here only into the cache."""
        return {
            "HOME": str(home),
            "TMPDIR": str(temporary),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
        }
