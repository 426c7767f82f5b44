"""Every trick of code that shares a process with its runner: the other gates let it through, gate canary does not."""

from dataclasses import replace
from pathlib import Path

import pytest

from damascus.domain.ports import Candidate
from damascus.domain.spec import Requirement
from damascus.gates.canary import Canary
from damascus.gates.requirements import Requirements
from damascus.gates.tests import Tests
from damascus.lab.lies.runner_tricks import TRICKS, Trick
from tests.gates.judging import PYTEST, UNITTEST, Judging, verdicts

BASE = {"README.md": "x\n", "tests/test_old.py": "import unittest\n\n\nclass TestOld(unittest.TestCase):\n"
        "    def test_old(self):\n        self.assertEqual(len('a'), 1)\n"}  # fmt: skip


def candidate_of(judging: Judging, trick: Trick) -> Candidate:
    command = UNITTEST.replace("discover -s tests", "tests/test_m.py") if trick.unittest else f"{PYTEST}/test_m.py"
    suite = f"[test]\ncommand = {PYTEST!r}\n".replace("'", '"') if trick.suite else ""
    needs = (Requirement("REQ-001", "a value"),)
    found = judging.candidate(trick.files, command=command, config=suite, scope=("m.py", "tests/"), requirements=needs)
    return replace(found, red=judging.red(found))


@pytest.mark.req("D6", "D7")
@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.name)
def test_only_the_canary_finds_it(trick: Trick, tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, BASE)
    candidate = candidate_of(judging, trick)

    assert candidate.red is not None and candidate.red.findings == []
    assert bool(Tests(judging.runner).check(candidate).findings) == (trick.unreported or trick.told)
    assert bool(Requirements(judging.runner, judging.mirror).check(candidate).findings) == trick.told
    result = Canary(judging.runner, judging.mirror).check(candidate)
    assert verdicts(result) == ["runner_compromised"], result
