"""Gate mutation: the body of each changed function is taken away, and a test must notice."""

from dataclasses import replace
from pathlib import Path

import pytest

from damascus.domain.ports import Candidate, GateResult
from damascus.domain.spec import Requirement
from damascus.gates.mutation import Mutation
from tests.gates.judging import BASE, Judging, verdicts
from tests.toolchains import need_program

LOCK = 'version = 4\n\n[[package]]\nname = "m"\nversion = "0.1.0"\n'
REFUSED = ["code_unproved"]
CODE = """
def add(a: int, b: int) -> int:
    return a + b
"""


def judge(judging: Judging, code: str, test: str, **parts: object) -> GateResult:
    return check(judging, candidate(judging, {"src.py": code, "tests/test_add.py": test}, **parts))


def candidate(judging: Judging, files: dict[str, str], **parts: object) -> Candidate:
    ids = parts.pop("ids", ("REQ-001",))
    made = judging.candidate(files, config=str(parts.pop("config", '[test]\ncommand = "none"\n')), **parts)  # type: ignore[arg-type]
    needs = tuple(Requirement(ident, "a need") for ident in ids)  # type: ignore[union-attr]
    return replace(made, spec=replace(made.spec, requirements=needs))


def check(judging: Judging, made: Candidate) -> GateResult:
    return Mutation(judging.runner).check(made)


@pytest.fixture
def judging(tmp_path: Path) -> Judging:
    return Judging.of(tmp_path, BASE)


@pytest.mark.req("D7")
def test_a_function_that_a_test_needs_passes(judging: Judging) -> None:
    result = judge(judging, CODE, "from src import add\n\ndef test_req_001():\n    assert add(1, 2) == 3\n")

    assert (verdicts(result), result.unverified, result.notes, result.flaky) == ([], [], [], [])
    assert "1 changed functions, mutants: 2 killed" in result.evidence[0].summary


LIES = {
    "red when alone": "READY = []\n\ndef test_first():\n    READY.append(1)\n\ndef test_req_001():\n    add(1, 2)\n"
    "    assert READY\n",
    "no assertion": "def test_req_001():\n    assert True\n    add(1, 2)\n",
    "tautology": "def test_req_001():\n    assert add(1, 2) == add(1, 2)\n",
    "type only": "def test_req_001():\n    assert isinstance(add(1, 2), int)\n",
    "not none": "def test_req_001():\n    assert add(1, 2) is not None\n",
    "swallowed": "def test_req_001():\n    try:\n        assert add(1, 2) == 3\n    except BaseException as err:\n"
    "        str(err)\n",
    "mocked": "import src\ndef test_req_001(monkeypatch):\n    monkeypatch.setattr(src, 'add', lambda a, b: 3)\n"
    "    assert src.add(1, 2) == 3\n",
    "copied": "def plus(a, b):\n    return a + b\ndef test_req_001():\n    assert plus(1, 2) == 3\n",
    "source text": "import pathlib\ndef test_req_001():\n    assert pathlib.Path('src.py').read_text() == '''"
    + CODE
    + "'''\n",
    "bytecode": "def test_req_001():\n    assert len(add.__code__.co_code) == LENGTH\n",
}


@pytest.mark.req("D7")
@pytest.mark.parametrize("name", LIES)
def test_a_test_that_needs_no_code_is_refused(judging: Judging, name: str) -> None:
    space: dict[str, object] = {}
    exec(CODE, space)
    length = len(space["add"].__code__.co_code)  # type: ignore[attr-defined]
    result = judge(judging, CODE, "from src import add\n" + LIES[name].replace("LENGTH", str(length)))

    assert set(verdicts(result)) == set(REFUSED), result


STACKS = {
    "node": (
        "node --test",
        {"package.json": '{"name": "m", "type": "module"}\n'},
        {"add.js": "export function add(a, b) {\n  return a + b;\n}\n"},
        "add.test.js",
        "import test from 'node:test';\nimport assert from 'node:assert';\nimport {{ add }} from './add.js';\n"
        "test('REQ-001 adds', () => {{ {} }});\n",
        ("assert.equal(add(1, 2), 3);", "add(1, 2); assert.ok(true);"),
    ),
    "go": (
        "go test -v ./...",
        {"go.mod": "module m\n\ngo 1.21\n"},
        {"add.go": "package m\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n"},
        "add_test.go",
        'package m\n\nimport "testing"\n\nfunc TestREQ_001(t *testing.T) {{\n\t{}\n}}\n',
        ('if Add(1, 2) != 3 { t.Error("no") }', 'Add(1, 2); if t == nil { t.Error("no") }'),
    ),
    "rust": (
        "cargo test --offline",
        {"Cargo.toml": '[package]\nname = "m"\nversion = "0.1.0"\nedition = "2021"\n', "Cargo.lock": LOCK},
        {"src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n"},
        "tests/add.rs",
        "#[test]\nfn req_001_adds() {{ {} }}\n",
        ("assert_eq!(m::add(1, 2), 3);", "assert!(m::add(1, 2) < 1000);"),
    ),
}


@pytest.mark.req("D7")
@pytest.mark.parametrize("stack", STACKS)
def test_other_stacks(tmp_path: Path, stack: str) -> None:
    command, base, code, path, test, (honest, lying) = STACKS[stack]
    need_program(command.split()[0])
    judging = Judging.of(tmp_path, {**BASE, **base})
    good = check(judging, candidate(judging, {**code, path: test.format(honest)}, command=command))
    assert verdicts(good) == [], good
    assert "killed" in good.evidence[0].summary and "survived" not in good.evidence[0].summary
    bad = check(judging, candidate(judging, {**code, path: test.format(lying)}, command=command))
    assert set(verdicts(bad)) == set(REFUSED), bad
