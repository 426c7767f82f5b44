"""A landed story, made once; its notes are as they were before each test."""

from collections.abc import Iterator

import pytest

from tests import databases
from tests.cli.conftest import command
from tests.receipts.landed import Landed

__all__ = ["command"]


@pytest.fixture(scope="session")
def landed_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Landed]:
    with databases.fresh_database() as url:
        yield Landed(tmp_path_factory.mktemp("landed"), url)


@pytest.fixture
def landed(landed_once: Landed) -> Landed:
    landed_once.as_it_was()
    return landed_once
