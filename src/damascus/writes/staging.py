"""Writes that wait for a person, as files that a person can look at and edit: `staged/<n>/{before,after,meta.json}`.

One folder per project, so that a number names one write whoever staged it: the pipeline or a person by hand.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from damascus.domain.errors import DamascusError
from damascus.system.replacing import replace_file
from damascus.writes.log import digest
from damascus.writes.proposal import ProposedChange

FOLDER = "staged"
Status = Literal["waiting", "applied", "rejected", "dropped"]


class Meta(BaseModel):
    """`issue` is the question in the inbox; None for one that was staged by hand, below `root`."""

    n: int = 0
    path: str
    root: str
    story: str = ""
    role: str = ""
    tool: str = ""
    issue: int | None = None
    status: Status = "waiting"
    reason: str = ""
    time: str = ""
    before: str | None = None
    after: str = ""


@dataclass(frozen=True)
class Staged:
    meta: Meta
    folder: Path

    @property
    def before(self) -> bytes | None:
        return (self.folder / "before").read_bytes() if self.meta.before is not None else None

    @property
    def after_file(self) -> Path:
        """Whoever edits this file edits the write."""
        return self.folder / "after"

    @property
    def after(self) -> bytes:
        return self.after_file.read_bytes()

    @property
    def edited(self) -> bool:
        return digest(self.after) != self.meta.after

    @property
    def change(self) -> ProposedChange:
        return ProposedChange(self.meta.path, self.before, self.after)


@dataclass(frozen=True)
class Staging:
    """`folder` is the project's."""

    folder: Path

    def add(self, meta: Meta, before: bytes | None, after: bytes) -> Staged:
        number, place = self._new_place()
        (place / "before").write_bytes(before or b"")
        (place / "after").write_bytes(after)
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        known = {"n": number, "time": now, "before": digest(before), "after": digest(after)}
        return self._save(place, meta.model_copy(update=known))

    def note(self, staged: Staged, *, status: Status = "waiting", reason: str = "", issue: int | None = None) -> Staged:
        number = issue if issue is not None else staged.meta.issue
        changed = staged.meta.model_copy(update={"status": status, "reason": reason, "issue": number})
        return self._save(staged.folder, changed)

    def get(self, number: int) -> Staged:
        staged = self._read(self.folder / str(number))
        if staged is None:
            raise DamascusError(f"there is no staged write {number}. See them: damascus write list")
        return staged

    def all(self) -> list[Staged]:
        if not self.folder.is_dir():
            return []
        numbers = sorted(int(place.name) for place in self.folder.iterdir() if place.name.isdigit())
        return [staged for n in numbers if (staged := self._read(self.folder / str(n))) is not None]

    def _new_place(self) -> tuple[int, Path]:
        """Whoever makes the folder has the number."""
        self.folder.mkdir(parents=True, exist_ok=True)
        number = max((int(place.name) for place in self.folder.iterdir() if place.name.isdigit()), default=0)
        while True:
            number += 1
            try:
                (self.folder / str(number)).mkdir(mode=0o700)
            except FileExistsError:
                continue
            return number, self.folder / str(number)

    def _save(self, place: Path, meta: Meta) -> Staged:
        replace_file(place / "meta.json", meta.model_dump_json(indent=1))
        return Staged(meta, place)

    def _read(self, place: Path) -> Staged | None:
        try:
            return Staged(Meta.model_validate_json((place / "meta.json").read_bytes()), place)
        except (OSError, ValidationError):
            return None
