"""WRITE_LOG.jsonl: every write of a run, recorded right after it was applied, and every refusal (A14).

One line per entry; what becomes known later (compile check, SAST) is a further line with the same number, so that
nothing written is ever changed. Contents lie beside it, named by their hash; those of a refused write are not kept.
"""

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from damascus.system.replacing import replace_file
from damascus.writes.bounds import shown
from damascus.writes.proposal import ProposedChange

FILE = "WRITE_LOG.jsonl"
FINDINGS = "SAST_FINDINGS.jsonl"
CONTENTS = "written"
LARGEST_CONTENT = 1_000_000
ALL_CONTENTS = 100_000_000
READ_LIMIT = 200_000_000


class Origin(BaseModel):
    """Whose writes these are."""

    story: str
    run: int
    attempt: int
    step: str
    role: str


class Compiled(BaseModel):
    """`ok` is None when nothing could be checked, and `text` says why."""

    tool: str
    ok: bool | None
    text: str = ""
    seconds: float = 0.0


class WriteEntry(BaseModel):
    """One write. `found`: by git after the step, because no tool call proposed it. `check` is what refused it."""

    n: int = 0
    time: str = ""
    tool: str
    path: str
    verdict: Literal["applied", "refused", "found"]
    check: str = ""
    reason: str = ""
    before: str | None = None
    after: str | None = None
    bytes: int = 0
    approved: str = ""
    origin: Origin
    accepted: bool = False
    artifact: bool = False
    compile: Compiled | None = None
    sast: int | None = None

    @classmethod
    def of(cls, change: ProposedChange, tool: str, origin: Origin, *, accepted: bool) -> "WriteEntry":
        return cls(
            tool=tool,
            path=shown(change.path),
            verdict="found",
            before=digest(change.before),
            after=digest(change.after),
            bytes=len(change.after or b""),
            origin=origin,
            accepted=accepted,
        )


class WriteLog:
    """The log of one run's folder. Several steps of a run share it, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._last = max((entry.n for entry in read(folder)), default=0)
        self._end_half_line()
        self._kept = sum(file.stat().st_size for file in _contents(folder).glob("*"))

    def add(self, entry: WriteEntry) -> int:
        with self._lock:
            self._last += 1
            now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            numbered = entry.model_copy(update={"n": self._last, "time": now})
            self._append(FILE, numbered.model_dump(exclude_none=True))
            return numbered.n

    def amend(self, n: int, **facts: object) -> None:
        """What became known later of entry `n`."""
        self._append(FILE, {"n": n, **facts})

    def finding(self, facts: dict[str, object]) -> None:
        self._append(FINDINGS, facts)

    def keep(self, content: bytes | None) -> None:
        """For replay; too large a content is not kept."""
        if content is None or len(content) > LARGEST_CONTENT or self._kept > ALL_CONTENTS:
            return
        place = _contents(self.folder) / sha(content)
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            replace_file(place, content)
            self._kept += len(content)

    def _end_half_line(self) -> None:
        """What a killed worker left of its last line must not swallow the next one."""
        path = self.folder / FILE
        written = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        if written and not written.endswith(b"\n"):
            self._append_bytes(FILE, b"\n")

    def _append(self, name: str, facts: dict[str, Any]) -> None:
        self._append_bytes(name, json.dumps(facts, ensure_ascii=True).encode() + b"\n")

    def _append_bytes(self, name: str, line: bytes) -> None:
        """In one piece, and never through a link."""
        self.folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            if os.write(handle, line) != len(line):
                raise OSError(f"{name} could not be written whole")
        finally:
            os.close(handle)


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def digest(content: bytes | None) -> str | None:
    return sha(content) if content is not None else None


def read(folder: Path) -> list[WriteEntry]:
    """The entries of a run with all that became known of them. A half line that a crash left is no entry."""
    entries: dict[int, dict[str, Any]] = {}
    for facts in _lines(folder / FILE):
        entries.setdefault(facts["n"], {}).update(facts)
    found = []
    for _, facts in sorted(entries.items()):
        try:
            found.append(WriteEntry.model_validate(facts))
        except ValidationError:
            continue
    return found


def content_of(folder: Path, name: str | None) -> bytes | None:
    """A kept content, checked against its name."""
    place = _contents(folder) / (name or "-")
    data = place.read_bytes() if place.is_file() else None
    return data if data is not None and sha(data) == name else None


def _contents(folder: Path) -> Path:
    return folder / CONTENTS


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file() or path.stat().st_size > READ_LIMIT:
        return
    with path.open("rb") as file:
        for line in file:
            try:
                facts = json.loads(line)
            except ValueError:
                continue
            if isinstance(facts, dict) and isinstance(facts.get("n"), int):
                yield facts
