"""Gate mutation: the body of each changed function is taken away, and a test must notice."""

import json
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from damascus.domain.ports import Candidate, EvidenceRunner, GateResult, Job, TestRun
from damascus.domain.requirement_lines import KnownBy
from damascus.domain.spec import Requirement
from damascus.gates.mutation import Mutation
from tests.gates.judging import BASE, Judging, told_lines, verdicts
from tests.toolchains import need_program

LOCK = 'version = 4\n\n[[package]]\nname = "m"\nversion = "0.1.0"\n'
REFUSED = ["code_unproved"]
CODE = """
def add(a: int, b: int) -> int:
    return a + b
"""


def judge(judging: Judging, code: str, test: str, **parts: object) -> GateResult:
    return check(judging, candidate(judging, {"src.py": code, "tests/test_add.py": test}, **parts))


def candidate(judging: Judging, files: Mapping[str, str | bytes], **parts: object) -> Candidate:
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
    told = json.loads(Path(result.evidence[0].log).read_text())
    for mutant in told:
        assert mutant["where"].startswith("src.py:2") and mutant["died"] == ["tests/test_add.py::test_req_001"]
    assert [mutant["diff"].partition("@@ ")[2] for mutant in told] == [
        f"-3,1 +3,1 @@\n-    return a + b\n+    return {told[0]['put in']}",
        f"-3,0 +3,1 @@\n+    {told[1]['put in']}",
    ]


@pytest.mark.req("F5.1")
def test_the_lines_that_each_requirement_needs_are_told_by_who_missed_them(judging: Judging) -> None:
    code = CODE + "\n\ndef less(a: int, b: int) -> int:\n    return a - b\n\n\ndef shout(a):\n    return a + '!'\n"
    test = (
        "from src import add, less, shout\n\ndef test_req_001():\n    assert add(1, 2) == 3\n\n"
        "def test_req_002():\n    assert less(add(1, 2), 1) == 2\n\ndef test_other():\n    assert shout('a') == 'a!'\n"
    )
    result = judge(judging, code, test, ids=("REQ-001", "REQ-002"))

    assert verdicts(result) == []
    assert told_lines(result) == {"REQ-001": ["src.py:2-3"], "REQ-002": ["src.py:2-3, 6-7"]}
    assert {one.by for one in result.lines} == {KnownBy.NOTICED}


@dataclass
class TwoAtOnce:
    """A runner in which no control begins before another story's has begun."""

    runner: EvidenceRunner
    both: threading.Barrier

    def run(self, job: Job) -> TestRun:
        if job.label == "control":
            self.both.wait()
        return self.runner.run(job)


@pytest.mark.req("D7")
def test_no_story_waits_for_the_control_of_another(judging: Judging) -> None:
    test = "from src import add\n\ndef test_req_001():\n    assert add(1, 2) == 3\n"
    stories = [candidate(judging, {"src.py": CODE + more, "tests/test_add.py": test}) for more in ("", "# other\n")]
    gate = Mutation(TwoAtOnce(judging.runner, threading.Barrier(2, timeout=60)))

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(gate.check, stories))

    assert [verdicts(result) for result in results] == [[], []]


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
    "lines that ran": "import sys\ndef test_req_001():\n    lines = []\n    def trace(frame, event, arg):\n"
    "        lines.append(frame.f_lineno)\n        return trace\n    sys.settrace(trace)\n    add(1, 2)\n"
    "    sys.settrace(None)\n    assert max(lines) == max(line for *_, line in add.__code__.co_lines() if line)\n",
    "arguments that were used": "class Spy(int):\n    used = 0\n    def __add__(self, other):\n        Spy.used += 1\n"
    "        return 0\ndef test_req_001():\n    add(Spy(1), 2)\n    assert Spy.used\n",
    "conditions of the source": "import ast, pathlib\ndef test_req_001():\n    add(1, 2)\n"
    "    for one in ast.walk(ast.parse(pathlib.Path('src.py').read_text())):\n        if isinstance(one, ast.If):\n"
    "            assert not eval(ast.unparse(one.test))\n",
    "an error alone": "import pytest\ndef test_req_001():\n    with pytest.raises(TypeError):\n        add(1, 'a')\n",
    "bytecode": "def test_req_001():\n    assert len(add.__code__.co_code) == LENGTH\n",
}


WORKS = "SEEN = []\n\n\ndef add(a: int, b: int) -> int:\n    SEEN.append(a)\n    return a + b\n"


@pytest.mark.req("D7")
def test_who_asks_only_what_else_was_done_is_told(judging: Judging) -> None:
    """It may be what the requirement is about; a person can tell."""
    only = "import src\n\ndef test_req_001():\n    src.add(1, 2)\n    assert src.SEEN == [1]\n"
    result = judge(judging, WORKS, only)
    assert verdicts(result) == []
    assert "mutation: src.py:4 add: its tests notice that it ran, and none what it answers" in result.notes


@pytest.mark.req("D7")
@pytest.mark.parametrize("name", LIES)
def test_a_test_that_needs_no_code_is_refused(judging: Judging, name: str) -> None:
    space: dict[str, object] = {}
    exec(CODE, space)
    length = len(space["add"].__code__.co_code)  # type: ignore[attr-defined]
    result = judge(judging, CODE, "from src import add\n" + LIES[name].replace("LENGTH", str(length)))

    assert set(verdicts(result)) == set(REFUSED), result


PRICE = "def price(qty, unit):\n    return qty + unit * 7\n"
ASKING = "from src import price\n\n\ndef test_req_001():\n    assert price(2, 3) == 23\n"
HOLLOW = ASKING.replace("== 23", "is not None")
INDENTED = PRICE.replace("\n", "\n        ").rstrip()
FORMS: dict[str, str | bytes] = {
    "byte order mark": b"\xef\xbb\xbf" + PRICE.encode(),
    "latin-1": f"# -*- coding: latin-1 -*-\n# caf\xe9\n{PRICE}".encode("latin-1"),
    "base of a telling name": "class ProtocolBase:\n    pass\n\n\nclass Shop(ProtocolBase):\n"
    "    def total(self, qty, unit):\n        return qty + unit * 7\n\n\nprice = Shop().total\n",
    "own overload": f"def overload(f):\n    return f\n\n\n@overload\n{PRICE}",
    "match": f"match 1:\n    case 1:\n        {INDENTED}\n",
    "annotated lambda": "from collections.abc import Callable\n\nprice: Callable = lambda qty, unit: qty + unit * 7\n",
    "partial": "from functools import partial\n\nprice = partial(lambda f, a, b: f(a, b * 7), int.__add__)\n",
    "never": "from typing import NoReturn\n\n\n" + PRICE.replace("):", ") -> NoReturn:"),
    "exec": f"exec({PRICE!r})\n",
    "decorator": "import functools\n\nby = functools.partial(lambda f: lambda a, b: a + b * 7)\n\n\n"
    "@by\ndef price(a, b): ...\n",
    "long constant": "TABLE = (" + "".join(f"'row{i}' +\n" for i in range(1500)) + f"'end')\n\n\n{PRICE}",
}


@pytest.mark.req("D7")
@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_the_code_keeps_mutants_away(judging: Judging, form: str) -> None:
    good = check(judging, candidate(judging, {"src.py": FORMS[form], "tests/test_add.py": ASKING}))
    assert verdicts(good) == [], good
    bad = check(judging, candidate(judging, {"src.py": FORMS[form], "tests/test_add.py": HOLLOW}))
    assert set(verdicts(bad)) == set(REFUSED), bad


ASKED = {
    "all constants but": ("assert price(2, 3) not in (0, 1, True, False, None, '', 'damascus')", False),
    "instructions": ("assert any(i.opname.startswith('BINARY') for i in dis.get_instructions(price))", False),
    "no jump": ("assert not any('JUMP' in i.opname for i in dis.get_instructions(price))", False),
    "one return": ("assert inspect.getsource(price).count('return') == 1", False),
    "no constant": ("assert 0 not in price.__code__.co_consts", False),
    "digits": ("assert str(price(2, 3)).isdigit()", False),
    "above nothing": ("assert price(2, 3) > 0", True),
    "nothing": ("assert price(0, 0) == 0", True),
    "below": ("assert price(0, 0) < 1", True),
}


@pytest.mark.req("D7")
@pytest.mark.parametrize("name", ASKED)
def test_what_counts_as_asking(judging: Judging, name: str) -> None:
    words, asks = ASKED[name]
    test = f"import dis, inspect\nfrom src import price\n\n\ndef test_req_001():\n    price(2, 3)\n    {words}\n"
    result = check(judging, candidate(judging, {"src.py": PRICE, "tests/test_add.py": test}))
    assert set(verdicts(result)) == (set() if asks else set(REFUSED)), result


@pytest.mark.req("D7")
def test_code_made_when_it_runs_is_told_by_line(judging: Judging) -> None:
    code = "import pathlib\n\nexec(pathlib.Path('src.txt').read_text())\n\n\ndef other(a):\n    return a + 1\n"
    test = "import src\n\n\ndef test_req_001():\n    assert src.other(1) == 2\n    assert vars(src)['price'](2, 3)\n"
    result = check(judging, candidate(judging, {"src.py": code, "src.txt": PRICE, "tests/test_add.py": test}))
    assert any("src.py:3 exec(" in line for line in result.unverified), result


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
