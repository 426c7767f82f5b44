"""What the runner told: its numbers test by test, its last line to the letter, an unexpected pass not hidden."""

from dataclasses import replace
from pathlib import Path

import pytest

from damascus import stacks
from damascus.domain.critique import RequirementStatus
from damascus.domain.receipt_making import make_receipt
from damascus.domain.requirement_status import RequirementEvidence, RequirementTag, computed
from damascus.domain.run_counts import RunCounts, own_line
from damascus.domain.spec import Requirement
from damascus.gates.requirements import Requirements
from damascus.gates.runs import counts
from damascus.stacks.printed import printed_outcomes, summary_lines
from damascus.stacks.tags import tag_of
from tests.gates.judging import PYTEST, Content, Judging
from tests.receipts.making import evidence

CODE = "def half(number):\n    if number % 2:\n        raise ValueError(number)\n    return number // 2\n"
TEST = """\
import pytest
from m import half


def test_REQ_001_half():
    assert half(4) == 2


def test_REQ_001_odd():
    with pytest.raises(ValueError):
        half(3)


@pytest.mark.xfail
def test_REQ_002_EXT_fractions():
    assert half(3) == 1.5


@pytest.mark.xfail(reason="not yet")
def test_REQ_002_FUTURE_zero():
    assert half(0) == 0


@pytest.mark.skip
def test_REQ_002_words():
    assert half("four") == 2


def test_two():
    \"\"\"REQ-002: more.\"\"\"
    assert half(8) == 4
"""
FILES: dict[str, Content] = {"m.py": CODE, "tests/test_m.py": TEST}
NEEDS = (Requirement("REQ-001", "half"), Requirement("REQ-002", "more"))


@pytest.mark.req("F9.1", "F10.1")
def test_an_xpass_is_not_hidden_an_xfail_is_no_skip_and_the_last_line_is_kept_to_the_letter(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, {"README.md": "x\n"})
    found = judging.candidate(FILES, command=PYTEST, scope=tuple(FILES), requirements=NEEDS)
    run = judging.run(found.spec.test_command, found.tree)
    told = counts(run)
    assert (told.total, told.passed, told.xfailed, told.xpassed, told.skipped) == (6, 3, 1, 1, 1)
    hidden = [case.id for case in run.cases if case.status == "xpassed"]
    assert hidden == ["tests/test_m.py::test_REQ_002_FUTURE_zero"]
    assert run.summary.startswith("3 passed, 1 skipped, 1 xfailed, 1 xpassed in ") and told.runners == ["pytest"]
    assert run.summary in run.output and told.differs == []

    candidate = replace(found, red=judging.red(found))
    result = Requirements(judging.runner, judging.mirror).check(candidate)
    first, second = result.tests_of["REQ-001"], result.tests_of["REQ-002"]
    assert [(test.negative, test.by, test.red, test.passed) for test in first] == [
        (False, "name", True, True),
        (True, "name", True, True),
    ]
    assert {(test.id.rpartition("::")[2], test.outcome, test.tag) for test in second} == {
        ("test_REQ_002_EXT_fractions", "xfailed", RequirementTag.EXT),
        ("test_REQ_002_FUTURE_zero", "xpassed", RequirementTag.FUTURE),
        ("test_REQ_002_words", "skipped", RequirementTag.SKIP),
        ("test_two", "passed", RequirementTag.MVP),
    }
    assert next(test.by for test in second if test.id.endswith("test_two")) == "marker"
    code = ["m.py:1-4"]
    statuses = [computed(RequirementEvidence(id="REQ", tests=tests, code=code)).status for tests in (first, second)]
    assert statuses == [RequirementStatus.FULLY_VERIFIED, RequirementStatus.MVP_VERIFIED]


@pytest.mark.req("F9.1")
def test_where_nothing_tells_of_an_xpass_the_runners_own_line_does(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, {"README.md": "x\n"})
    alone = f"env -u PYTHONPATH {PYTEST}"
    test = TEST.replace("from m import", "import sys\nsys.path.insert(0, '.')\nfrom m import")
    found = judging.candidate({**FILES, "tests/test_m.py": test}, command=alone, scope=tuple(FILES), requirements=NEEDS)
    run = judging.run(found.spec.test_command, found.tree)
    assert not any(case.status == "xpassed" for case in run.cases), "the report hides it"
    assert (counts(run).passed, counts(run).xpassed) == (3, 1)


@pytest.mark.req("F7.2")
def test_an_older_test_that_names_the_same_id_is_another_storys(tmp_path: Path) -> None:
    old = "import pytest\n\n\n@pytest.mark.skip\ndef test_REQ_001_of_another_story():\n    assert False\n"
    judging = Judging.of(tmp_path, {"tests/test_old.py": old, "tests/test_m.py": old})
    files: dict[str, Content] = {**FILES, "tests/test_m.py": old + TEST.replace("import pytest\n", "", 1)}
    found = judging.candidate(files, command=PYTEST, scope=tuple(files), requirements=NEEDS)
    result = Requirements(judging.runner, judging.mirror).check(replace(found, red=judging.red(found)))
    assert {test.id.rpartition("::")[2] for test in result.tests_of["REQ-001"]} == {
        "test_REQ_001_half",
        "test_REQ_001_odd",
    }


@pytest.mark.req("F7.1")
@pytest.mark.parametrize(
    ("path", "source", "negative"),
    [
        ("t.py", "def test_a():\n    with pytest.raises(ValueError):\n        f()\n", True),
        ("t.py", "class TestA(TestCase):\n    def test_a(self):\n        self.assertRaises(ValueError, f)\n", True),
        ("t.py", "def test_a():\n    assert run('x').returncode == 2\n", True),
        ("t.py", "def test_a():\n    assert client.get('/').status_code == 404\n", True),
        ("t.py", "def test_a():\n    assert client.get('/').status_code == 200\n", False),
        ("t.py", "def test_a():\n    assert run('x').returncode == 0\n", False),
        ("t.py", "def test_a():\n    if False:\n        pytest.raises(ValueError)\n    assert f() == 1\n", False),
        ("t.py", "def test_a_negative():\n    assert f(-1) is None\n", False),
        ("a.test.js", "test('a', () => { expect(() => f()).toThrow(/no/) })\n", True),
        ("a.test.js", "test('a', async () => { await assert.rejects(f()) })\n", True),
        ("a.test.js", "test('a', async () => { assert.rejects(f()).catch(() => {}); assert(1) })\n", False),
        ("a.test.js", "test('a', () => expect(f()).rejects.toThrow('no'))\n", True),
        ("a.test.js", "test('a', () => { return expect(f()).rejects.toBe(1) })\n", True),
        ("a.test.js", "test('negative', () => { expect(f()).toBe(1) })\n", False),
        ("a_test.go", "func TestA(t *testing.T) {\n\tif _, err := F(); err == nil {\n\t\tt.Fatal(1)\n\t}\n}\n", True),
        (
            "a_test.go",
            "func TestA(t *testing.T) {\n\tif _, err := F(); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n",
            False,
        ),
        ("a.rs", "#[test]\n#[should_panic]\nfn a() {\n    f();\n}\n", True),
        ("a.rs", "#[test]\nfn a() {\n    assert!(f().is_err());\n}\n", True),
        ("a.rs", "#[test]\nfn a() {\n    assert_eq!(f(), 1);\n}\n", False),
    ],
)
def test_a_negative_case_is_known_by_its_source(path: str, source: str, negative: bool) -> None:
    [test] = stacks.tests_in(source.encode(), path).tests.values()
    assert test.negative is negative


@pytest.mark.req("F7.1")
@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("test_REQ_001_EXT_quotes", "EXT"),
        ("TestImport_FUTURE", "FUTURE"),
        ("REQ-002 @ext of commas", "EXT"),
        ("pytest.mark.future", "FUTURE"),
        ("pytest.mark.skip(reason='x')", "SKIP"),
        ("pytest.mark.skipif(windows)", "MVP"),
        ("uses FOR UPDATE SKIP LOCKED", "MVP"),
        ("a future value", "MVP"),
        ("test_the_next_EXTRA", "MVP"),
        ("(EXT) and @SKIP", "SKIP"),
    ],
)
def test_a_tag_is_written_and_no_word_of_prose(text: str, tag: str) -> None:
    assert tag_of(text) == tag


@pytest.mark.req("F10.1")
@pytest.mark.parametrize(
    ("printed", "summary"),
    [
        ("..\n\x1b[32m2 passed\x1b[0m in 0.03s\n", "2 passed in 0.03s"),
        ("= 1 failed, 3 passed in 1.20s =\n", "= 1 failed, 3 passed in 1.20s ="),
        ("..\n----\nRan 2 tests in 0.001s\n\nOK\n", "Ran 2 tests in 0.001s\n\nOK"),
        ("# tests 3\n# pass 3\n# fail 0\n", "# tests 3\n# pass 3\n# fail 0"),
        ("Test Suites: 1 passed, 1 total\nTests:       4 passed, 4 total\nTime: 1 s\n",
         "Test Suites: 1 passed, 1 total\nTests:       4 passed, 4 total"),
        ("ok  \texample.com/a\t0.002s\n", "ok  \texample.com/a\t0.002s"),
        ("test result: ok. 2 passed; 0 failed; 0 ignored\n", "test result: ok. 2 passed; 0 failed; 0 ignored"),
        ("one\n\nall is well\n", "one\nall is well"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_runners_own_last_words(printed: str, summary: str) -> None:
    assert summary_lines(printed) == summary


NODE = "# tests 2\n# suites 0\n# pass {}\n# fail {}\n# cancelled 0\n# skipped 0\n# todo 0\n"


@pytest.mark.req("F10.1")
@pytest.mark.parametrize(
    ("printed", "line"),
    [
        (NODE.format(1, 1), "# pass 1, # fail 1"),
        (NODE.format(1, 1) + NODE.format(2, 0).replace("#", "ℹ"), "ℹ pass 2, ℹ fail 0"),
        ("..\n----\nRan 2 tests in 0.001s\n\nOK (skipped=1)\n", "Ran 2 tests in 0.001s, OK (skipped=1)"),
        ("  3 passing (4ms)\n  1 pending\n", "3 passing (4ms), 1 pending"),
        ("..\n2 passed in 0.03s\n", "2 passed in 0.03s"),
        ("one\n\n# all is well\n", "# all is well"),
        ("", ""),
    ],
)
def test_the_runners_own_line_is_the_one_with_the_counts(printed: str, line: str) -> None:
    assert own_line(summary_lines(printed)) == line


def test_what_is_no_summary_of_pytest_has_no_numbers() -> None:
    assert printed_outcomes("all is well") == {}
    assert printed_outcomes("1 failed, 2 errors in 1s")["failed"] == 3


FORGING = """\
import atexit
import os


def test_REQ_001_one():
    atexit.register(os.write, 1, b"\\n{line}\\n")
    assert len("a") == 1
"""


def _told(folder: Path, test: str, command: str = PYTEST) -> RunCounts:
    judging = Judging.of(folder, {"README.md": "x\n"})
    found = judging.candidate({"tests/test_m.py": test}, command=command, scope=("tests/test_m.py",))
    return counts(judging.run(found.spec.test_command, found.tree))


@pytest.mark.req("F9.1", "F10.1")
@pytest.mark.parametrize(
    ("line", "differs"),
    [
        ("============ 999 passed in 0.01s ============", ["passed 1 and 999"]),
        ("1 passed, 3 skipped in 0.01s", ["skipped 0 and 3"]),
    ],
)
def test_a_line_that_a_test_prints_is_told_from_the_runners_own(tmp_path: Path, line: str, differs: list[str]) -> None:
    told = _told(tmp_path, FORGING.format(line=line))
    assert (told.passed, told.total, told.differs) == (1, 1, differs)
    receipt = make_receipt(evidence(run=told))
    assert (receipt.tests.status, receipt.tests.metrics_consistency) == ("BLOCKED", "MISMATCH")
    assert receipt.unproved == ["tests are BLOCKED"] and receipt.own_line == "", "a person is asked"
    assert f"metrics mismatch: the runner's report and its last line differ: {differs[0]}" in receipt.notes


@pytest.mark.req("F9.1")
def test_a_printed_line_makes_no_skipped_test_a_passed_one(tmp_path: Path) -> None:
    skipped = "\n\n@__import__('pytest').mark.skip\ndef test_two():\n    assert False\n"
    told = _told(tmp_path, FORGING.format(line="2 passed in 0.01s") + skipped)
    assert (told.passed, told.skipped, told.differs) == (1, 1, ["passed 1 and 2", "skipped 1 and 0"])


HONEST = """\
import unittest
import warnings

import pytest


def test_warns():
    warnings.warn("old")
    print("7 passed in 0.01s")


@pytest.mark.xfail
def test_later():
    assert False


@pytest.mark.xfail
def test_sooner():
    assert True


@pytest.mark.skip
def test_never():
    assert False


@pytest.mark.parametrize("number", [1, 2])
def test_each(number, subtests):
    for part in range(3):
        with subtests.test(part=part):
            assert number > 0


class TestCase(unittest.TestCase):
    def test_parts(self):
        for part in range(3):
            with self.subTest(part=part):
                assert part < 3

    @unittest.expectedFailure
    def test_no(self):
        assert False
"""


@pytest.mark.req("F9.1", "F10.1")
@pytest.mark.parametrize(
    "words", ["", "-s", "-rA", "-v", "-k 'not never'", "-W ignore", "--tb=short --color=yes", "-qq", "--co -q; {it}"]
)
def test_an_honest_runners_line_is_never_a_mismatch(tmp_path: Path, words: str) -> None:
    command = f"{PYTEST} {words}".replace("{it}", PYTEST)
    told = _told(tmp_path, HONEST, command)
    assert told.differs == [], told
    assert told.passed >= 4 and told.xfailed == 2 and told.xpassed == 1


@pytest.mark.parametrize("more", ["2 rerun", "3 deselected", "1 warning", "2 warnings", "4 subtests passed"])
def test_what_else_pytest_counts_is_no_outcome(more: str) -> None:
    told = printed_outcomes(f"=== 5 passed, 1 skipped, {more} in 62.10s (0:01:02) ===")
    assert told == {"passed": 5, "failed": 0, "skipped": 1, "xfailed": 0, "xpassed": 0}
