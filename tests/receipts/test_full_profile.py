"""Where critics look too: a test left for later is no weakening, a requirement without a test goes to a person."""

from dataclasses import replace
from pathlib import Path

import pytest

from damascus.domain.spec import Requirement
from damascus.gates.requirements import Requirements
from damascus.gates.weakened_tests import WeakenedTests
from tests.gates.judging import CODE, TEST, Judging, verdicts

OLD = "import pytest\nfrom src import add\n\n\ndef test_b():\n    assert add(1, 1) == 2\n"


@pytest.mark.req("F7.1")
@pytest.mark.parametrize(
    ("mark", "full", "refused"),
    [
        ('@pytest.mark.xfail(reason="@EXT: later")', True, []),
        ('@pytest.mark.xfail(reason="@FUTURE")', True, []),
        ('@pytest.mark.xfail(reason="@EXT: later")', False, ["tests_weakened"]),
        ("@pytest.mark.xfail", True, ["tests_weakened"]),
        ('@pytest.mark.skip(reason="@EXT")', True, ["tests_weakened"]),
    ],
)
def test_an_xfail_tagged_for_later_is_no_weakening_in_full(
    tmp_path: Path, mark: str, full: bool, refused: list[str]
) -> None:
    judging = Judging.of(tmp_path, {**CODE, "tests/test_b.py": OLD})
    found = judging.candidate({"tests/test_b.py": OLD.replace("def test_b", f"{mark}\ndef test_b")})
    assert verdicts(WeakenedTests().check(replace(found, full=full))) == refused


@pytest.mark.req("F8.2")
@pytest.mark.parametrize(("full", "refused"), [(True, []), (False, ["requirement_untested"])])
def test_a_requirement_without_a_test_is_not_sent_back_in_full(tmp_path: Path, full: bool, refused: list[str]) -> None:
    judging = Judging.of(tmp_path)
    found = judging.candidate({**CODE, **TEST})
    needs = (Requirement("REQ-001", "a need"), Requirement("REQ-002", "another"))
    asked = replace(found, spec=replace(found.spec, requirements=needs), full=full)
    result = Requirements(judging.runner, judging.mirror).check(replace(asked, red=judging.red(asked)))
    assert verdicts(result) == refused
    assert list(result.tests_of) == ["REQ-001"] and result.unmapped == {}
