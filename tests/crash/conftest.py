"""`field`: a yard whose workers are processes that die. None of them outlives its test."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.field import Field
from tests.crash.worker_process import Act
from tests.databases import fresh_database

Fields = Callable[..., Field]


@pytest.fixture
def fields(tmp_path: Path, database_url: str) -> Iterator[Fields]:
    made: list[Field] = []

    def make(**how: Any) -> Field:
        made.append(Field(tmp_path / f"field-{len(made)}", database_url, **how))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def field(fields: Fields) -> Field:
    return fields()


@pytest.fixture(scope="session")
def calls_in_steps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """How many Python calls each step takes, counted once in a worker that nobody kills."""
    return counted(tmp_path_factory.mktemp("count"), "count")


@pytest.fixture(scope="session")
def calls_of_a_story(tmp_path_factory: pytest.TempPathFactory) -> int:
    return counted(tmp_path_factory.mktemp("count"), "count all")["*"]


def counted(folder: Path, what: str) -> dict[str, int]:
    with fresh_database() as url:
        field = Field(folder / "field", url)
        field.add("S-1", rough=what == "count")
        told = field.start(Act(what))
        assert told.end() == 0, told.told()
        field.close()
    return {step: int(calls) for step, calls in (line.split() for line in told.moments("calls"))}
