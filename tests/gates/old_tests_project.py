"""A project with tests of each kind, and what gate old_tests says of a change to it."""

from collections.abc import Mapping
from pathlib import Path

from damascus.domain.ports import GateResult
from damascus.gates.old_tests import OldTests
from tests.gates.judging import PYTEST, Judging

CALC = """\
def one():
    return 1


def two():
    return 2


def double(n):
    return n * 2


def triple(n):
    return n * 3


def square(n):
    return n * n
"""
BROKEN = CALC.replace("return 1", "return 11")
CONFTEST = "import pytest\n\n\n@pytest.fixture\ndef wanted():\n    return 2\n"
HELPER = "def same(a, b):\n    assert a == b\n"
CASES = "import pytest\nfrom calc import triple\n\n\n@pytest.mark.parametrize('n', [1, 2, 3])\n"
TEST_ONE = "from calc import one\n\n\ndef test_one():\n    assert one() == 1\n"
TEST_SAME = "from calc import double\nfrom tests.helper import same\n\n\ndef test_same():\n    same(double(2), 4)\n"
TEST_FIXTURE = "from calc import two\n\n\ndef test_fixture(wanted):\n    assert two() == wanted\n"
TEST_CASES = CASES + "def test_triple(n):\n    assert triple(n) == n + n + n\n"
TEST_DATA = (
    "import pathlib\nfrom calc import square\n\n\ndef test_data():\n"
    "    assert square(4) == int((pathlib.Path(__file__).parent / 'want.txt').read_text())\n"
)
BASE = {
    "calc.py": CALC,
    "tests/__init__.py": "",
    "tests/conftest.py": CONFTEST,
    "tests/helper.py": HELPER,
    "tests/test_one.py": TEST_ONE,
    "tests/test_same.py": TEST_SAME,
    "tests/test_fixture.py": TEST_FIXTURE,
    "tests/test_cases.py": TEST_CASES,
    "tests/test_data.py": TEST_DATA,
    "tests/want.txt": "16\n",
}
NEW = {
    "m.py": "def value():\n    return 42\n",
    "tests/test_m.py": "def test_m():\n    import m\n    assert m.value()\n",
}
SUITE = f'[test]\ncommand = "{PYTEST}"\n'.replace("'", "")
ONE = "tests/test_one.py::test_one"
Files = Mapping[str, str | None]


def judged(
    folder: Path, files: Files, base: Mapping[str, str] = BASE, config: str = SUITE, **spec: object
) -> GateResult:
    judging = Judging.of(folder, dict(base))
    candidate = judging.candidate(files, config=config, **{"scope": ("**",), **spec})  # type: ignore[arg-type]
    return OldTests(judging.runner, judging.mirror).check(candidate)
