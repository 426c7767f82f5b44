"""What scenarios share: a program that was proved once, and one LiteLLM for all of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from damascus.agents.claude.self_test import untrusted
from tests.claude_code import claude_program
from tests.scenarios.one_gateway import OneGateway, one_gateway

collect_ignore = ["stacks"]
"""Projects that are built by a test, with tests of their own."""


@pytest.fixture(scope="session")
def proof(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The self-test of Claude Code, made once."""
    folder = tmp_path_factory.mktemp("proved")
    assert untrusted(claude_program(), folder) == ""
    return folder


@pytest.fixture(scope="session")
def gateway() -> Iterator[OneGateway]:
    """The real LiteLLM, started as a user starts it."""
    with one_gateway() as found:
        yield found
