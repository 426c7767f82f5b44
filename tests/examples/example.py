"""A copy of an example in a folder of the test's own, and what its README tells one to type, with the real command."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TYPED = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LANDED = re.compile(r"^[\d:]{8}  (\S+)  done: on main as [0-9a-f]{7}, PR \d+$", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """Git and damascus have no other home than the test's folder."""

    folder: Path
    environ: dict[str, str]

    @classmethod
    def copied(cls, name: str, folder: Path, database_url: str) -> "Example":
        shutil.copytree(EXAMPLES / name, folder / "copied")
        people = {f"GIT_{who}_{what}": "ada@example.invalid" for who in ("AUTHOR", "COMMITTER") for what in PERSON}
        environ = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "DAMASCUS_HOME": str(folder / "home"),
            "DAMASCUS_DATABASE_URL": database_url,
            "DAMASCUS_LIMITS_LOAD_PER_CORE": "0",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        return cls(folder / "copied", environ | people)

    @property
    def readme(self) -> str:
        return (self.folder / "README.md").read_text(encoding="utf-8")

    def run(self, script: str, below: str = ".") -> str:
        done = subprocess.run(
            ["sh", "-eu", "-c", script], cwd=self.folder / below, env=self.environ, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    @property
    def landed_in_readme(self) -> list[str]:
        return LANDED.findall("".join(SHOWN.findall(self.readme)))

    @property
    def typed(self) -> list[str]:
        """Every block that a reader pastes."""
        blocks = TYPED.findall(self.readme)
        assert blocks, "the README shows no commands"
        return blocks

    def follow_readme(self) -> str:
        return self.run("\n".join(self.typed))

    def json(self, *words: str, below: str = ".") -> Any:
        return json.loads(self.run(f"damascus {' '.join(words)}", below))

    def json_lines(self, *words: str, below: str = ".") -> list[Any]:
        return [json.loads(line) for line in self.run(f"damascus {' '.join(words)}", below).splitlines()]


PERSON = ("NAME", "EMAIL")
