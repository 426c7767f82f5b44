"""Gate old_tests: the base's own tests, helpers and data are run on the candidate's code."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from damascus.gates.reworded_tests import OFF
from tests.gates.judging import PYTEST, PYTHON, UNITTEST, verdicts
from tests.gates.old_tests_project import (
    BASE,
    BROKEN,
    CALC,
    CONFTEST,
    HELPER,
    NEW,
    ONE,
    SUITE,
    TEST_CASES,
    TEST_ONE,
    Files,
    judged,
)
from tests.toolchains import need_program


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    ("files", "test"),
    [
        ({"calc.py": BROKEN, "tests/test_one.py": TEST_ONE.replace("one() == 1", "(one() == 1, 'one')")}, ONE),
        (
            {
                "calc.py": BROKEN,
                "tests/test_one.py": TEST_ONE.replace("    assert", "    if one() == 1:\n        assert"),
            },
            ONE,
        ),
        ({"calc.py": BROKEN, "tests/test_one.py": TEST_ONE.replace("== 1", "== 11")}, ONE),
        ({"calc.py": BROKEN, "tests/test_one.py": None}, ONE),
        ({"calc.py": BROKEN, "tests/test_one.py": None, "tests/test_uno.py": TEST_ONE.replace("== 1", "== 11")}, ONE),
        (
            {"calc.py": CALC.replace("n * 2", "n * 7"), "tests/helper.py": HELPER.replace("assert a == b", "pass")},
            "tests/test_same.py::test_same",
        ),
        (
            {"calc.py": CALC.replace("return 2", "return 22"), "tests/conftest.py": CONFTEST.replace("2", "22")},
            "tests/test_fixture.py::test_fixture",
        ),
        (
            {
                "calc.py": CALC.replace("n * 3", "n if n == 3 else n * 3"),
                "tests/test_cases.py": TEST_CASES.replace(", 3]", "]"),
            },
            "tests/test_cases.py::test_triple[3]",
        ),
        ({"calc.py": CALC.replace("n * n", "n * n * n"), "tests/want.txt": "64\n"}, "tests/test_data.py::test_data"),
    ],
    ids=["tuple", "branch", "other value", "gone", "renamed", "helper", "fixture", "parameters", "data"],
)
def test_a_test_worded_anew_over_broken_code_is_a_persons_choice(tmp_path: Path, files: Files, test: str) -> None:
    result = judged(tmp_path, {**NEW, **files})
    assert result.findings == []
    [ask] = result.asks
    assert test in ask.tests and ask.verdict == "tests_weakened"
    assert ask.output and ask.mark


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    "files",
    [
        {},
        {"tests/test_m.py": "import calc\ncalc.one = lambda: 1\n\n\ndef test_m():\n    pass\n"},
        {"tests/a/conftest.py": "import calc\ncalc.one = lambda: 1\n", "tests/a/test_m.py": "def test_m(): pass\n"},
        {"conftest.py": "import calc\ncalc.one = lambda: 1\n"},
    ],
    ids=["plainly", "by a new test", "by a new conftest", "by a conftest at the root"],
)
def test_what_the_story_broke_and_left_alone_is_its_agents_to_repair(tmp_path: Path, files: Files) -> None:
    result = judged(tmp_path, {**NEW, "calc.py": BROKEN, **files})
    assert verdicts(result) == ["tests_weakened"] and result.asks == []
    assert ONE in result.findings[0].tests


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    "files",
    [
        {
            "calc.py": CALC + "\n\ndef two():\n    return 2\n",
            "tests/test_one.py": TEST_ONE + "\n\ndef test_more():\n    assert one()\n",
        },
        {"tests/test_one.py": TEST_ONE.replace("test_one", "test_uno")},
        {"tests/test_one.py": None, "tests/unit/test_one.py": TEST_ONE},
        {"tests/helper.py": "def same(a, b):\n    assert b == a, 'they differ'\n"},
        {"tests/conftest.py": CONFTEST + "\n\n@pytest.fixture\ndef other():\n    return 2\n"},
    ],
    ids=["added to", "renamed", "moved", "helper", "fixture added"],
)
def test_honest_changes_of_tests_pass(tmp_path: Path, files: Files) -> None:
    result = judged(tmp_path, {**NEW, **files})
    assert (result.findings, result.asks, result.unverified) == ([], [], [])


WEAKER = {
    "default_arg": "def test_a{i}(a{i}=lambda: {i}):\n    assert a{i}() == {i}\n",
    "early_return": "def test_a{i}():\n    if len('x'):\n        return\n    assert a{i}() == {i}\n",
    "inner": "def test_a{i}():\n    def check():\n        assert a{i}() == {i}\n    check\n",
    "shadow_local": "def test_a{i}():\n    a{i} = lambda: {i}\n    assert a{i}() == {i}\n",
    "module_stub": "a{i} = (lambda: {i})\n\n\ndef test_a{i}():\n    assert a{i}() == {i}\n",
    "not_none": "def test_a{i}():\n    assert a{i}() is not None\n",
    "mock_subject": "@mock.patch('abcs.a{i}', lambda: {i})\ndef test_a{i}():\n    import abcs\n"
    "    assert abcs.a{i}() == {i}\n",
    "assign_over": "def test_a{i}():\n    assert a{i}() == {i}\n\n\ntest_a{i} = lambda: None\n",
}
KEPT = "def test_a{i}():\n    assert a{i}() == {i}\n"
SAME = {
    "same": KEPT,
    "parameters": "@pytest.mark.parametrize('n', [1, 2])\ndef test_a{i}(n):\n    assert a{i}() * n == {i} * n\n",
    "fixture": "@pytest.fixture\ndef got{i}():\n    return a{i}()\n\n\n"
    "def test_a{i}(got{i}):\n    assert got{i} == {i}\n",
    "helper": "def is_it{i}(got):\n    assert got == {i}, 'other'\n\n\ndef test_a{i}():\n    is_it{i}(a{i}())\n",
    "class": "class TestA{i}:\n    def test_a{i}(self):\n        assert a{i}() == {i}\n",
    "split": "def test_a{i}():\n    assert a{i}() is not None\n\n\ndef test_a{i}_value():\n    assert a{i}() == {i}\n",
    "more": "def test_a{i}():\n    assert type(a{i}()) is int\n    assert a{i}() == {i}\n",
    "other name": "def test_the_answer_{i}():\n    assert a{i}() == {i}\n",
}


def letters(bodies: Mapping[str, str]) -> str:
    names = ", ".join(f"a{i}" for i in range(1, len(bodies) + 1))
    head = f"from unittest import mock\nimport pytest\nfrom abcs import {names}\n\n\n"
    return head + "\n\n".join(body.format(i=i) for i, body in enumerate(bodies.values(), 1))


def of_letters(bodies: Mapping[str, str]) -> dict[str, str]:
    code = "\n\n".join(f"def a{i}():\n    return {i}\n" for i in range(1, len(bodies) + 1))
    return {"abcs.py": code, "tests/test_abc.py": letters(dict.fromkeys(bodies, KEPT))}


@pytest.mark.req("D7")
def test_a_wording_that_notices_less_is_a_persons_choice(tmp_path: Path) -> None:
    result = judged(tmp_path, {**NEW, "tests/test_abc.py": letters(WEAKER)}, of_letters(WEAKER))
    assert result.findings == []
    [ask] = result.asks
    names = {f"tests/test_abc.py::test_a{i}" for i in range(1, len(WEAKER) + 1)}
    assert set(ask.tests) == names and ask.verdict == "tests_weakened"
    assert "-    assert a6() == 6" in ask.output and ask.mark
    assert "abcs.py:" in ask.message


@pytest.mark.req("D7")
def test_another_wording_that_notices_as_much_passes(tmp_path: Path) -> None:
    result = judged(tmp_path, {**NEW, "tests/test_abc.py": letters(SAME)}, of_letters(SAME))
    assert (result.findings, result.asks, result.unverified) == ([], [], [])


MOVED = TEST_ONE.replace("from calc import one", "one = (lambda: 1)")


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    ("files", "test"),
    [
        (
            {"tests/helper.py": "def same(a, b):\n    assert (a == b) in (True, False)\n"},
            "tests/test_same.py::test_same",
        ),
        (
            {"tests/conftest.py": CONFTEST + "\n\nimport calc\ncalc.two = lambda: 2\n"},
            "tests/test_fixture.py::test_fixture",
        ),
        ({"tests/test_one.py": None, "tests/test_m.py": MOVED}, ONE),
        (
            {
                "calc.py": CALC.replace("def one", "def uno"),
                "tests/test_one.py": TEST_ONE.replace("one() == 1", "uno() is not None").replace(
                    "import one", "import uno"
                ),
            },
            ONE,
        ),
        (
            {
                "tests/test_one.py": TEST_ONE.replace("one() == 1", "one() is not None"),
                "tests/test_m.py": "import pathlib\n\n\ndef test_m():\n"
                f"    assert pathlib.Path('calc.py').read_text() == {CALC!r}\n",
            },
            ONE,
        ),
    ],
    ids=["helper", "fixture", "moved", "renamed code", "another looks at the source"],
)
def test_what_a_wording_rests_on_counts(tmp_path: Path, files: Files, test: str) -> None:
    result = judged(tmp_path, files)
    assert [ask.tests for ask in result.asks] == [[test]], result


@pytest.mark.req("D7")
def test_the_specs_word_lets_a_wording_notice_less(tmp_path: Path) -> None:
    files = {"tests/test_one.py": TEST_ONE.replace("== 1", "is not None")}
    assert judged(tmp_path, files, may_change=(ONE,)).asks == []


@pytest.mark.req("D7")
def test_without_mutants_it_is_told(tmp_path: Path) -> None:
    files = {"tests/test_one.py": TEST_ONE.replace("== 1", "is not None")}
    result = judged(tmp_path, files, config=SUITE + '[gates]\nmutation = "off"\n')
    assert result.asks == [] and result.unverified == [OFF]


@pytest.mark.req("D7")
@pytest.mark.parametrize("weaker", [True, False])
def test_a_wording_in_node(tmp_path: Path, weaker: bool) -> None:
    need_program("node")
    top = "const test = require('node:test');\nconst assert = require('node:assert');\nconst m = require('./m.js');\n"
    old = top + "test('ones', () => { assert.equal(m.one(), 1); });\n"
    new = old.replace("assert.equal(m.one(), 1)", "assert.ok(m.one())" if weaker else "assert.strictEqual(m.one(), 1)")
    base = {
        "package.json": '{"name": "m"}\n',
        "m.js": "exports.one = function () {\n  return 1;\n};\n",
        "m.test.js": old,
    }
    result = judged(tmp_path, {"m.test.js": new}, base, '[test]\ncommand = "node --test"\n', command="node --test")
    assert (len(result.asks) == 1) == weaker, result


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    "entry",
    [ONE, "tests/test_one.py", "tests/", "tests/test_o*.py", "tests/test_one.py::test_*", "tests/test_one.py::test_o*"],
)
@pytest.mark.parametrize("key", ["may_change", "may_remove"])
def test_the_specs_word_lets_a_test_say_something_else(tmp_path: Path, entry: str, key: str) -> None:
    files = {"calc.py": BROKEN, "tests/test_one.py": TEST_ONE.replace("== 1", "== 11")}
    result = judged(tmp_path, {**NEW, **files}, **{key: (entry,)})
    assert (result.findings, result.asks) == ([], [])
    assert ONE in result.notes[0]


def test_a_word_for_one_test_is_none_for_another(tmp_path: Path) -> None:
    code = BROKEN.replace("return 2", "return 22")
    files = {"calc.py": code, "tests/test_one.py": TEST_ONE.replace("== 1", "== 11"), "tests/test_fixture.py": None}
    result = judged(tmp_path, {**NEW, **files}, may_change=("tests/test_one.py::test_one",))
    assert result.asks[0].tests == ["tests/test_fixture.py::test_fixture"]


def test_what_is_red_on_the_base_too_is_charged_to_nobody(tmp_path: Path) -> None:
    base = {**BASE, "tests/test_red.py": "def test_red():\n    assert 0\n"}
    result = judged(tmp_path, NEW, base)
    assert (result.findings, result.asks) == ([], [])


def test_a_base_without_tests_or_a_command_says_so(tmp_path: Path) -> None:
    assert judged(tmp_path / "1", NEW, {"calc.py": CALC}).unverified == ["old tests: the base has none"]
    none = judged(
        tmp_path / "2", NEW, config='[test]\ncommand = "none"\n', command=f"{PYTHON} -m pytest tests/test_m.py"
    )
    assert none.unverified == ["old tests: no command runs those of the base ([test] command)"]


def test_where_the_project_has_no_command_the_storys_own_is_run(tmp_path: Path) -> None:
    result = judged(tmp_path, {"calc.py": BROKEN}, config='[test]\ncommand = "none"\n')
    assert ONE in result.findings[0].tests


def test_a_story_that_only_adds_tests_runs_nothing(tmp_path: Path) -> None:
    result = judged(tmp_path, {"tests/test_more.py": "def test_more():\n    assert 1\n"})
    assert result.evidence[0].summary == "no code was changed" and not result.unverified


@pytest.mark.parametrize("honest", [True, False])
def test_a_runner_that_tells_no_single_test_is_compared_by_exit_code_and_count(tmp_path: Path, honest: bool) -> None:
    head = "import unittest\nfrom calc import one\n\n\nclass TestOne(unittest.TestCase):\n"
    old = head + "    def test_one(self):\n        {}\n"
    base = {"calc.py": CALC, "tests/__init__.py": "", "tests/test_one.py": old.format("self.assertEqual(one(), 1)")}
    config = SUITE.replace(PYTEST.replace("'", ""), UNITTEST.replace("'", "") + " -t .")
    other = "self.assertEqual(1, one())" if honest else "self.assertTrue(one)"
    files = {"calc.py": CALC if honest else BROKEN, "tests/test_one.py": old.format(other)}
    result = judged(tmp_path, {**NEW, **files}, base, config)
    assert result.findings == []
    assert [ask.tests for ask in result.asks] == ([] if honest else [["tests/test_one.py::TestOne::test_one"]])
