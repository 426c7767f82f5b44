"""Depth `full`: mutants of the changed lines, made by mutmut or by operators of ours, run one by one."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from damascus.domain.ports import Candidate, EvidenceRunner, GateResult, Job, TestRun
from damascus.domain.requirement_lines import KnownBy
from damascus.domain.spec import Requirement
from damascus.gates.mutation import Mutation
from tests.gates.judging import BASE, Judging, verdicts
from tests.mutation_tools import need_tool

FULL = '[test]\ncommand = "none"\n[gates]\nmutation = "full"\n'
GRADE = """
def grade(points: int) -> str:
    if points >= 90:
        return "high"
    return "low"
"""
ASKS_ALL = (
    "from src import grade\n\ndef test_req_001():\n    assert grade(90) == 'high'\n    assert grade(89) == 'low'\n"
)
NOT_THE_EDGE = ASKS_ALL.replace("90", "95").replace("89", "40")


def candidate(judging: Judging, files: dict[str, str | bytes], config: str = FULL) -> Candidate:
    made = judging.candidate(files, config=config)
    return replace(made, spec=replace(made.spec, requirements=(Requirement("REQ-001", "grades"),)))


def judge(judging: Judging, code: str, test: str, **more: str | bytes) -> GateResult:
    files = {"src.py": code, "tests/test_grade.py": test, **{name.replace("__", "."): v for name, v in more.items()}}
    return Mutation(judging.runner).check(candidate(judging, files))


@pytest.fixture
def judging(tmp_path: Path) -> Judging:
    return Judging.of(tmp_path, BASE)


@pytest.fixture
def mutmut(monkeypatch: pytest.MonkeyPatch) -> None:
    need_tool("mutmut", monkeypatch)


@pytest.mark.req("F5.1")
def test_tests_that_ask_for_every_change_leave_no_mutant(judging: Judging, mutmut: None) -> None:
    result = judge(judging, GRADE, ASKS_ALL)

    assert (verdicts(result), result.survivors, result.unverified) == ([], [], [])
    assert result.score is not None and result.score.by == ["mutmut 3.8.0"]
    assert result.score.killed == result.score.total > 3
    assert result.evidence[-1].summary.endswith("noticed: 100.0 %")
    assert [(one.requirement, one.told, one.by) for one in result.lines] == [("REQ-001", "src.py:3-5", KnownBy.NOTICED)]


@pytest.mark.req("F10.3")
def test_a_survivor_is_told_with_line_operator_diff_tests_and_requirement(judging: Judging, mutmut: None) -> None:
    result = judge(judging, GRADE, NOT_THE_EDGE)

    assert verdicts(result) == []
    edge = next(one for one in result.survivors if "> 90" in one.operator)
    assert (edge.path, edge.line, edge.by) == ("src.py", 3, "mutmut 3.8.0")
    assert edge.diff.splitlines()[-2:] == ["-    if points >= 90:", "+    if points > 90:"]
    assert (edge.tests, edge.requirements) == (["tests/test_grade.py::test_req_001"], ["REQ-001"])
    assert result.score is not None and result.score.survived == len(result.survivors) == 2
    told = json.loads(Path(result.evidence[-1].log).read_text())
    assert sum(one["outcome"] == "survived" for one in told) == 2


@pytest.mark.req("F5.1")
def test_where_mutmut_is_not_there_operators_of_ours_look_and_that_is_told(judging: Judging) -> None:
    good, bad = judge(judging, GRADE, ASKS_ALL), judge(judging, GRADE, NOT_THE_EDGE)

    why = "mutation: full: mutmut is not installed (pip install mutmut==3.8.0): src.py; our own operators looked"
    assert good.unverified == bad.unverified == [why]
    assert good.score is not None and good.score.by == ["our own operators"] and not good.survivors
    assert {one.operator for one in bad.survivors} >= {"`points >= 90` → `points > 90`", "`90` → `91`"}


@pytest.mark.req("F5.1")
def test_a_line_that_no_test_runs_is_told_as_such(judging: Judging) -> None:
    code = GRADE + "\n\ndef helper(a):\n    if a:\n        print('never')\n        return a + 1\n    return 0\n"
    result = judge(judging, code, ASKS_ALL + "    from src import helper\n    assert helper(0) == 0\n")

    assert verdicts(result) == []
    plus = next(one for one in result.survivors if "a + 1" in one.operator)
    assert plus.covered is False and "no test runs that line" in plus.told
    assert plus.requirements == ["REQ-001"]


EXCLUDING = {
    "setup__cfg": "[mutmut]\npaths_to_exclude=src.py\ndo_not_mutate=*\nonly_mutate=nothing/*\n",
    "pyproject__toml": '[tool.mutmut]\nsource_paths = []\nonly_mutate = ["nothing"]\ndo_not_mutate_patterns = [".*"]\n',
    "mutmut__py": "raise SystemExit(0)\n",
    "mutmut_config__py": "def pre_mutation(context):\n    context.skip = True\n",
}
PRAGMAS = {
    "line": GRADE.replace(":\n    if points >= 90:", ":\n    if points >= 90:  # pragma: no mutate"),
    "block": GRADE.replace("-> str:", "-> str:  # pragma: no mutate block"),
    "function": GRADE.replace("def ", "# pragma: no mutate start\ndef "),
    "coverage": GRADE.replace("-> str:", "-> str:  # pragma: no cover"),
}


@pytest.mark.req("F5.1")
@pytest.mark.parametrize("words", PRAGMAS)
def test_no_pragma_keeps_mutants_away(judging: Judging, mutmut: None, words: str) -> None:
    result = judge(judging, PRAGMAS[words], NOT_THE_EDGE)
    assert any("> 90" in one.operator and "mutmut" in one.by for one in result.survivors), result


@pytest.mark.req("F5.1")
def test_no_setting_of_the_tree_keeps_mutants_away(judging: Judging, mutmut: None) -> None:
    result = judge(judging, GRADE, NOT_THE_EDGE, **EXCLUDING)
    assert any("> 90" in one.operator and "mutmut" in one.by for one in result.survivors), result


@pytest.mark.req("F5.1")
def test_an_environment_in_the_tree_is_no_tool(judging: Judging) -> None:
    """It would say that there is nothing to mutate."""
    lies = '#!/bin/sh\necho \'{"version": "3.8.0", "mutants": []}\' > "$DAMASCUS_TOOL/report.json"\n'
    files = {"src.py": GRADE, "tests/test_grade.py": NOT_THE_EDGE, ".venv/bin/python": lies, ".venv/bin/mutmut": lies}
    result = Mutation(judging.runner).check(candidate(judging, files))

    assert any("not installed" in one for one in result.unverified)
    assert result.survivors


@pytest.mark.req("F5.1")
@pytest.mark.parametrize("reader", ["'points >= 90' in inspect.getsource(grade)", "'>= 90' in open('src.py').read()"])
def test_a_test_that_looks_for_words_in_the_source_kills_nothing(judging: Judging, mutmut: None, reader: str) -> None:
    result = judge(judging, GRADE, f"import inspect\n{NOT_THE_EDGE}    assert {reader}\n")
    assert any("> 90" in one.operator for one in result.survivors), result


TALKING = """
import logging

log = logging.getLogger()


def before(n: int) -> int:
    \"\"\"The one before it.\"\"\"
    log.info("asked for %s", n + 1)
    if n % 2:
        raise ValueError(f"{n} is odd: try %s" % (n + 1))
    return n - 1
"""


@pytest.mark.req("F5.1")
def test_what_an_error_or_a_log_says_has_no_mutant(judging: Judging, mutmut: None) -> None:
    asks = (
        "import pytest\nfrom src import before\n\ndef test_req_001():\n    assert (before(8), before(6)) == (7, 5)\n"
        "    with pytest.raises(ValueError):\n        before(3)\n"
    )
    result = judge(judging, TALKING, asks)

    assert [one.told for one in result.survivors] == []


MODULE = "LIMIT = 10\n\n\ndef property_of(f):\n    return f\n\n\n@property_of\ndef over(n):\n    return n > LIMIT\n"


@pytest.mark.req("F5.1")
def test_constants_of_a_module_and_decorated_functions_have_mutants_too(judging: Judging, mutmut: None) -> None:
    test = "from src import over\n\ndef test_req_001():\n    assert over(50) is True\n    assert over(1) is False\n"
    result = judge(judging, MODULE, test)

    assert {(one.line, one.by) for one in result.survivors} == {(1, "mutmut 3.8.0"), (10, "our own operators")}


@pytest.mark.req("F5.1")
def test_only_changed_lines_have_mutants(judging: Judging, tmp_path: Path) -> None:
    old = "def old(a, b):\n    return a > b\n\n\ndef both(a, b):\n    c = a * b\n    return c\n"
    there = Judging.of(tmp_path / "other", {**BASE, "src.py": old})
    test = "from src import both\n\ndef test_req_001():\n    assert both(2, 3) == 7\n"
    result = judge(there, old.replace("return c", "return c + 1"), test)

    told = json.loads(Path(result.evidence[-1].log).read_text())
    assert {one["where"] for one in told if ":" in one["where"] and " " not in one["where"]} == {"src.py:7"}


# ── a tool that does not do its work ──────────────────────────────────────────────────────────────────


class Instead:
    """The runner, with another command where the tool would run."""

    def __init__(self, runner: EvidenceRunner, command: str, timeout: float = 600) -> None:
        self.runner, self.command, self.timeout = runner, command, timeout

    def run(self, job: Job) -> TestRun:
        if job.label.startswith("mutants-by-"):
            job = replace(job, command=self.command, timeout=self.timeout)
        return self.runner.run(job)


WRITES = "echo '{}' > \"$DAMASCUS_TOOL/report.json\""
BROKEN = {
    "hangs": ("sleep 600", "came to no end"),
    "is killed": ("kill -9 $$", "exit code"),
    "writes nothing": ("true", "can't be read"),
    "writes junk": (WRITES.format("{"), "can't be read"),
    "writes another shape": (WRITES.format('{"mutants": 7}'), "can't be read"),
    "names another file": (
        WRITES.format('{"mutants": [{"path": "/etc/passwd", "start": 0, "end": 1, "text": "x", "operator": "x"}]}'),
        "not there",
    ),
    "names another place": (
        WRITES.format('{"mutants": [{"path": "src.py", "start": 5, "end": 9999, "text": "x", "operator": "x"}]}'),
        "not there",
    ),
    "links its report": ('ln -s /etc/passwd "$DAMASCUS_TOOL/report.json"', "can't be read"),
    "makes a pipe": ('mkfifo "$DAMASCUS_TOOL/report.json"', "can't be read"),
}


@pytest.mark.req("F5.1")
@pytest.mark.parametrize("name", BROKEN)
def test_a_tool_that_fails_is_named_and_never_a_pass(judging: Judging, name: str) -> None:
    command, why = BROKEN[name]
    files: dict[str, str | bytes] = {"src.py": GRADE, "tests/test_grade.py": NOT_THE_EDGE}
    result = Mutation(Instead(judging.runner, command, 2)).check(candidate(judging, files))

    (told,) = result.unverified
    assert told.startswith("mutation: full: mutmut") and why in told and "our own operators looked" in told
    assert result.survivors


@pytest.mark.req("F5.1")
def test_a_tool_that_finds_nothing_is_not_believed(judging: Judging) -> None:
    files: dict[str, str | bytes] = {"src.py": GRADE, "tests/test_grade.py": NOT_THE_EDGE}
    result = Mutation(Instead(judging.runner, WRITES.format('{"mutants": []}'))).check(candidate(judging, files))

    assert {one.by for one in result.survivors} == {"our own operators"}


@pytest.mark.req("F5.1")
def test_what_was_not_run_in_time_is_named(judging: Judging) -> None:
    files: dict[str, str | bytes] = {"src.py": GRADE, "tests/test_grade.py": NOT_THE_EDGE}
    result = Mutation(judging.runner).check(candidate(judging, files, FULL + "mutation_seconds = 0.001\n"))

    assert result.score is not None and result.score.not_run == result.score.total > 0
    assert any("src.py:3: not run in time: `points >= 90`" in one for one in result.unverified)
    assert not result.survivors and result.score.told.endswith("noticed: 0.0 %")


@pytest.mark.req("F10.3")
def test_a_mark_holds_while_its_function_is_as_it_was(judging: Judging) -> None:
    first = judge(judging, GRADE, NOT_THE_EDGE)
    moved = judge(judging, "LIMIT = 1\n\n" + GRADE, NOT_THE_EDGE)
    other = judge(judging, GRADE.replace('"low"', '"none"'), NOT_THE_EDGE.replace("low", "none"))

    marks = [{one.operator: one.mark for one in each.survivors} for each in (first, moved, other)]
    edge = "`points >= 90` → `points > 90`"
    assert marks[0][edge] == marks[1][edge] != marks[2][edge]
    assert len(set(marks[0].values())) == len(marks[0])
