"""Where a test of unittest is written: its file, and the name in it. Run before unittest_report, in one namespace."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

FIXTURE = re.compile(r"(setUp|tearDown)(Class|Module) \((.+)\)")
TRACED = re.compile(r'File "([^"\n]+)"')
LACKS = re.compile(r"module '([\w.]+)' has no attribute")
CWD = os.getcwd()


class TestPlace:
    """Where a test is written: its file, the name in it; `written` is another test's that it was made from."""

    def __init__(self, file: str, name: str, written: str = "") -> None:
        self.file, self.name, self.written = file, name, written


def place_of(test: Any) -> TestPlace:
    try:
        return found_place(test)
    except Exception:
        return TestPlace("", type(test).__name__)


def found_place(test: Any) -> TestPlace:
    kind, own = type(test), vars(test)
    method = str(own.get("_testMethodName", ""))
    if kind.__module__ == "unittest.loader" and kind.__name__ == "_FailedTest":
        return unloaded(method, str(own.get("_exception", "")))
    if kind.__module__ == "unittest.loader" and kind.__name__ == "ModuleSkipped":
        return TestPlace(file_of(method), "" if file_of(method) else method)
    if "_dt_test" in own:
        return TestPlace(full(own["_dt_test"].filename or ""), own["_dt_test"].name)
    if "_testFunc" in own:
        return TestPlace(full(own["_testFunc"].__code__.co_filename), qualified(own["_testFunc"].__qualname__))
    file = file_of(kind.__module__)
    if not method or not file:
        return TestPlace(file, str(test.id()))
    name = f"{qualified(kind.__qualname__)}::{method}"
    return TestPlace(file, name, written(file, name, getattr(kind, method, None)))


def written(file: str, name: str, method: Any) -> str:
    """For a test that is inherited, or made from a table by a decorator: the one that stands in a source."""
    made_from = str(getattr(method, "__qualname__", ""))
    source = file_of(str(getattr(method, "__module__", "")))
    if not made_from or "<locals>" in made_from or not source:
        return ""
    made_from = qualified(made_from)
    return "" if (source, made_from) == (file, name) else f"{source}::{made_from}"


def unloaded(name: str, text: str) -> TestPlace:
    """A module that could not be imported is its file; what is missing in a module is a test of it."""
    ends = tuple(f"{os.sep}{name.replace('.', os.sep)}{end}" for end in (".py", f"{os.sep}__init__.py"))
    traced = [full(path) for path in TRACED.findall(text)]
    file = next((path for path in traced if path.endswith(ends)), file_of(name))
    lacking = LACKS.search(text)
    if not file and lacking:
        return TestPlace(file_of(lacking[1]), name)
    return TestPlace(file, "" if file else name)


def places_of(test: Any) -> list[TestPlace]:
    """Of what is told without having begun: a class that could not be set up stands for its tests."""
    fixture = FIXTURE.fullmatch(str(getattr(test, "description", "")))
    if fixture is None:
        return [place_of(test)]
    phase, what, name = fixture.groups()
    if what == "Module":
        return [TestPlace(file_of(name), "" if file_of(name) else name)]
    try:
        kind = class_named(name)
        file, label = file_of(kind.__module__), qualified(kind.__qualname__)
        tests = sys.modules["unittest.loader"].defaultTestLoader.getTestCaseNames(kind) if phase == "setUp" else []
        places = [
            TestPlace(file, f"{label}::{one}", written(file, f"{label}::{one}", getattr(kind, one))) for one in tests
        ]
        return places or [TestPlace(file, label)]
    except Exception:
        return [TestPlace("", name)]


def class_named(name: str) -> Any:
    parts = name.split(".")
    for size in range(len(parts) - 1, 0, -1):
        found: Any = sys.modules.get(".".join(parts[:size]))
        for part in parts[size:]:
            found = getattr(found, part, None)
        if isinstance(found, type):
            return found
    raise LookupError(name)


def qualified(name: str) -> str:
    return name.rpartition("<locals>.")[2].replace(".", "::")


def file_of(module: str) -> str:
    file = getattr(sys.modules.get(module), "__file__", None) if module else None
    return full(file) if isinstance(file, str) else ""


def full(path: str) -> str:
    return os.path.normpath(os.path.join(CWD, path)) if path and not path.startswith("<") else ""
