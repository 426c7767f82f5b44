"""What was green on the base is green on the candidate, test by test, by the runner's report."""

from dataclasses import replace
from pathlib import Path

import pytest

from damascus.domain.verdict import Kind
from damascus.gates.tests import Tests
from tests.gates.judging import BASE, CODE, TEST, Judging, verdicts

PATH = "tests/test_old.py"
OLD = BASE[PATH]
UNSEEN_SKIP = OLD.replace("    assert", "    getattr(__import__('pytest'), 'sk' + 'ip')()\n    assert")
NOT_COLLECTED = "class TestOld:\n    def __init__(self): pass\n    def test_old(self):\n        assert len('a') == 1\n"


@pytest.mark.req("D7")
@pytest.mark.parametrize("new", [UNSEEN_SKIP, NOT_COLLECTED], ids=["skipped", "not collected"])
@pytest.mark.parametrize("kind", [Kind.FEATURE, Kind.REFACTOR])
def test_a_test_that_runs_no_more_is_named(tmp_path: Path, new: str, kind: Kind) -> None:
    judging = Judging.of(tmp_path)
    result = judging.tests(judging.candidate({**CODE, **TEST, PATH: new}, kind=kind))
    assert verdicts(result) == ["tests_weakened"]
    assert result.findings[0].tests == [f"{PATH}::test_old"]


@pytest.mark.parametrize(
    "files",
    [
        {PATH: OLD + "\n\ndef test_more():\n    assert len('ab') == 2\n"},
        {PATH: OLD.replace("test_old", "test_renamed")},
        {PATH: None, "tests/unit/test_moved.py": OLD},
        {PATH: "class TestOld:\n    def test_old(self):\n        assert len('a') == 1\n"},
    ],
    ids=["added", "renamed", "moved", "into a class"],
)
def test_honest_changes_pass(tmp_path: Path, files: dict[str, str | None]) -> None:
    judging = Judging.of(tmp_path)
    assert judging.tests(judging.candidate({**CODE, **TEST, **files})).findings == []


def test_the_specs_word_lets_a_test_go(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    candidate = judging.candidate({**CODE, **TEST, PATH: UNSEEN_SKIP}, may_remove=(f"{PATH}::test_old",))
    assert judging.tests(candidate).findings == []


def test_what_main_itself_has_removed_meanwhile_is_not_missed(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    red = judging.red(judging.candidate({**CODE, **TEST, PATH: OLD + "\n"}))
    assert f"{PATH}::test_old" in red.green_tests
    judging.base = judging.commit({PATH: None})
    rebased = replace(judging.candidate({**CODE, **TEST}), red=red)
    assert Tests(judging.runner).check(rebased).findings == []


def test_the_bases_own_run_is_made_only_where_old_tests_change(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    judging.red(judging.candidate({**CODE, **TEST}))
    assert not (judging.logs / "base.log").exists()
    judging.red(judging.candidate({**CODE, **TEST, PATH: OLD + "\n"}))
    assert (judging.logs / "base.log").exists()


CASES = "import pytest\n\n\n@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_old(n):\n    assert n > 0\n"


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    ("cases", "lost"),
    [("[1]", [f"{PATH}::test_old[2]", f"{PATH}::test_old[3]"]), ("[1, 2, 3, 4]", []), ("[4, 5, 6]", [])],
    ids=["fewer", "more", "others"],
)
def test_parameters_that_are_thinned_out_are_named(tmp_path: Path, cases: str, lost: list[str]) -> None:
    judging = Judging.of(tmp_path, {**BASE, PATH: CASES})
    candidate = judging.candidate({**CODE, **TEST, PATH: CASES.replace("[1, 2, 3]", cases)})
    assert [test for finding in judging.tests(candidate).findings for test in finding.tests] == lost
    allowed = replace(candidate, spec=replace(candidate.spec, may_change=(f"{PATH}::test_old",)))
    assert judging.tests(allowed).findings == []
