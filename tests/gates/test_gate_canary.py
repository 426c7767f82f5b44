"""Gate canary: a failing test of ours among the story's is seen, or the candidate is refused."""

from pathlib import Path

import pytest

from damascus.domain.ports import Candidate, GateResult
from damascus.gates.canary import Canary
from tests.gates.judging import BASE, CODE, PYTEST, PYTHON, TEST, UNITTEST, Judging, verdicts

ONE_FILE = PYTEST.removesuffix("tests") + "tests/test_add.py"


def judged(judging: Judging, candidate: Candidate) -> GateResult:
    return Canary(judging.runner, judging.mirror).check(candidate)


def check(folder: Path, files: dict[str, str], command: str = PYTEST, base: dict[str, str] | None = None) -> GateResult:
    judging = Judging.of(folder, base)
    return judged(judging, judging.candidate(files, command=command))


@pytest.mark.req("D7")
@pytest.mark.parametrize("command", [PYTEST, ONE_FILE])
def test_honest_work_passes_with_nothing_unproved(tmp_path: Path, command: str) -> None:
    judging = Judging.of(tmp_path)
    result = judged(judging, judging.candidate(CODE | TEST, command=command))
    assert result.findings == [] and result.unverified == []
    assert len(judging.checkouts) == 3, "green, with tests of ours, with the story's own failing; no control"
