"""Each folder of examples/ works: what its README tells one to type is typed, with the real command."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(folder.name for folder in EXAMPLES.iterdir() if folder.is_dir())
TYPED = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LANDED = re.compile(r"^[\d:]{8}  (\S+)  done: on main as [0-9a-f]{7}, PR \d+$", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """A copy of an example in a folder of the test's own, where git and damascus have no other home."""

    folder: Path
    environ: dict[str, str]

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

    def follow_readme(self) -> str:
        """Every block that a reader pastes, in one shell."""
        blocks = TYPED.findall(self.readme)
        assert blocks, "the README shows no commands"
        return self.run("\n".join(blocks))

    def json(self, *words: str, below: str = ".") -> Any:
        return json.loads(self.run(f"damascus {' '.join(words)}", below))

    def json_lines(self, *words: str, below: str = ".") -> list[Any]:
        return [json.loads(line) for line in self.run(f"damascus {' '.join(words)}", below).splitlines()]


@pytest.fixture
def example(request: pytest.FixtureRequest, tmp_path: Path, database_url: str) -> Example:
    folder = tmp_path / "copied"
    shutil.copytree(EXAMPLES / request.param, folder)
    environ = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "DAMASCUS_HOME": str(tmp_path / "home"),
        "DAMASCUS_DATABASE_URL": database_url,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "ada@example.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    return Example(folder, environ)


@pytest.mark.req("T1")
@pytest.mark.parametrize("example", ["command-agent"], indirect=True)
def test_command_agent_lands_and_its_outage_costs_no_try(example: Example) -> None:
    told = example.follow_readme()
    assert LANDED.findall(told) == ["GREET-1"] == example.landed_in_readme
    assert "provider is unavailable (exit 75) (not counted)" in told
    story = example.json("show", "GREET-1", "--json")
    assert (story["phase"], story["attempts"], story["claims"]) == ("done", 0, 2)
    assert f"in {len((example.folder / 'agent').read_text().splitlines())} lines" in example.readme


@pytest.mark.req("X1")
@pytest.mark.parametrize("example", ["acceptance"], indirect=True)
def test_acceptance_stops_the_first_try_and_names_only_the_requirement(example: Example) -> None:
    assert LANDED.findall(example.follow_readme()) == ["VAT-1"] == example.landed_in_readme
    story = example.json("show", "VAT-1", "--json", below="project")
    assert (story["phase"], story["attempts"]) == ("done", 1)
    events = example.json_lines("events", "VAT-1", "--json", below="project")
    [rejected] = [event["body"] for event in events if event["kind"] == "attempt.rejected"]
    assert rejected["verdict"] == "acceptance_failed"
    assert rejected["message"] in example.readme
    assert "rounds_up" not in json.dumps(story["steps"])


def test_every_example_is_run_by_a_test_here() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    assert NAMES and all(f'["{name}"], indirect=True' in here for name in NAMES)
