"""Every story of the demo: its receipt is on its commit, validates against the schema, and verifies elsewhere.

It costs some forty seconds of processor time: the demo, then every gate of five stories once more.
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import jsonschema
import pytest

from damascus.domain.receipt_note import read_note
from damascus.people.receipt_verifying import verify
from tests.receipts.test_schema import schema


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.req("F8.1", "X7.1", "X12")
def test_the_receipts_of_the_demo_validate_and_verify(tmp_path: Path) -> None:
    _watched_in_a_browser(tmp_path)
    repo, home = tmp_path / "demo/textkit", tmp_path / "demo/home"
    try:
        listed = _git(repo, "notes", "--ref=damascus", "list").decode().splitlines()
        commits = [line.split()[1] for line in listed]
        assert len(commits) == 5
        _git(tmp_path, "clone", "-q", str(repo), "clone")
        _git(tmp_path / "clone", "fetch", "-q", "origin", "refs/notes/damascus:refs/notes/damascus")
        for commit in commits:
            read = read_note(_git(repo, "notes", "--ref=damascus", "show", commit))
            assert read.receipt is not None and read.problems == ()
            jsonschema.validate(json.loads(read.receipt.as_bytes()), schema())
            assert read.receipt.unproved == []
            again = verify(tmp_path / "clone", commit, {"PATH": os.environ["PATH"]}, tmp_path / "nothing")
            assert (again.code, again.differences) == (0, ()), read.receipt.proof.story
    finally:
        stop = [sys.executable, "-m", "damascus.cli.main", "db", "stop"]
        subprocess.run(stop, cwd=repo, env={**os.environ, "DAMASCUS_HOME": str(home)}, check=False, capture_output=True)


def _watched_in_a_browser(folder: Path) -> None:
    """`demo --web`: the window is there while it runs, and stays until Ctrl-C (X12)."""
    words = [sys.executable, "-m", "damascus.cli.main", "demo", "--web", "--keep", str(folder / "demo")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=folder) as demo:
        assert demo.stdout is not None
        links = (re.search(r"http://\S+/enter/\S+", line) for line in demo.stdout)
        first, last = (next(link[0] for link in links if link) for _ in range(2))
        page = httpx.get(last)
        told = httpx.get(last.partition("enter/")[0], cookies=dict(page.cookies)).text
        demo.send_signal(signal.SIGINT)
        assert demo.wait(60) == 0 and first != last and "Landed today" in told and "slugify keeps digits" in told


def _git(where: Path, *words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=where, capture_output=True, check=True).stdout
