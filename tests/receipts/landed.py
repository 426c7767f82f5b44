"""A story that landed, and a clone of its repository on a machine that has nothing else of it."""

import subprocess
from pathlib import Path

from damascus.domain.receipt import BuildReceipt
from damascus.domain.receipt_note import read_note
from damascus.people.receipt_files import exported
from damascus.people.receipt_verifying import Verification, verify
from damascus.store.receipts import latest_receipt
from damascus.system.signing import make_key
from tests.yard import HONEST, PERSON, Yard, story

NOTES = "refs/notes/damascus"


class Landed:
    """A story that landed in a yard whose installation has a key, and a clone of its repository elsewhere."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.yard = Yard(folder / "yard", database_url)
        self.key = make_key(self.yard.app.home)
        self.yard.add(story("S-1", scope=["m1.py", "tests/test_m1.py"]))
        self.yard.work(self.yard.agent(HONEST))
        assert self.yard.item("S-1")["phase"] == "done", self.yard.questions()
        self.clone = folder / "clone"
        self._git(folder, "clone", "-q", str(self.yard.repo), str(self.clone))
        self.git("fetch", "-q", "origin", f"{NOTES}:{NOTES}")
        self.head = self.git("rev-parse", "HEAD")
        self.note = subprocess.run(
            ["git", "notes", "--ref=damascus", "show", "HEAD"], cwd=self.clone, capture_output=True, check=True
        ).stdout
        self.empty = folder / "no-data-folder"

    def as_it_was(self) -> None:
        self.git("fetch", "-q", "origin", f"+{NOTES}:{NOTES}")

    def _git(self, where: Path, *words: str) -> str:
        env = {**self.yard.environ, **PERSON}
        done = subprocess.run(["git", *words], cwd=where, env=env, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def git(self, *words: str) -> str:
        return self._git(self.clone, *words)

    def receipt(self) -> BuildReceipt:
        found = read_note(self.note).receipt
        assert found is not None
        return found

    def verify(self, what: str = "HEAD", *keys: Path) -> Verification:
        """On a machine that has neither the database nor the data folder."""
        return verify(self.clone, what, {"PATH": self.yard.environ["PATH"]}, self.empty, keys)

    def put_note(self, text: bytes, commit: str = "HEAD") -> None:
        (self.clone / ".git/new-note").write_bytes(text)
        self.git("notes", "--ref=damascus", "add", "-f", "-F", ".git/new-note", commit)

    def export(self) -> Path:
        receipt = latest_receipt(self.yard.db, self.yard.item("S-1")["id"])
        assert receipt is not None
        file = self.clone.parent / "S-1.intoto.jsonl"
        file.write_bytes(exported(receipt, self.yard.project.mirror, self.yard.project.config, self.yard.app.home))
        return file
