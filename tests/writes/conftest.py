"""One quick scanner for all tests of a module; a desk of each test's own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from damascus.scanning.scanner import Scanner
from tests.writes.desk import Desk


@pytest.fixture(scope="module")
def scanner() -> Iterator[Scanner]:
    made = Scanner.quick()
    yield made
    made.close()


@pytest.fixture
def desk(tmp_path: Path, scanner: Scanner) -> Iterator[Callable[..., Desk]]:
    made: list[Desk] = []

    def make(**how: Any) -> Desk:
        made.append(Desk.of(tmp_path, scanner, **how))
        return made[-1]

    yield make
    for each in made:
        each.pipeline.finish()
