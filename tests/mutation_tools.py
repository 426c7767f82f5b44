"""The real mutation tools, from `make mutation-tools`: on PATH for one test, or a skip that says how to get them."""

import os
from pathlib import Path

import pytest

from tests.toolchains import need_program

FOLDERS = {
    "mutmut": ("mutmut-3.8.0/bin", "python3"),
    "stryker": ("stryker-9.6.1/node_modules/.bin", "node"),
    "gremlins": ("gremlins-0.6.0/bin", "go"),
    "cargo-mutants": ("cargo-mutants-27.1.0/bin", "cargo"),
}
INSTALL = "make mutation-tools"


def folder_of(name: str) -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(os.environ.get("DAMASCUS_MUTATION_DIR") or f"{cache}/damascus/mutation") / FOLDERS[name][0]


def need_tool(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On CI a skip fails (conftest)."""
    program = FOLDERS[name][1]
    if program != "python3":
        need_program(program)
    if not (folder_of(name) / name).exists():
        pytest.skip(f"{name} is missing: {INSTALL}")
    monkeypatch.setenv("PATH", f"{folder_of(name)}:{os.environ['PATH']}")
