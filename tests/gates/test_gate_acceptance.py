"""Gate acceptance: tests that no agent sees."""

from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from damascus.domain.ports import Candidate, GateResult
from damascus.domain.spec import Requirement
from damascus.evidence.held_out import HeldOutFile, acceptance_command
from damascus.gates.acceptance import Acceptance
from damascus.gates.tests import Tests
from tests.gates.judging import CODE, PYTEST, TEST, Judging, archive, verdicts

HELD_OUT = (
    "import pytest\nfrom src import add\n\n\n"
    "def test_secret_name_req_001():\n    assert add(2, 2) == 4, 'hidden detail'\n\n\n"
    "def test_other():\n    '''REQ-002'''\n    assert add(0, 0) == 0\n"
)


def candidate(judging: Judging, files: dict[str, str], held_out: bytes | None, command: str = PYTEST) -> Candidate:
    needs = (Requirement("REQ-001", "adds"), Requirement("REQ-002", "zero"))
    made = judging.candidate(files, command=command, requirements=needs, acceptance="acceptance/")
    return replace(made, acceptance=held_out)


def judged(folder: Path, code: str, held_out: bytes | None) -> GateResult:
    judging = Judging.of(folder)
    return Acceptance(judging.runner).check(candidate(judging, TEST | {"src.py": code}, held_out))


@pytest.mark.req("X1")
def test_a_candidate_that_meets_the_requirement_passes(tmp_path: Path) -> None:
    result = judged(tmp_path, CODE["src.py"], archive({"test_held.py": HELD_OUT}))
    assert result.findings == [] and result.evidence[0].exit_code == 0


@pytest.mark.req("X1")
def test_only_the_requirement_is_told(tmp_path: Path) -> None:
    result = judged(tmp_path, "def add(a, b):\n    return 0\n", archive({"test_held.py": HELD_OUT}))
    (finding,) = result.findings
    assert finding.verdict == "acceptance_failed" and finding.requirements == ["REQ-001"]
    assert (finding.tests, finding.paths, finding.output) == ([], [], "")
    told = finding.model_dump_json()
    assert not any(word in told for word in ("secret_name", "hidden", "test_held", "add("))
    assert "hidden detail" in Path(result.evidence[0].log).read_text()


@pytest.mark.req("X1")
@pytest.mark.parametrize(
    ("held_out", "requirements"),
    [
        (archive({"notes.md": "x"}), []),
        (archive({"test_held.py": HELD_OUT.replace("import add", "import nothing")}), ["REQ-001", "REQ-002"]),
        (archive({"test_held.py": "def test_x():\n    assert len('')\n"}), []),
        (b"no tar", []),
        (None, []),
    ],
    ids=["no test", "not collected", "no id", "junk", "missing"],
)
def test_what_did_not_run_has_not_passed(tmp_path: Path, held_out: bytes | None, requirements: list[str]) -> None:
    result = judged(tmp_path, CODE["src.py"], held_out)
    assert verdicts(result) == ["acceptance_failed"]
    assert result.findings[0].requirements == requirements


@pytest.mark.req("X1")
@pytest.mark.parametrize(("script", "expected"), [("grep -q add src.py", []), ("exit 1", ["acceptance_failed"])])
def test_a_run_script_is_judged_by_exit_code(tmp_path: Path, script: str, expected: list[str]) -> None:
    result = judged(tmp_path, CODE["src.py"], archive({"run": f"#!/bin/sh\n{script}\n"}, executable=("run",)))
    assert verdicts(result) == expected
    assert result.unverified == ["acceptance: by exit code only"]


@pytest.mark.req("X1")
def test_code_that_ends_the_held_out_run_early_has_not_passed(tmp_path: Path) -> None:
    result = judged(tmp_path, "import os\nos._exit(0)\n", archive({"test_held.py": HELD_OUT}))
    assert verdicts(result) == ["acceptance_failed"]


def test_a_spec_without_acceptance_has_nothing_to_judge(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    result = Acceptance(judging.runner).check(judging.candidate(CODE))
    assert result.findings == [] and result.evidence == []


VISIBLE = ("tests/test_a.py", "tests/sub/test_b.py", "src/a.py")


@pytest.mark.req("X1")
@pytest.mark.parametrize(
    ("test_command", "expected"),
    [
        (".venv/bin/python -m pytest", ".venv/bin/python -m pytest HERE"),
        ("A=1 python -m pytest -q tests/test_a.py", "A=1 python -m pytest -q HERE/test_a.py"),
        ("python -m pytest tests -q -p no:x", "python -m pytest HERE -q -p no:x"),
        ("python -m pytest tests/test_a.py::test_x tests/sub", "python -m pytest HERE"),
        ("python -m pytest -k one tests/test_a.py -m slow", "python -m pytest HERE/test_a.py"),
        ("python -m pytest --deselect=tests/test_a.py -x", "python -m pytest -x HERE"),
        ("cd x && python3.12 -m unittest", "python3.12 -m pytest -q HERE"),
        (".venv/bin/pytest -q", ".venv/bin/python -m pytest -q HERE"),
        ("make test", "python3 -m pytest -q HERE"),
    ],
)
def test_the_held_out_tests_run_as_the_visible_ones_do(test_command: str, expected: str) -> None:
    found = acceptance_command([HeldOutFile("test_a.py", b"", False)], test_command, "tests/one", VISIBLE)
    assert found == expected.replace("HERE", "tests/one")


@pytest.mark.req("X1")
def test_no_name_of_ours_tells_code_that_it_is_held_to_acceptance(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    runs = {}
    spy = (
        "import os, pathlib, sys\nSEEN = '\\n'.join([*sys.argv, *os.environ, os.getcwd().rpartition('/')[2], *map(str, "
    )
    spy += "sorted(pathlib.Path('.').rglob('*')))])\nprint('BEGIN', SEEN, 'END')\n\n\n" + CODE["src.py"]
    for label, held_out in (("visible", None), ("held out", archive({"test_held.py": HELD_OUT}))):
        made = candidate(judging, TEST | {"src.py": spy}, held_out, f"{PYTEST}/test_add.py -s")
        gate = Tests(judging.runner) if held_out is None else Acceptance(judging.runner)
        result = gate.check(made)
        runs[label] = Path(result.evidence[0].log).read_text().partition("BEGIN")[2].partition("END")[0].split()
    new = [word for word in runs["held out"] if word not in runs["visible"]]
    folder = next(str(PurePosixPath(word).parent) for word in new if word.endswith("/test_held.py"))
    assert set(new) == {folder, f"{folder}/test_held.py"}, "its file is called as its author called it"
    assert not any(word in folder for word in ("damascus", "accept", "held"))
    assert folder.startswith("tests/")
    assert len(runs["held out"]) == len(runs["visible"]) + 2, "the folder and its file, and no other word"
    said = sorted(word for word in runs["held out"] if not word.startswith(folder))
    runs["visible"].remove("tests/test_add.py")  # the argument, in whose place the held-out file stands
    assert said == sorted(runs["visible"])
