"""What tests of single agents share: the real Claude Code in a workspace of its own."""

from pathlib import Path

import pytest

from tests.claude_code import Bench


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The self-test of Claude Code is made once, for all tests."""
    return tmp_path_factory.mktemp("claude-state")


@pytest.fixture
def bench(tmp_path: Path, state: Path) -> Bench:
    return Bench(tmp_path, state)
