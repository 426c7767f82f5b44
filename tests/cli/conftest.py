"""The command line in a project of the test's own: `cli("status")` runs the real command in this process."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from damascus.cli.main import main
from tests.yard import Yard, story

TABLES = ("projects", "repos", "work_items", "events_outbox", "human_issues", "journal", "active_scopes")


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The error as one line: how it was wrapped does not matter."""
        return " ".join(self.err.split())


Cli = Callable[..., Ran]


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Iterator[Yard]:
    made = Yard(tmp_path, database_url)
    yield made
    made.db.close()


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The command in the current folder and environment."""
    monkeypatch.setenv("COLUMNS", "110")

    def run(*words: str) -> Ran:
        capsys.readouterr()
        code = main(list(words))
        told = capsys.readouterr()
        return Ran(code, told.out, told.err)

    return run


@pytest.fixture
def cli(yard: Yard, command: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command inside the yard's repository."""
    for name, value in yard.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(yard.repo)
    return command


def spec_file(yard: Yard, name: str, **parts: Any) -> str:
    """A spec beside the code, untracked; its path as a person would write it."""
    yard.write({f"specs/{name}.md": story(name, **parts)})
    return f"specs/{name}.md"


def everything(yard: Yard) -> dict[str, int]:
    """How many rows there are: a command that was refused changes none of these."""
    return {table: yard.query(f"SELECT count(*) AS n FROM {table}")[0]["n"] for table in TABLES}
