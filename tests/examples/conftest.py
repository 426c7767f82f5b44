"""`example`: a copy of the folder of examples/ that the test names."""

from pathlib import Path

import pytest

from tests.examples.example import Example


@pytest.fixture
def example(request: pytest.FixtureRequest, tmp_path: Path, database_url: str) -> Example:
    return Example.copied(request.param, tmp_path, database_url)
