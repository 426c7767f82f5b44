"""What the tests of processes share."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.steps import Steps


@pytest.fixture
def steps(tmp_path: Path) -> Steps:
    return Steps(tmp_path)


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """Somebody else's process, in a session of its own."""
    with subprocess.Popen(["sleep", "300"], start_new_session=True) as popen:
        yield popen
        popen.kill()
