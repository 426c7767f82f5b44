"""The tree as text: sources, tests, documents, and what tests say they prove."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "damascus"
TESTS = ROOT / "tests"
TALES = (SOURCE / "lab" / "lies", SOURCE / "lab" / "honest")


@cache
def sources(pattern: str = "*.py") -> dict[str, str]:
    """Without the tales of the lab: what their agents write is bad on purpose."""
    paths = [path for path in sorted(SOURCE.rglob(pattern)) if path.parent not in TALES]
    return {str(path.relative_to(SOURCE)): path.read_text() for path in paths}


@cache
def sources_of_tests() -> dict[str, str]:
    return {str(path.relative_to(TESTS)): path.read_text() for path in sorted(TESTS.rglob("*.py"))}


@cache
def documents() -> dict[str, str]:
    paths = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return {str(path.relative_to(ROOT)): path.read_text() for path in sorted(paths)}


def document(name: str) -> str:
    found = documents().get(name)
    assert found is not None, f"{name} is not there"
    return found


def constants(text: str) -> Iterator[str]:
    """Every string that is written in a Python source, without f-strings' parts and documentation."""
    tree = ast.parse(text)
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.value


@cache
def test_names() -> frozenset[str]:
    found = set()
    for text in sources_of_tests().values():
        found |= {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
    return frozenset(name for name in found if name.startswith("test_"))


@cache
def proved() -> frozenset[str]:
    """The ids of every `pytest.mark.req(...)`; a clause (W7.2) counts for its id."""
    found: set[str] = set()
    for text in sources_of_tests().values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "req":
                words = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
                found |= {word.partition(".")[0] for word in words if isinstance(word, str)}
    return frozenset(found)
