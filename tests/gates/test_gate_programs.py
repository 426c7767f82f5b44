"""What a gate command runs is not the story's to bring: nobody is judged by a program of his own."""

from pathlib import Path

import pytest

from damascus.evidence.gate_programs import run_by
from damascus.gates.weakened_tests import WeakenedTests
from tests.gates.judging import PYTEST, Judging, verdicts

pytestmark = pytest.mark.req("A6")
SCOPE = ("g*.py", "g/", "src.py", "tests/")
FAKE = {"glint.py": "", "g/pyflakes.py": "", "g/lint.sh": "exit 0\n"}
OWN = ("python3 -m glint .", "./g/lint.sh", "cd g && python3 -m pyflakes .")


def test_fake_tools_that_a_candidate_brings_are_refused(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    own = WeakenedTests().check(judging.candidate(FAKE, scope=SCOPE, gate_commands=OWN))
    config = "[gates.commands]\n" + "".join(f"c{n} = '{each}'\n" for n, each in enumerate(OWN))
    projects = WeakenedTests().check(judging.candidate(FAKE, scope=SCOPE, config=config))
    for result in (own, projects):
        assert verdicts(result) == ["tests_weakened"] and sorted(result.findings[0].paths) == sorted(FAKE)


def test_a_program_that_the_scope_names_is_the_persons_word(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    named = judging.candidate(FAKE, scope=(*FAKE, "src.py"), gate_commands=OWN)
    assert WeakenedTests().check(named).findings == []


def test_what_a_command_looks_at_is_the_storys_and_its_tests_are_tests(tmp_path: Path) -> None:
    own = ("ruff check src.py g/a.py > g/out.txt", f"{PYTEST}/test_new.py", "node --test g/a.test.js")
    files = {"src.py": "", "g/a.py": "", "tests/test_new.py": "", "g/a.test.js": "", "g/out.txt": ""}
    judging = Judging.of(tmp_path)
    assert WeakenedTests().check(judging.candidate(files, scope=SCOPE, gate_commands=own)).findings == []


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("./g/lint.sh", "g/lint.sh"),
        ("sh -e g/lint.sh .", "g/lint.sh"),
        ("bash -c 'cd g && ./lint.sh'", "g/lint.sh"),
        ('true; (cd "g"; ./lint.sh)', "g/lint.sh"),
        ("cd g\ncd h\n./lint.sh", "g/h/lint.sh"),
        ("if ! ./g/lint.sh; then exit 1; fi", "g/lint.sh"),
        ("A=1 env -i timeout 5 nice -n 5 ./g/lint.sh", "g/lint.sh"),
        ("cat x | xargs -n 1 ./g/lint.sh", "g/lint.sh"),
        ('"$PWD/g/lint.sh"', "g/lint.sh"),
        ("./tools/lint.sh", "tools"),
        ("python3 -m glint .", "glint.py"),
        ("python3 -Im glint .", "glint/__main__.py"),
        ("python3 -mglint .", "glint/__init__.py"),
        ("uv run python -m g.lint", "g/lint.py"),
        ("uv run python -m g.lint", "g/__init__.py"),
        ("PYTHONPATH=g:h python3 -m pyflakes .", "h/pyflakes.py"),
        ("export PATH=g:$PATH; lint .", "g/lint"),
        ("python3 g", "g/__main__.py"),
        ("python3 -W error g/lint.py", "g/lint.py"),
        ("node g/lint", "g/lint.js"),
        ("go run ./g/lint .", "g/lint/other.go"),
        ("./g/'lint.sh' it's", "g/lint.sh"),
    ],
)
def test_what_a_command_runs(command: str, path: str) -> None:
    assert run_by(command, path)


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("ruff check src.py", "src.py"),
        ("cd g && ruff check a.py", "g/a.py"),
        ("python3 -m mypy src.py", "src.py"),
        ("grep -q x 'src.py'", "src.py"),
        ("test -e src.py && echo x > src.py", "src.py"),
        ("", "src.py"),
    ],
)
def test_what_it_only_reads(command: str, path: str) -> None:
    assert not run_by(command, path)
