"""Lint and types of a Python project: ruff, flake8, mypy, pyright, where its files configure them.

Nothing is built: a wheel is made of what the tests import, by a tool that fetches others.
"""

import re
from collections.abc import Iterator
from configparser import Error, RawConfigParser
from tomllib import TOMLDecodeError, loads
from typing import Any

from damascus.stacks.stack import BaseFiles, FoundCommand

BY_PROJECT = re.compile(r"(?:^|[;&|(]\s*)((?:uv|poetry|pdm|pipenv|hatch|rye) run )")
BESIDE_PYTHON = re.compile(
    r"(?:^|[\s;&|('\"])([\w.~+/-]*/bin/)(?:python[\d.]*|pytest|py\.test|pip[\d.]*)(?=$|[\s;&|)'\"])"
)
TARGETS = ("files", "packages", "modules")
"""Keys of mypy that name what it looks at; without them it wants to be told."""


def commands(base: BaseFiles) -> list[FoundCommand]:
    where = place_of_programs(base.prepared)
    return [FoundCommand(kind, tool, where + call) for kind, tool, call in _configured(base)]


def place_of_programs(prepared: str) -> str:
    """Linters are looked for where the tests' own programs are: `.venv/bin/`, `uv run `; else on PATH."""
    found = BY_PROJECT.search(prepared) or BESIDE_PYTHON.search(prepared)
    return found[1] if found else ""


def _configured(base: BaseFiles) -> Iterator[tuple[str, str, str]]:
    tools, sections = _tools(base.text("pyproject.toml")), _sections(base)
    there = set(base.listing)
    if there & {"ruff.toml", ".ruff.toml"} or "ruff" in tools:
        yield "lint", "ruff", "ruff check ."
    if ".flake8" in there or "flake8" in sections:
        yield "lint", "flake8", "flake8"
    mypy = {**sections.get("mypy", {}), **_table(tools.get("mypy"))}
    if there & {"mypy.ini", ".mypy.ini"} or "mypy" in sections or "mypy" in tools:
        yield "types", "mypy", "mypy" if any(mypy.get(key) for key in TARGETS) else "mypy ."
    if "pyrightconfig.json" in there or "pyright" in tools:
        yield "types", "pyright", "pyright"
    if "basedpyright" in tools:
        yield "types", "basedpyright", "basedpyright"


def _tools(pyproject: str) -> dict[str, Any]:
    try:
        return _table(loads(pyproject).get("tool"))
    except (TOMLDecodeError, RecursionError):
        return {}


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _sections(base: BaseFiles) -> dict[str, dict[str, Any]]:
    """Of the files that these tools share, and of mypy's own."""
    found: dict[str, dict[str, Any]] = {}
    for name in ("setup.cfg", "tox.ini", "mypy.ini", ".mypy.ini"):
        reader = RawConfigParser(strict=False)
        try:
            reader.read_string(base.text(name))
        except Error:
            continue
        read = {section: dict(reader[section]) for section in reader.sections()}
        found |= {section: read[section] for section in read if section == "flake8" or name != "tox.ini"}
    return found
