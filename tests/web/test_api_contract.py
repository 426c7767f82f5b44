"""schemathesis over the whole API: whatever is sent, no answer is a server error, and every answer is as described."""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from damascus.domain.policy import RETRY_OPTIONS
from tests.cli import states
from tests.web.serving import token, window
from tests.yard import Yard, story

EXAMPLES = 25
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Iterator[Yard]:
    made = Yard(tmp_path, database_url)
    yield made
    made.db.close()


@pytest.mark.req("X9")
@pytest.mark.slow
@pytest.mark.skipif(find_spec("schemathesis") is None, reason="schemathesis is not there: make setup")
def test_no_request_is_a_server_error(yard: Yard, tmp_path: Path) -> None:
    yard.add(*(story(f"S-{n}") for n in range(3)))
    states.asks(yard, states.claim(yard)[0], "Which one holds?", *RETRY_OPTIONS)
    yard.environ["DAMASCUS_HOME"] = str(tmp_path / "home")
    with window(yard) as url:
        done = subprocess.run(
            [
                str(Path(sys.executable).parent / "schemathesis"), "run", f"{url}/api/v1/openapi.json",
                "-H", f"Authorization: Bearer {token(yard)}", "--checks", CHECKS, "--phases", "coverage,fuzzing",
                "--max-examples", str(EXAMPLES), "--generation-deterministic",
                "--max-failures", "3", "--no-color",
            ],
            cwd=tmp_path, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "NO_PROXY": "*"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:]
    assert "operations" in done.stdout.lower(), done.stdout[-2000:]
