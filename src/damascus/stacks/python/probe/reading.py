"""What the probe told: which tests called which functions and ran which lines, and the types that were given back."""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from damascus.stacks.left_files import READ_LIMIT, entries, plain_file

PROBE = Path(__file__).with_name("sitecustomize.py")


@dataclass
class ProbeReport:
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

    seen: ProbeReport = field(default_factory=ProbeReport)

    def begin(self, folder: Path, root: str, env: Mapping[str, str]) -> Mapping[str, str]:
        """The probe goes to the front of PYTHONPATH; what it tells comes to `seen` beside it."""
        (folder / "seen").mkdir(parents=True)
        shutil.copyfile(PROBE, folder / "sitecustomize.py")
        (folder / "root").write_text(root)
        paths = [str(folder), env.get("PYTHONPATH", "")]
        return {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}

    def end(self, folder: Path) -> None:
        self.seen = read(folder)

    def ran(self, _: Callable[[str], bytes | None]) -> Mapping[str, Mapping[int, set[str]]]:
        return self.seen.lines

    @property
    def blind(self) -> bool:
        """Another tracer may have come after ours (`pytest --cov` below Python 3.12)."""
        return not self.seen.lines

    @property
    def why_not(self) -> str:
        return "" if self.seen.processes else "no Python that the command starts lets itself be looked at"


def read(folder: Path) -> ProbeReport:
    """The code under test can write there too: plain files only, capped, and junk is skipped."""
    seen, left = ProbeReport(), READ_LIMIT
    for entry in entries(folder / "seen"):
        data = plain_file(folder / "seen" / entry, left)
        left -= len(data)
        if data.startswith(b"P\n"):
            seen.processes += 1
            _add(seen, data.decode("utf-8", errors="replace"))
    return seen


def _add(seen: ProbeReport, text: str) -> None:
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
