"""The same tests, called under pytest and by a plain program: code that does the same in both does not ask."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from damascus.domain.ports import TestRun
from damascus.stacks.left_files import plain_file

PROGRAMS = Path(__file__).parent / "setting"
STARTED = "import sys\n\nfrom pytest import console_main\n\nsys.exit(console_main())\n"
READ_LIMIT = 1_000_000


@dataclass
class OtherSetting:
    """ports.Probe, of tests by file and name. Where PYTHONPATH is lost, or the command starts no pytest, nothing is
    told; nor of a test that needs fixtures of the project's, or a plug-in."""

    tests: Sequence[tuple[str, str]]
    under_a_runner: dict[str, str] = field(default_factory=dict)
    by_itself: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def fits(green: TestRun) -> bool:
        """unittest can't be stood in for: tests are made of it."""
        return not any(call.runner == "unittest" for call in green.calls)

    def begin(self, folder: Path, root: str, env: Mapping[str, str]) -> Mapping[str, str]:
        stand_in = folder / "pytest"
        stand_in.mkdir(parents=True)
        shutil.copyfile(PROGRAMS / "stand_in.py", stand_in / "__init__.py")
        (stand_in / "__main__.py").write_text(STARTED)
        for name in ("calls.py", "main.py"):
            shutil.copyfile(PROGRAMS / name, folder / name)
        asked = {"root": root, "tests": list(self.tests), "pythonpath": env.get("PYTHONPATH", "")}
        (folder / "asked.json").write_text(json.dumps(asked))
        paths = [str(folder), env.get("PYTHONPATH", "")]
        return {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}

    def end(self, folder: Path) -> None:
        self.under_a_runner, self.by_itself = _read(folder / "with.json"), _read(folder / "without.json")

    @property
    def differing(self) -> list[str]:
        """Green under the runner, and an assertion that does not hold without it."""
        return [f"{path}::{name}" for path, name in self.tests
                if self.under_a_runner.get(f"{path}::{name}") == "passed"
                and self.by_itself.get(f"{path}::{name}") == "failed"]  # fmt: skip


def _read(path: Path) -> dict[str, str]:
    """The code under test can write there too."""
    try:
        told = json.loads(plain_file(path, READ_LIMIT))
    except ValueError:
        return {}
    return {str(name): str(word) for name, word in told.items()} if isinstance(told, dict) else {}
