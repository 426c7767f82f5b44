"""Gate mutation: a test that only breaks over an answer of another shape has not looked at what is in it."""

from dataclasses import replace
from pathlib import Path

import pytest

from damascus.domain.ports import GateResult
from damascus.domain.spec import Requirement
from damascus.gates.mutation import Mutation
from tests.gates.judging import BASE, Judging, verdicts

CODE = {
    "a dictionary": "def f(xs):\n    return {'total': 0, 'count': len(xs)}\n",
    "a pair": "def f(xs):\n    return xs[0], xs[0]\n",
    "a function": "def f(rate):\n    def price(n):\n        return n\n    return price\n",
    "a text of digits": "def f(text):\n    return str(len(text) + 3)\n",
    "a document": "import json\n\n\ndef f(data):\n    return json.dumps([len(data)])\n",
    "a date": "def f(y, m, d):\n    return f'{y:04d}-{m:02d}-{d:02d}'\n",
}
WEAK = {
    "a dictionary": "assert f([1, 2])['total'] is not None",
    "a pair": "low, high = f([2, 1, 3])\n    assert low >= 0",
    "a function": "price = f(3)\n    assert price(2) is not None",
    "a text of digits": "assert int(f('1.20')) > 0",
    "a document": "assert json.loads(f({'a': 1}))",
    "a date": "assert date.fromisoformat(f(2026, 1, 31))",
}
ASKS = {
    "a dictionary": "assert f([1, 2])['count'] == 2",
    "a pair": "low, high = f([2, 1, 3])\n    assert low == 2",
    "a function": "assert f(3)(2) == 2",
    "a text of digits": "assert int(f('1.20')) == 7",
    "a document": "assert json.loads(f({'a': 1})) == [1]",
    "a date": "assert date.fromisoformat(f(2026, 1, 31)) == date(2026, 1, 31)",
}


def judged(folder: Path, code: str, body: str) -> GateResult:
    test = f"import json\nfrom datetime import date\n\nfrom src import f\n\n\ndef test_req_001():\n    {body}\n"
    judging = Judging.of(folder, BASE)
    made = judging.candidate({"src.py": code, "tests/test_f.py": test}, config='[test]\ncommand = "none"\n')
    return Mutation(judging.runner).check(
        replace(made, spec=replace(made.spec, requirements=(Requirement("REQ-001", "it"),)))
    )


@pytest.mark.req("D7")
@pytest.mark.parametrize("name", WEAK)
def test_who_looks_at_the_shape_alone_is_refused(tmp_path: Path, name: str) -> None:
    result = judged(tmp_path, CODE[name], WEAK[name])
    assert verdicts(result) == ["code_unproved"]
    assert "stay green with `return other values in the same shape`" in result.findings[0].message


@pytest.mark.req("D7")
@pytest.mark.parametrize("name", ASKS)
def test_who_looks_at_the_values_passes(tmp_path: Path, name: str) -> None:
    assert verdicts(judged(tmp_path, CODE[name], ASKS[name])) == []


HONEST = {
    "an object": (
        "class Box:\n    def __init__(self, n):\n        self.n = n\n\n\ndef f(n):\n    return Box(n)\n",
        "assert f(3).n == 3",
    ),
    "its own kind of tuple": (
        "from collections import namedtuple\n\nP = namedtuple('P', 'x y')\n\n\ndef f(n):\n    return P(n, n)\n",
        "assert f(3).x == 3",
    ),
    "something random": ("import secrets\n\n\ndef f(n):\n    return secrets.token_hex(n)\n", "assert len(f(8)) == 16"),
    "an iterator": ("def f(n):\n    return iter(range(n))\n", "assert list(f(3)) == [0, 1, 2]"),
    "nothing inside": ("def f(n):\n    return {}\n", "assert f(1) == {}\n    f(1)['a'] = 1"),
    "a decorator": (
        "def f(g):\n    def inner(n):\n        return g(n) + 1\n    return inner\n",
        "@f\n    def three(n):\n        return 3\n    assert three(1) == 4",
    ),
}


@pytest.mark.req("D7")
@pytest.mark.parametrize("name", HONEST)
def test_what_has_no_other_value_refuses_nobody(tmp_path: Path, name: str) -> None:
    assert verdicts(judged(tmp_path, *HONEST[name])) == []
