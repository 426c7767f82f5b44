"""What the probe told: which tests called which functions and ran which lines, and the types that were given back."""

import os
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PROBE = Path(__file__).with_name("sitecustomize.py")
READ_LIMIT = 50_000_000
FILES = 5_000


@dataclass
class Seen:
    """By file and line the tests that ran it; '' is whatever ran outside of any test, at import as a rule."""

    processes: int = 0
    calls: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    lines: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    types: dict[str, dict[int, set[str]]] = field(default_factory=dict)

    def callers(self, path: str, first_line: int) -> set[str]:
        """The tests that called the function that begins there."""
        return self.calls.get(path, {}).get(first_line, set())


@dataclass
class PythonProbe:
    """ports.Probe. Where PYTHONPATH is lost (`python -I`, a Makefile that sets its own) no process is seen."""

    seen: Seen = field(default_factory=Seen)

    def begin(self, folder: Path, root: str, env: Mapping[str, str]) -> Mapping[str, str]:
        """The probe goes to the front of PYTHONPATH; what it tells comes to `seen` beside it."""
        (folder / "seen").mkdir(parents=True)
        shutil.copyfile(PROBE, folder / "sitecustomize.py")
        (folder / "root").write_text(root)
        paths = [str(folder), env.get("PYTHONPATH", "")]
        return {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}

    def end(self, folder: Path) -> None:
        self.seen = read(folder)


def read(folder: Path) -> Seen:
    """The code under test can write there too: plain files only, capped, and junk is skipped."""
    seen, left = Seen(), READ_LIMIT
    for entry in sorted(os.listdir(folder / "seen"))[:FILES]:
        data = _plain_file(folder / "seen" / entry, left)
        left -= len(data)
        if data.startswith(b"P\n"):
            seen.processes += 1
            _add(seen, data.decode("utf-8", errors="replace"))
    return seen


def _plain_file(path: Path, limit: int) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    with open(fd, "rb") as file:
        return file.read(max(0, limit)) if stat.S_ISREG(os.fstat(fd).st_mode) else b""


def _add(seen: Seen, text: str) -> None:
    test = ""
    for line in text.split("\n"):
        match line.split("\t"):
            case ["T", name]:
                test = name
            case ["C", path, number] if number.isdecimal() and len(number) < 8:
                seen.calls.setdefault(path, {}).setdefault(int(number), set()).add(test)
            case ["L", path, number] if number.isdecimal() and len(number) < 8:
                seen.lines.setdefault(path, {}).setdefault(int(number), set()).add(test)
            case ["R", path, number, kind] if number.isdecimal() and len(number) < 8:
                seen.types.setdefault(path, {}).setdefault(int(number), set()).add(kind)
