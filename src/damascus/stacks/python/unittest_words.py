"""What a call of unittest was given: files, patterns of files below a folder, tests by name.

`tests/test_a.py` is a file, `tests/**/test*.py` what discovery looks for, `tests/test_a.py::A` selects by name.
"""

import os
from pathlib import PurePosixPath

from damascus.stacks.locate import Locator

VALUES = ("-k", "--durations")
DISCOVERY = {"-s": "start", "--start-directory": "start", "-p": "pattern", "--pattern": "pattern", "-t": "top"}
DISCOVERY["--top-level-directory"] = "top"
ANYWHERE = "/**/"


def given(words: list[str], folder: str, root: str, locator: Locator) -> list[str]:
    """`words` begin with `unittest`, or with the script that ran its own tests."""
    if not words:
        return []
    flags, names = _sorted_out(words[1:])
    if words[0] != "unittest":
        script = words[0].removeprefix(root.rstrip("/") + "/")
        return [f"{script}::{name}" for name in names] or [script]
    if not names or names[0].lower() == "discover":
        return [_discovered(names[1:], flags, folder)]
    return [_named(name, folder, locator) for name in names]


def _sorted_out(words: list[str]) -> tuple[dict[str, str], list[str]]:
    flags: dict[str, str] = {}
    names: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in VALUES or word in DISCOVERY:
            flags[DISCOVERY.get(word, word)] = next(rest, "")
        elif word.startswith("--"):
            name, _, value = word.partition("=")
            flags[DISCOVERY.get(name, name)] = value
        elif word[:2] in DISCOVERY:
            flags[DISCOVERY[word[:2]]] = word[2:].removeprefix("=")
        elif not word.startswith("-"):
            names.append(word)
    return flags, names


def _discovered(names: list[str], flags: dict[str, str], folder: str) -> str:
    by_place = dict(zip(("start", "pattern", "top"), names, strict=False))
    asked = {"start": ".", "pattern": "test*.py"} | by_place | flags
    start = asked["start"]
    if "/" not in start and start != "." and "." in start:
        start = start.replace(".", "/")
    return _normal(folder, start).rstrip("/") + ANYWHERE + asked["pattern"]


def _named(name: str, folder: str, locator: Locator) -> str:
    """A path, or a dotted name of which the first parts are a file and the others stand in it."""
    if name.endswith(".py"):
        return _normal(folder, name)
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        stem = _normal(folder, "/".join(parts[:size]))
        file = next((path for path in (f"{stem}.py", f"{stem}/__init__.py") if locator.path(path)), None)
        if file is not None:
            return "::".join([locator.path(file) or file, *parts[size:]])
    return name


def _normal(folder: str, path: str) -> str:
    return str(PurePosixPath(os.path.normpath(os.path.join(folder, path))))
