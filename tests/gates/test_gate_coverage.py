"""Gate coverage: the story's tests run the lines that it changed."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from damascus.domain.ports import Candidate, GateResult
from damascus.domain.requirement_lines import KnownBy
from damascus.domain.spec import Requirement
from damascus.domain.tasks import ContractKind, TestContract
from damascus.domain.verdict import Kind
from damascus.evidence.diff_paths import is_test
from damascus.gates.coverage import Coverage
from damascus.gates.coverage_run import Looks
from damascus.gates.mutation import Mutation
from tests.gates.judging import BASE, PYTEST, PYTHON, UNITTEST, Judging, told_lines, verdicts

ALONE = '[test]\ncommand = "none"\n[gates.coverage]\nproject = 0\n'
REFUSED = ["uncovered"]
CODE = """\
def price(count):
    if count > 10:
        unit = 2
        unit = unit + 1
        unit = unit - 1
        return count * unit
    return count * 3
"""
HALF = "from src import price\n\n\ndef test_req_001():\n    assert price(1) == 3\n"
WHOLE = HALF + "\n\ndef test_req_002():\n    assert price(20) == 40\n"


def candidate(judging: Judging, files: Mapping[str, str | bytes], **parts: object) -> Candidate:
    config = str(parts.pop("config", ALONE))
    ids = ("REQ-001", "REQ-002")
    made = judging.candidate(files, config=config, **parts)  # type: ignore[arg-type]
    return replace(made, spec=replace(made.spec, requirements=tuple(Requirement(one, "a need") for one in ids)))


def check(judging: Judging, made: Candidate) -> GateResult:
    return Coverage(judging.runner, judging.mirror).check(made)


def judge(judging: Judging, code: str, test: str, **parts: object) -> GateResult:
    return check(judging, candidate(judging, {"src.py": code, "tests/test_add.py": test}, **parts))


@pytest.fixture
def judging(tmp_path: Path) -> Judging:
    return Judging.of(tmp_path, BASE)


@pytest.mark.req("A16")
def test_lines_that_the_tests_run_pass_and_are_told_by_requirement(judging: Judging) -> None:
    result = judge(judging, CODE, WHOLE)

    assert (verdicts(result), result.unverified) == ([], [])
    assert result.evidence[0].summary == "7 of 7 changed lines run (100 %)"
    assert told_lines(result) == {"REQ-001": ["src.py:2, 7"], "REQ-002": ["src.py:2-6"]}
    assert {one.by for one in result.lines} == {KnownBy.RAN}
    lcov = Path(result.evidence[0].log).read_text()
    assert lcov.startswith("TN:\nSF:src.py\nDA:1,1\n") and lcov.endswith("LF:7\nLH:7\nend_of_record\n")


@pytest.mark.req("A16")
def test_too_few_are_refused_with_the_lines(judging: Judging) -> None:
    result = judge(judging, CODE, HALF)

    assert verdicts(result) == REFUSED
    message = result.findings[0].message
    assert "3 of 7 changed lines (42.8 %, 70 % are asked for)" in message and "src.py:3-6." in message
    assert result.findings[0].paths == ["src.py"]


def test_what_is_asked_comes_from_the_base(judging: Judging) -> None:
    low = ALONE.replace("project = 0", "project = 0\nchanged = 40")
    assert verdicts(judge(judging, CODE, HALF, config=low)) == []


def test_off_is_listed_and_costs_nothing(judging: Judging) -> None:
    result = judge(judging, CODE, HALF, config="[gates.coverage]\nchanged = 0\nproject = 0\n")
    assert (verdicts(result), result.unverified, judging.checkouts) == ([], ["coverage: off"], [])


@pytest.mark.req("A16")
def test_a_file_that_no_test_loads_is_uncovered(judging: Judging) -> None:
    made = candidate(judging, {"src.py": CODE, "other.py": CODE, "tests/test_add.py": WHOLE})
    result = check(judging, made)

    assert verdicts(result) == REFUSED and "other.py:1-7" in result.findings[0].message


PRAGMAS = {
    "pragma": {"src.py": CODE.replace("10:", "10:  # pragma: no cover")},
    "coveragerc": {".coveragerc": "[run]\nomit = *\n[report]\nexclude_lines = .*\n"},
    "setup.cfg": {"setup.cfg": "[coverage:run]\nomit = *\n"},
    "pyproject": {"pyproject.toml": '[tool.coverage.run]\nomit = ["*"]\n'},
}
FAKES = {
    "trace taken away": "import sys\nsys.settrace(None)\nimport threading\nthreading.settrace(None)\n",
    "monitoring freed": "import sys\nfor tool in range(6) if hasattr(sys, 'monitoring') else ():\n"
    "    sys.monitoring.free_tool_id(tool)\n",
    "claims the lines": f"exec(compile('\\n' * 2 + 'unit = 2\\n' * 5, {'src.py'!r}, 'exec'))\n",
    "report thrown away": "import os, shutil, sys\nfor place in sys.path:\n"
    "    shutil.rmtree(os.path.join(place, 'seen'), ignore_errors=True)\n",
    "own report": "open('coverage.info', 'w').write('SF:src.py\\nDA:3,1\\nDA:4,1\\nDA:5,1\\nDA:6,1\\n')\n",
}


@pytest.mark.req("A16")
@pytest.mark.parametrize("name", PRAGMAS)
def test_no_setting_of_the_tree_takes_a_line_away(judging: Judging, name: str) -> None:
    assert verdicts(check(judging, candidate(judging, {"src.py": CODE, "tests/test_add.py": HALF} | PRAGMAS[name])))


@pytest.mark.req("A16")
@pytest.mark.parametrize("name", FAKES)
def test_who_tampers_with_what_looks_gains_nothing(judging: Judging, name: str) -> None:
    assert verdicts(judge(judging, FAKES[name] + CODE, HALF)) == REFUSED


def test_whoever_ends_the_process_loses_nothing_that_ran(judging: Judging) -> None:
    ends = "\n\ndef test_zz():\n    import os\n    os._exit(0)\n"
    assert verdicts(judge(judging, CODE, WHOLE + ends)) == []
    assert verdicts(judge(judging, CODE, HALF + ends)) == REFUSED


@pytest.mark.parametrize("place", ["seen/0", "seen/loop", "root"])
def test_hostile_files_in_the_probes_folder_are_junk(judging: Judging, place: str) -> None:
    junk = (
        "import os, sys\n\n\ndef spoil():\n    for one in sys.path:\n"
        "        if os.path.isdir(os.path.join(one, 'seen')):\n"
        f"            target = os.path.join(one, {place!r})\n            os.path.exists(target) and os.unlink(target)\n"
        "            os.symlink('/dev/zero', target)\n            os.mkfifo(target + '.pipe')\n"
        "            junk = b'P\\nL\\tsrc.py\\t99999999999\\nT\\n\\xff\\t\\t'\n"
        "            open(os.path.join(one, 'seen', 'x'), 'wb').write(junk)\n"
    )
    test = f"from src import price\n{junk}\n\ndef test_req_001():\n    spoil()\n    assert price(1) == 3\n"
    assert verdicts(judge(judging, CODE, test)) == REFUSED


# ── nothing to measure ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("A16")
@pytest.mark.parametrize("kind", [Kind.REFACTOR, Kind.DOCS])
def test_a_refactor_or_docs_story_is_not_asked(judging: Judging, kind: Kind) -> None:
    result = judge(judging, CODE, HALF, kind=kind)
    assert (verdicts(result), result.unverified) == ([], []) and "nothing to measure" in result.evidence[0].summary
    assert judging.checkouts == []


NO_LINES = {
    "documents": {"README.md": "more\n"},
    "tests alone": {"tests/test_more.py": "def test_more():\n    assert len('b') == 1\n"},
    "no statement": {"src.py": '"""A docstring."""\n# a comment\n'},
    "a file goes": {"README.md": None},
}


@pytest.mark.req("A16")
@pytest.mark.parametrize("name", NO_LINES)
def test_without_a_line_that_runs_there_is_nothing_to_measure(judging: Judging, name: str) -> None:
    result = check(judging, candidate(judging, NO_LINES[name]))  # type: ignore[arg-type]
    assert (verdicts(result), result.unverified) == ([], []) and "nothing to measure" in result.evidence[0].summary


def test_old_lines_and_lines_that_moved_are_not_asked_for(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, BASE | {"src.py": CODE, "old.py": CODE.replace("price", "cost")})
    more = CODE + "\n\ndef double(n):\n    return 2 * n\n\n\n" + CODE.replace("price", "cost")
    test = "from src import double\n\n\ndef test_req_001():\n    assert double(2) == 4\n"
    result = check(judging, candidate(judging, {"src.py": more, "old.py": None, "tests/test_add.py": test}))
    assert verdicts(result) == [] and "2 of 2 changed lines" in result.evidence[0].summary, result


# ── what can't be measured ────────────────────────────────────────────────────────────────────────────

BLIND = (
    f"env -u PYTHONPATH {PYTHON} -I -c "
    """'import sys, pytest; sys.path.insert(0, "."); sys.exit(pytest.main(["tests"]))'"""
)


@pytest.mark.req("A16")
def test_a_command_that_lets_nobody_look_is_listed_or_refused(judging: Judging) -> None:
    files = {"src.py": CODE, "tests/test_add.py": HALF}
    listed = check(judging, candidate(judging, files, command=BLIND))
    assert verdicts(listed) == [] and "lets itself be looked at" in listed.unverified[0]
    required = ALONE + "required = true\n"
    assert verdicts(check(judging, candidate(judging, files, command=BLIND, config=required))) == REFUSED


@pytest.mark.req("A16")
def test_other_languages_are_listed_by_name_or_refused(judging: Judging) -> None:
    files = {"src.py": CODE, "tests/test_add.py": WHOLE, "run.sh": "echo yes\n"}
    listed = check(judging, candidate(judging, files))
    assert verdicts(listed) == [] and "run.sh" in listed.unverified[0]
    assert verdicts(check(judging, candidate(judging, files, config=ALONE + "required = true\n"))) == REFUSED


def test_code_that_fails_while_it_is_looked_at_is_refused_where_the_project_can_be_measured(tmp_path: Path) -> None:
    judging = Judging.of(
        tmp_path,
        BASE | {"old.py": "A = 1\n", "tests/test_old.py": "import old\n\n\ndef test_old():\n    assert old.A\n"},
    )
    shy = (
        "import sys\nif sys.gettrace() or getattr(sys, 'monitoring', None) and sys.monitoring.get_tool(4):\n"
        "    raise SystemExit(3)\n"
    )
    config = f"[test]\ncommand = {PYTEST!r}\n[gates.coverage]\nproject = 0\n"
    made = candidate(judging, {"src.py": shy + CODE, "tests/test_add.py": HALF}, config=config)
    assert verdicts(check(judging, made)) == REFUSED


def test_a_run_that_takes_too_long_counts_what_ran(judging: Judging) -> None:
    waits = "\n\ndef test_zz():\n    import threading\n    threading.Event().wait()\n"
    made = candidate(judging, {"src.py": CODE, "tests/test_add.py": WHOLE + waits}, config=ALONE + "")
    quick = made.config.model_copy(update={"test": made.config.test.model_copy(update={"timeout_seconds": 20.0})})
    result = check(judging, replace(made, config=quick))
    assert (verdicts(result), result.evidence[0].exit_code) in (([], None), ([], -9), ([], 137)), result


# ── the whole project ─────────────────────────────────────────────────────────────────────────────────

OLD = {"old.py": CODE, "tests/test_old.py": "from old import price\n\n\ndef test_old():\n    assert price(1) == 3\n"}
PROJECT = f"[test]\ncommand = {PYTEST!r}\n"


def at_least(percent: int, changed: int = 0) -> str:
    return f"{PROJECT}[gates.coverage]\nchanged = {changed}\nproject = {percent}\n"


@pytest.mark.req("A16")
def test_a_project_that_reached_its_part_keeps_it(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, BASE | OLD)
    result = check(
        judging,
        candidate(
            judging,
            {"src.py": CODE + CODE, "tests/test_add.py": "import src\n\n\ndef test_req_001():\n    assert src\n"},
            config=at_least(40),
        ),
    )
    assert verdicts(result) == REFUSED and "without the story it is 42.8 %" in result.findings[0].message, result


@pytest.mark.req("A16")
def test_below_its_part_the_gap_is_listed_and_may_not_grow(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, BASE | OLD)
    fine = check(judging, candidate(judging, {"src.py": CODE, "tests/test_add.py": WHOLE}, config=at_least(80)))
    assert verdicts(fine) == [] and "run 71.4 % of the project's lines, 80 % are asked for" in fine.notes[0], fine
    worse = {"src.py": CODE + CODE, "tests/test_add.py": "import src\n\n\ndef test_req_001():\n    assert src\n"}
    assert verdicts(check(judging, candidate(judging, worse, config=at_least(80)))) == REFUSED


# ── what it costs, and who else looks ─────────────────────────────────────────────────────────────────


def test_the_mutation_gates_control_is_its_run(judging: Judging) -> None:
    made = candidate(judging, {"src.py": "# a comment\n" + CODE, "tests/test_add.py": WHOLE})
    looks = Looks(judging.runner)
    assert not Mutation(judging.runner, looks).check(made).findings
    before = len(judging.checkouts)
    shared = Coverage(judging.runner, judging.mirror, looks).check(made)
    assert len(judging.checkouts) == before
    assert told_lines(shared) == {"REQ-001": ["src.py:3, 8"], "REQ-002": ["src.py:3-7"]}
    assert told_lines(shared) == told_lines(check(judging, made))


def test_unittest_tells_its_tests_too(judging: Judging) -> None:
    test = (
        "import unittest\nfrom src import price\n\n\nclass T(unittest.TestCase):\n    def test_req_001(self):\n"
        "        self.assertEqual(price(1), 3)\n\n    def test_req_002(self):\n"
        "        self.assertEqual(price(20), 40)\n"
    )
    made = candidate(
        judging, {"src.py": CODE, "tests/__init__.py": "", "tests/test_add.py": test}, command=UNITTEST + " -t ."
    )
    assert told_lines(check(judging, made)) == {"REQ-001": ["src.py:2, 7"], "REQ-002": ["src.py:2-6"]}


@pytest.mark.req("A1.3")
def test_a_file_that_the_contract_names_is_a_test_whatever_its_name(judging: Judging) -> None:
    """Its lines are asked of nobody, but code stays code: what holds examples only, or tests among its code."""
    check_file = "checks/price_check.py"
    contract = TestContract("TC-1", "has a price", ContractKind.UNIT, check_file)
    command = f"{PYTHON} -m pytest -q -p no:cacheprovider {check_file}"
    unused = WHOLE + "\n\ndef helper():\n    return 1\n"
    parts: dict[str, object] = {"command": command, "scope": ("src.py", "checks/")}
    made = candidate(judging, {"src.py": CODE, check_file: unused}, contracts=(contract,), **parts)
    result = check(judging, made)
    assert verdicts(result) == [] and result.evidence[0].summary == "7 of 7 changed lines run (100 %)"
    examples = 'def f():\n    """\n    >>> f()\n    """\n'
    for path, text in (("src.py", examples), ("src/a.rs", "fn f() {}\n")):
        code = candidate(judging, {path: text}, contracts=(replace(contract, file=path),), scope=(path,))
        assert not is_test(code, path)
