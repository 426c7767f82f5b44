"""Writes that wait for a person: staged by hand, looked at, applied, rejected."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from damascus.app import Project
from damascus.domain.errors import DamascusError, UsageError
from damascus.people.acts import Done
from damascus.scanning.lines import REPAIR, new_lines, places
from damascus.scanning.scanner import ScanFailed, Scanner
from damascus.store import people
from damascus.store.db import Database
from damascus.writes.bounds import inside
from damascus.writes.log import Origin, WriteEntry, WriteLog
from damascus.writes.proposal import Proposal, content
from damascus.writes.refusal import RefusedWrite
from damascus.writes.staging import FOLDER, Meta, Staged, Staging


@dataclass(frozen=True)
class OnWrite(Done):
    """The write that was staged or decided, as it was found."""

    staged: Staged


def stage(project: Project, file: str, source: str) -> OnWrite:
    """Propose the content of `source` for a file of the repository, which is named by its whole path."""
    root = project.repository.top
    try:
        after = content(Path(source))
        if after is None:
            raise UsageError(f"{source} does not exist. Name a file with the new content.")
        path = inside(root, file)
        proposal = Proposal(path, content(root / path), after)
    except RefusedWrite as refused:
        raise DamascusError(f"nothing was staged: {refused.reason}") from None
    _refuse_secret(proposal.path, proposal.before, proposal.after)
    staged = _staging(project).add(Meta(path=path, root=str(root), tool="by hand"), proposal.before, after)
    number = staged.meta.n
    return OnWrite(f"Write {number} of {path} is staged.", f"damascus write show {number}", staged)


def staged_writes(project: Project, *, everything: bool = False) -> list[Staged]:
    """Those that wait, or also those that were decided."""
    return [staged for staged in _staging(project).all() if everything or staged.meta.status == "waiting"]


def staged_write(project: Project, number: int) -> Staged:
    return _staging(project).get(number)


def apply(db: Database, project: Project, number: int) -> OnWrite:
    """Scanned again. An agent that waits for it goes on."""
    staged = _waiting(staged_write(project, number))
    path, story = staged.meta.path, staged.meta.story
    _refuse_secret(path, staged.before, staged.after)
    if staged.meta.issue is not None:
        _answer(db, project, staged.meta.issue, "edit" if staged.edited else "apply")
        return OnWrite(f"Write {number} of {path} may be applied: {story} goes on.", f"damascus why {story}", staged)
    _apply_here(project, staged)
    _staging(project).note(staged, status="applied")
    return OnWrite(f"{path} is written.", f"git diff {path}", staged)


def reject(db: Database, project: Project, number: int, reason: str = "") -> OnWrite:
    """An agent that waits for it is told the reason."""
    staged = _waiting(staged_write(project, number))
    if staged.meta.issue is not None:
        _answer(db, project, staged.meta.issue, f"reject: {reason}")
    else:
        _staging(project).note(staged, status="rejected", reason=reason)
    return OnWrite(f"Write {number} of {staged.meta.path} is rejected.", "damascus write list", staged)


def published(staged: Staged) -> dict[str, Any]:
    return {**staged.meta.model_dump(), "file": str(staged.after_file)}


def _staging(project: Project) -> Staging:
    return Staging(project.folder / FOLDER)


def _waiting(staged: Staged) -> Staged:
    if staged.meta.status != "waiting":
        raise DamascusError(f"write {staged.meta.n} was already {staged.meta.status}. See: damascus write list --all")
    return staged


def _answer(db: Database, project: Project, question: int, text: str) -> None:
    people.close(db, project.row.id, people.open_question(db, project.row.id, question), text)


def _apply_here(project: Project, staged: Staged) -> None:
    """Only over what it was made from: another write in between would be lost."""
    root = Path(staged.meta.root)
    try:
        target = root / inside(root, staged.meta.path)
        now = content(target)
    except RefusedWrite as refused:
        raise DamascusError(f"nothing was written: {refused.reason}") from None
    if now != staged.before:
        raise DamascusError(f"{staged.meta.path} has changed since write {staged.meta.n} was staged. Stage it again.")
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    aside.write_bytes(staged.after)
    aside.chmod(target.stat().st_mode & 0o777 if now is not None else 0o644)
    aside.replace(target)
    origin = Origin(story="", run=0, attempt=0, step="by hand", role="person")
    entry = WriteEntry.of(staged.change, "by hand", origin, accepted=False)
    log = WriteLog(project.folder / "by-hand")
    log.add(entry.model_copy(update={"verdict": "applied", "approved": "person"}))
    log.keep(staged.before)
    log.keep(staged.after)


def _refuse_secret(path: str, before: bytes | None, after: bytes) -> None:
    scanner = Scanner()
    try:
        hits = scanner.scan(new_lines(path, before, after))
    except ScanFailed as err:
        raise DamascusError(f"{path} could not be scanned: {err}. Nothing was changed.") from None
    finally:
        scanner.close()
    if hits:
        raise DamascusError(f"secret found: {places(hits)}. Nothing was changed. {REPAIR}")
