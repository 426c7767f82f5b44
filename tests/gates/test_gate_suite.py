"""The project's own suite decides beside the story's Test Command; what main has red already is nobody's fault."""

from pathlib import Path

import pytest

from damascus.domain.ports import Candidate, GateResult
from damascus.domain.verdict import Kind
from damascus.gates.suite import SuiteGate
from tests.gates.judging import BASE, CODE, PYTEST, PYTHON, TEST, UNITTEST, Judging, verdicts

pytestmark = pytest.mark.req("D6", "D7")

WHOLE = f"[test]\ncommand = '''{PYTEST}'''\n"
OLD = {
    "README.md": "x\n",
    "lib.py": "def name():\n    return 'old'\n",
    "tests/test_name.py": "from lib import name\n\ndef test_name():\n    assert name() == 'old'\n",
}
RED = {"tests/test_red.py": "def test_red():\n    assert 1 == 2\n\ndef test_fine():\n    assert 1 == 1\n"}
RENAMED = {"lib.py": "def title():\n    return 'old'\n"}
ONLY_OWN = f"{PYTHON} -m pytest -q -p no:cacheprovider tests/test_add.py"


def suite(judging: Judging, candidate: Candidate) -> GateResult:
    return SuiteGate(judging.runner, judging.mirror).check(candidate)


def judged(folder: Path, base: dict[str, str], files: dict[str, str | None], config: str = WHOLE) -> GateResult:
    judging = Judging.of(folder, base)
    return suite(judging, judging.candidate(files, command=ONLY_OWN, config=config))


def test_a_story_that_breaks_the_rest_is_refused(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, OLD)
    candidate = judging.candidate(CODE | TEST | RENAMED, command=ONLY_OWN, config=WHOLE)
    result = suite(judging, candidate)

    assert judging.tests(candidate).findings == []  # its own tests see nothing of it
    assert verdicts(result) == ["tests_failed"]
    assert result.findings[0].gate == "suite" and "tests/test_name.py" in result.findings[0].tests[0]
    assert result.findings[0].output


def test_a_kind_without_a_red_run_is_no_way_around_it(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, OLD)
    candidate = judging.candidate(RENAMED, command="echo fine", config=WHOLE, kind=Kind.DOCS)
    assert verdicts(suite(judging, candidate)) == ["tests_failed"]


def test_honest_work_is_run_once_and_the_base_not_at_all(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, OLD)
    candidate = judging.candidate(CODE | TEST, command=PYTEST, config=WHOLE)
    judging.tests(candidate)
    before = len(judging.checkouts)
    result = suite(judging, candidate)

    assert result.findings == [] and result.unverified == []
    assert len(judging.checkouts) == before  # the Test Command was the same, on the same tree


# ── main is red already ───────────────────────────────────────────────────────────────────────────────


def test_what_is_red_on_the_base_too_is_listed_and_charged_to_nobody(tmp_path: Path) -> None:
    result = judged(tmp_path, OLD | RED, CODE | TEST)
    assert result.findings == []
    assert result.unverified == ["suite: tests/test_red.py::test_red is red on main too"]


def test_a_red_base_excuses_nothing_that_was_green(tmp_path: Path) -> None:
    result = judged(tmp_path, OLD | RED, CODE | TEST | RENAMED)
    assert verdicts(result) == ["tests_failed"]
    assert result.findings[0].tests == ["tests/test_name.py"]  # it can't be collected any more


def test_a_file_that_could_not_be_collected_stands_for_its_tests(tmp_path: Path) -> None:
    base = OLD | {"tests/test_new.py": "from new import one\n\ndef test_one():\n    assert one() == 2\n"}
    result = judged(tmp_path, base, {"new.py": "def one():\n    return 1\n"})
    assert result.findings == []
    assert result.unverified == ["suite: tests/test_new.py::test_one is red on main too"]


def test_mending_what_main_has_red_is_welcome(tmp_path: Path) -> None:
    result = judged(tmp_path, OLD | RED, {"tests/test_red.py": "def test_red():\n    assert 2 == 2\n"})
    assert result.findings == [] and result.unverified == []


def test_a_red_base_hides_no_runner_that_is_cut_off(tmp_path: Path) -> None:
    result = judged(tmp_path, OLD | RED, {"lib.py": "import os\nos._exit(1)\n"})
    assert verdicts(result) == ["tests_failed"]


def test_a_suite_that_names_no_test_and_is_red_on_the_base_proves_nothing(tmp_path: Path) -> None:
    config = "[test]\ncommand = 'grep -q nowhere README.md'\n"
    result = judged(tmp_path, OLD, CODE | TEST, config)
    assert result.findings == []
    assert any("is red on main too" in name for name in result.unverified)


def test_counts_alone_may_not_grow_worse(tmp_path: Path) -> None:
    mocha = "[test]\ncommand = 'sh count.sh'\n"
    base = OLD | {"count.sh": "echo '  3 passing (1ms)'; echo '  2 failing'; exit 2\n"}
    worse = {"count.sh": "echo '  2 passing (1ms)'; echo '  3 failing'; exit 3\n"}
    assert verdicts(judged(tmp_path / "worse", base, worse, mocha)) == ["tests_failed"]
    assert judged(tmp_path / "same", base, CODE, mocha).findings == []


# ── a suite that did not run ──────────────────────────────────────────────────────────────────────────


def test_a_runner_that_is_nowhere_is_listed_and_one_that_is_gone_refused(tmp_path: Path) -> None:
    config = "[test]\ncommand = './check'\n"
    nowhere = judged(tmp_path / "nowhere", OLD, CODE | TEST, config)
    assert nowhere.findings == [] and any("can't be started" in name for name in nowhere.unverified)

    sh = "[test]\ncommand = 'sh -c \". ./check\"'\n"
    gone = judged(tmp_path / "gone", OLD | {"check": "exit 0\n"}, {"check": "exit 127\n"}, sh)
    assert verdicts(gone) == ["tests_failed"]


def test_a_suite_in_which_no_test_runs_any_more_is_refused(tmp_path: Path) -> None:
    result = judged(tmp_path, OLD, {"tests/test_name.py": "x = 1\n"})
    assert verdicts(result) == ["tests_failed"] and "no test ran" in result.findings[0].message


def test_a_suite_that_lost_its_report_is_refused(tmp_path: Path) -> None:
    result = judged(tmp_path, OLD, {"lib.py": "import os\nos._exit(0)\n"})
    assert verdicts(result) == ["tests_failed"] and "no report" in result.findings[0].message


def test_a_count_that_is_gone_is_seen_in_a_command_we_do_not_know(tmp_path: Path) -> None:
    config = "[test]\ncommand = 'sh all.sh'\n"
    base = OLD | {"all.sh": f"exec {PYTEST}\n"}
    result = judged(tmp_path, base, {"lib.py": "import os\nos._exit(0)\n"}, config)
    assert verdicts(result) == ["tests_failed"]


def test_a_suite_that_hangs_on_the_candidate_only_is_refused(tmp_path: Path) -> None:
    config = "[test]\ntimeout_seconds = 5.0\ncommand = 'sh all.sh'\n"
    result = judged(tmp_path, OLD | {"all.sh": "exit 0\n"}, {"all.sh": "sleep 60\n"}, config)
    assert verdicts(result) == ["tests_failed"] and "5 s" in result.findings[0].message


def test_unittest_names_only_what_failed(tmp_path: Path) -> None:
    red = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): self.assertEqual(1, {})\n"
    config = f"[test]\ncommand = '''{UNITTEST}'''\n"
    base = {"README.md": "x\n", "tests/test_a.py": red.format(2), "tests/test_b.py": red.format("len('a')")}
    assert judged(tmp_path / "same", base, CODE, config).findings == []
    worse = judged(tmp_path / "worse", base, {"tests/test_b.py": red.format(3)}, config)
    assert verdicts(worse) == ["tests_failed"]


# ── none ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_project_without_a_suite_is_told_so(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, {"README.md": "x\n"})
    result = suite(judging, judging.candidate(CODE | TEST, command=ONLY_OWN))
    assert result.findings == [] and result.unverified == ["the project's own suite: there is none"]
    assert judging.checkouts == []


def test_nobody_hides_the_suite_by_what_a_story_brings(tmp_path: Path) -> None:
    """It is found in the base's files and named by the base's settings."""
    judging = Judging.of(tmp_path, BASE)
    files = CODE | {"tests/test_old.py": None, "damascus.toml": '[test]\ncommand = "none"\n'}
    result = suite(judging, judging.candidate(files, command="echo fine"))
    assert [proof.gate for proof in result.evidence] == ["suite", "suite on the base"]


# ── luck ──────────────────────────────────────────────────────────────────────────────────────────────


def lucky(folder: Path, red_in: str, files: dict[str, str | None]) -> GateResult:
    """An old test that fails in the named runs only, on whatever tree."""
    test = f"import os\n\ndef test_luck():\n    assert os.environ['RUN_NUMBER'] not in {red_in!r}\n"
    judging = Judging.of(folder, OLD | {"tests/test_luck.py": test})
    runs, prepare = iter(range(100)), judging.runner._prepare
    judging.runner._prepare = lambda place: {**prepare(place), "RUN_NUMBER": str(next(runs))}
    return suite(judging, judging.candidate(files, command=ONLY_OWN, config=WHOLE))


@pytest.mark.req("W7")
def test_an_old_test_that_is_red_once_only_is_flaky_and_refuses_nobody(tmp_path: Path) -> None:
    result = lucky(tmp_path, "0", CODE | TEST)
    assert result.findings == [] and result.flaky == ["tests/test_luck.py::test_luck"]
    assert any("is flaky" in note for note in result.notes)


@pytest.mark.req("W7")
def test_luck_excuses_nothing_that_is_red_each_time(tmp_path: Path) -> None:
    broken = {"lib.py": "def name():\n    return 'new'\n"}
    result = lucky(tmp_path, "0", CODE | TEST | broken)
    assert verdicts(result) == ["tests_failed"] and result.findings[0].tests == ["tests/test_name.py::test_name"]
    assert result.flaky == ["tests/test_luck.py::test_luck"]


@pytest.mark.req("D7", "W7")
def test_code_that_answers_by_chance_is_no_luck(tmp_path: Path) -> None:
    """Main's test is green as often as one looks; on the story's code it is red in half of the runs."""
    chance = {"lib.py": "import os\n\ndef name():\n    return 'old' if int(os.environ['RUN_NUMBER']) % 2 else 'new'\n"}
    judging = Judging.of(tmp_path, OLD)
    runs, prepare = iter([0, 1, 1, *[2] * 40]), judging.runner._prepare  # red, main, green, then red again
    judging.runner._prepare = lambda place: {**prepare(place), "RUN_NUMBER": str(next(runs))}
    result = suite(judging, judging.candidate(CODE | TEST | chance, command=ONLY_OWN, config=WHOLE))
    assert verdicts(result) == ["tests_failed"] and "always green on main" in result.findings[0].message
    assert result.findings[0].tests == ["tests/test_name.py::test_name"] and result.flaky == []
