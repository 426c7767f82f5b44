"""Compilers and runtimes of other languages that a test needs: there, or a skip that says how to get them."""

import shutil
import subprocess
from functools import cache

import pytest

INSTALL = {
    "go": "apt-get install golang-go",
    "node": "apt-get install nodejs",
    "npm": "apt-get install npm",
    "cargo": "apt-get install cargo, or: rustup default stable",
}
WORKS = {
    "go": ["go", "version"],
    "node": ["node", "--version"],
    "npm": ["npm", "--version"],
    "cargo": ["cargo", "--version"],
}


def need_program(name: str) -> None:
    """On CI a skip fails (conftest)."""
    if not _works(name):
        pytest.skip(f"{name} is missing: {INSTALL[name]}")


@cache
def _works(name: str) -> bool:
    return shutil.which(name) is not None and subprocess.run(WORKS[name], capture_output=True).returncode == 0
