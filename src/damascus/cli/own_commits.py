"""Commits in a person's own repository, made at the person's word: by their git, with their identity and hooks, and at
their terminal, where it may ask for the passphrase of a signing key."""

import os
import subprocess
from pathlib import Path


def commit_paths(top: Path, paths: list[str], message: str) -> str:
    """Only these paths, whatever else is staged. Why git refused; "" when they are committed."""
    for words in (["add", "--"], ["commit", "--quiet", "-m", message, "--"]):
        done = subprocess.run(
            ["git", *words, *paths], cwd=top, capture_output=True, text=True, errors="replace",
            stdin=subprocess.DEVNULL, env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        )  # fmt: skip
        if done.returncode != 0:
            return " ".join((done.stderr or done.stdout).split())[-300:]
    return ""
