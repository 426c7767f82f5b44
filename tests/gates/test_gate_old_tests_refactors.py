"""Gate old_tests: refactors that rename what the base's tests call, honest and not."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.gates.old_tests_project import BASE, BROKEN, CALC, ONE, TEST_ONE, Files, judged

MOVED = {"calc.py": None, "shop/__init__.py": "", "shop/sums.py": CALC}
EVERY = ("test_one", "test_same", "test_fixture", "test_cases", "test_data")


def adapting(old: str, new: str, base: Mapping[str, str] = BASE) -> dict[str, str | None]:
    """What an honest refactor makes of the tests."""
    return {path: text.replace(old, new) for path, text in base.items() if path.startswith("tests/") and old in text}


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    "files",
    [
        {**MOVED, **adapting("from calc", "from shop.sums")},
        {
            "calc.py": CALC.replace("def one", "def uno"),
            **adapting("one()", "uno()"),
            "tests/test_one.py": TEST_ONE.replace("import one", "import uno").replace("one()", "uno()"),
        },
        {
            "calc.py": CALC.partition("def double")[0],
            "more.py": "def double" + CALC.partition("def double")[2],
            **adapting("from calc import double", "from more import double"),
            **adapting("from calc import triple", "from more import triple"),
            **adapting("from calc import square", "from more import square"),
        },
    ],
    ids=["module", "function", "split"],
)
def test_a_refactor_that_renames_lands_with_the_bases_assertions(tmp_path: Path, files: Files) -> None:
    result = judged(tmp_path, files)
    assert (result.findings, result.asks) == ([], [])
    assert "under the names that the code has now" in result.notes[0]


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    "files",
    [
        {
            **MOVED,
            "shop/sums.py": BROKEN,
            **adapting("from calc", "from shop.sums"),
            "tests/test_one.py": TEST_ONE.replace("from calc", "from shop.sums").replace("== 1", "== 11"),
        },
        {
            "calc.py": BROKEN,
            "uno.py": "def uno():\n    return 1\n",
            "tests/test_one.py": "from uno import uno\n\n\ndef test_one():\n    assert uno() == 1\n",
        },
        {
            "calc.py": BROKEN,
            "tests/calc2.py": CALC,
            "tests/test_one.py": TEST_ONE.replace("from calc", "from tests.calc2"),
        },
        {
            **MOVED,
            "shop/sums.py": BROKEN,
            **adapting("from calc", "from shop.sums"),
            "tests/test_one.py": "import shop.sums\nshop.sums.one = lambda: 1\n"
            + TEST_ONE.replace("calc", "shop.sums"),
        },
    ],
    ids=["value", "beside", "in the tests", "patched"],
)
def test_a_lie_that_looks_like_a_refactor_is_asked_about(tmp_path: Path, files: Files) -> None:
    result = judged(tmp_path, files)
    assert [ask.tests for ask in result.asks] == [[ONE]] and result.findings == []
