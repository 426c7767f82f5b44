"""A yard, its window served, a browser that has entered it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from damascus.web.server import Serving
from tests.web.browser_like import Visitor, served
from tests.yard import Yard


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Iterator[Yard]:
    made = Yard(tmp_path, database_url)
    yield made
    made.db.close()


@pytest.fixture
def serving(yard: Yard) -> Iterator[Serving]:
    with served(yard) as found:
        yield found


@pytest.fixture
def visitor(serving: Serving) -> Visitor:
    return Visitor(serving).enter()
