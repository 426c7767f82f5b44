"""Python: pytest and unittest. Sources are read by their syntax tree, never by running them."""

import re
from collections.abc import Collection

from damascus.stacks.python_source import read_tree
from damascus.stacks.stack import Stack, WrittenFile, paths
from damascus.stacks.words import Words, read_words

WORDS = Words(
    head=re.compile(r"^[ \t]{0,200}(?:async )?def (?P<name>test\w{0,300})\(", re.MULTILINE),
    skips=re.compile(r"\b(?:skip\w*|xfail|importorskip|SkipTest|expectedFailure)\b|__test__"),
    asserts=re.compile(r"\bassert\w*\b|\braises\b|\bfail\("),
    comment="#",
    mark="@",
)


def command(listing: Collection[str]) -> str:
    return "python3 -m pytest -q"


def read(source: str) -> WrittenFile:
    """By the syntax tree; by its words where this Python can't parse it (a newer or an older syntax)."""
    try:
        return read_tree(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return read_words(source, WORDS)


STACK = Stack(
    name="python",
    roots=("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini", "pytest.ini", "Pipfile"),
    extensions=(".py",),
    tests=paths(r"test_[^/]*\.py", r"[^/]*_test\.py", r"tests?\.py"),
    judges=paths(
        r"conftest\.py",
        r"\.?pytest\.(?:ini|toml)",
        r"(?:tox|mypy|\.mypy)\.ini",
        r"setup\.cfg",
        r"pyproject\.toml",
        r"(?:site|user)customize(?:\.py|/.*)",
        r"[^/]*\.pth",
        r"\.coveragerc",
        r"noxfile\.py",
        r"_?pytest(?:\.py|/.*)",
        r"unittest(?:\.py|/.*)",
        r"\.?ruff\.toml",
        r"\.flake8",
        r"\.?pylintrc[^/]*",
        r"pyrightconfig\.json",
        r"\.?venv/.*",
        r"[^/]*\.pyc",
    ),
    command=command,
    read=read,
    written=lambda name: name.partition("[")[0],
)
