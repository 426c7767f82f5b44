"""`field`: a yard whose workers are processes that die. None of them outlives its test."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.crash.field import Field

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
