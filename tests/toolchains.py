"""Compilers and runtimes of other languages that a test needs: there, or a skip that says how to get them."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

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


def need_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    """On PATH for one test: an LLVM that reads the profiles of rustc, from `make llvm`."""
    need_program("cargo")
    said = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    (major,) = re.findall(r"^LLVM version: (\d+)", said, re.MULTILINE)
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    place = Path(os.environ.get("DAMASCUS_LLVM_DIR") or f"{cache}/damascus/llvm") / major / "bin"
    if not (place / "llvm-cov").exists():
        pytest.skip(f"an LLVM that reads the profiles of rustc is missing: make llvm, or: apt-get install llvm-{major}")
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")


@cache
def _works(name: str) -> bool:
    return shutil.which(name) is not None and subprocess.run(WORKS[name], capture_output=True).returncode == 0
