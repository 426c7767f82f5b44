"""Writes the files beside a task graph into the person's folder, when something changed (docs/task-graph.md).

Statuses and Checkpoint values of the graph are ours, every other byte of it is the person's. Of the other files ours is
what stands between two marks. What we are to write is recorded first, then the file is replaced as a whole: whoever is
killed in between leaves the old one or the new one, and both are known as ours. A status that somebody edited is told
and put right; words that somebody wrote between our marks are kept in a copy beside the file.

A landing holds the same lock: no file changes under a merge.
"""

import hashlib
from pathlib import Path
from typing import Any

from damascus.domain.config import Config
from damascus.domain.errors import DamascusError, TransientError
from damascus.engine.projecting import BuilderFacts, Projection
from damascus.engine.recording import queue_records
from damascus.engine.tools import Tools
from damascus.git.repository import Repository
from damascus.git.unfinished import held_marker
from damascus.store import projections
from damascus.store.projections import ProjectedFile
from damascus.system.person_files import keep_aside, mark_of, read_plain, write_plain
from damascus.tasks.projections.region import region_of
from damascus.tasks.statuses import statuses_in

EVERY = 1.0
FIRST_WORD = "PENDING"
Marks = dict[str, tuple[int, int, int] | None]


class Projector:
    """Of one repository. Nothing to do costs one query and a look at each file's time."""

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        self.facts = BuilderFacts(tools.db, tools.project)
        self._seen = -1
        self._committed = 0
        self._folder: Path | None = None
        self._marks: Marks = {}
        self._told: set[tuple[str, str, str]] = set()

    def look(self) -> list[str]:
        """The files that were written now. Raises DamascusError for what could not be, when all else is done."""
        newest = projections.newest_event(self.tools.db)
        if newest == self._seen and self._marks == self._files(self._marks):
            return []
        folder = self._place()
        found = self._gathered()
        done, troubles = self._write_all(folder, found) if folder else ([], [])
        self._folder, self._marks = folder, {}
        self._marks = self._files(dict.fromkeys(found.paths))
        self._seen = newest if not troubles else -1
        if troubles:
            raise DamascusError(" ".join(troubles))
        return done

    def _files(self, paths: Marks) -> Marks:
        return {path: mark_of(self._folder, path) if self._folder else None for path in paths}

    def _place(self) -> Path | None:
        """Where main is checked out on this host; nowhere else is anything written."""
        here = self.tools.here
        return here.checked_out_at(self.tools.target) if here is not None else None

    def _gathered(self) -> Projection:
        config = self._config()
        settings = config.tasks
        found = self.facts.look(settings)
        if self.facts.take_due(found, settings.checkpoint_every):
            found = self.facts.with_texts(found, settings)
        if settings.commit == "checkpoint" and found.full:
            self._commit(config, found)
        return found

    def _commit(self, config: Config, found: Projection) -> None:
        """Once for each full checkpoint, also where whoever took it was killed before this."""
        number = found.full[-1].number
        if number > self._committed:
            name, title = f"RECORDS-C{number}", f"Records of checkpoint {number}"
            if projections.item_named(self.tools.db, self.tools.project.id, name) is None:
                queue_records(self.tools.db, self.tools.project, config, name, found.paths, title=title)
                self.tools.bell.ring()
            self._committed = number

    def _config(self) -> Config:
        return self.tools.read_config(self.tools.mirror.tip(self.tools.target) or self.tools.forge.main_tip())

    # ── writing ───────────────────────────────────────────────────────────────────────────────────────

    def _write_all(self, folder: Path, found: Projection) -> tuple[list[str], list[str]]:
        if not found.tasks:
            return [], []
        here = self.tools.here
        assert here is not None
        done, troubles = [], []
        with held_marker(here.git_dir) as marker:
            if marker.left() is not None:
                raise TransientError("a landing is unfinished in this repository")
            written = projections.written(self.tools.db, self.tools.project.repo_id)
            for path in found.paths:
                try:
                    if self._write(_Target(here, folder, path, written.get(path)), found):
                        done.append(path)
                except DamascusError as err:
                    troubles.append(str(err))
        return done, troubles

    def _write(self, target: "_Target", found: Projection) -> bool:
        known = read_plain(target.folder, target.path)
        raw, main = known.content if known else None, self._on_main(target)
        untouched = raw is not None and target.is_as_left(raw, main)
        wanted = found.applied(target.path, main if untouched else raw)
        if wanted is not None and untouched and target.known(wanted):
            return False
        if target.path in found.texts:
            part = self._kept(target, raw, main, found)
        else:
            part = _statuses(found, target) if untouched else self._put_right(target, raw, main, found)
        if wanted is None or (wanted == raw and target.known(wanted)):
            return False
        as_main = untouched or (self._is_current(target) and wanted == found.applied(target.path, main))
        told = ProjectedFile(
            target.path, _hash(wanted), as_main, {**part, "main": _hash(main) if main is not None else ""}
        )
        projections.note(self.tools.db, self.tools.project.repo_id, told)
        if wanted != raw and not write_plain(target.folder, target.path, wanted, known):
            raise DamascusError(f"{target.path} was written by somebody at this moment; it is tried again.")
        self._told = {told for told in self._told if told[0] != target.path}
        return wanted != raw

    def _on_main(self, target: "_Target") -> bytes | None:
        """The file as the checked out commit has it."""
        tip = self.tools.mirror.tip(self.tools.target)
        return self.tools.mirror.read(tip, target.path) if tip and self._is_current(target) else None

    def _is_current(self, target: "_Target") -> bool:
        """Does the mirror know main as this folder has it? A clone of another forge's may be behind."""
        return self.tools.mirror.tip(self.tools.target) == target.here.tip(self.tools.target)

    def _kept(self, target: "_Target", raw: bytes | None, main: bytes | None, found: Projection) -> dict[str, Any]:
        """What we know our part by; a part that is not as we left it is kept in a copy first."""
        there, on_main = region_of(raw or b""), region_of(main or b"")
        ours = {_hash(part) for part in (on_main, found.texts[target.path].encode()) if part is not None}
        ours |= {target.part.get("now", ""), target.part.get("was", "")}
        was = _hash(there) if there is not None else ""
        if was and was not in ours and raw is not None:
            aside = keep_aside(target.folder, target.path, raw)
            self.tools.log.info("kept a person's words", file=target.path, aside=aside)
        return {"now": _hash(found.texts[target.path].encode()), "was": was}

    def _put_right(self, target: "_Target", raw: bytes | None, main: bytes | None, found: Projection) -> dict[str, Any]:
        """A status that is neither what we wrote last nor what main has was edited: told, not obeyed."""
        if raw is None:
            raise DamascusError(
                f"{target.path} is not there any more, so no status is written. Bring it back: git restore "
                f"{target.path}"
            )
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError:
            raise DamascusError(f"{target.path} is not UTF-8, so no status is written. Save it as UTF-8.") from None
        wanted, on_main = found.statuses(target.path), statuses_in(main or b"")
        there = {ident: word.upper() for ident, word in statuses_in(raw).items() if ident in wanted and word}
        was: dict[str, str] = {}
        for ident, word in there.items():
            known = {self._word(target.part, when, ident) for when in ("now", "was")} | {on_main.get(ident, "").upper()}
            if word in {*known, wanted[ident].status.value}:
                was[ident] = word
            else:
                self._tell(target.path, found.items[ident], ident, word, wanted[ident].status.value)
        return {**_statuses(found, target), "was": was}

    def _word(self, part: dict[str, Any], when: str, ident: str) -> str:
        return str(part.get(when, {}).get(ident, FIRST_WORD))

    def _tell(self, path: str, item: int, ident: str, found: str, status: str) -> None:
        """Once, also where the file can't be put right."""
        if (path, ident, found) not in self._told:
            self._told.add((path, ident, found))
            body: dict[str, object] = {"file": path, "task": ident, "found": found[:40], "status": status}
            projections.tell_edited(self.tools.db, self.tools.project, item, body)


class _Target:
    """One file that is to be written, and what we left of it."""

    def __init__(self, here: Repository, folder: Path, path: str, last: ProjectedFile | None) -> None:
        self.here, self.folder, self.path = here, folder, path
        self.last = last
        self.part: dict[str, Any] = last.part if last else {}

    def known(self, content: bytes) -> bool:
        return self.last is not None and self.last.sha256 == _hash(content)

    def is_as_left(self, raw: bytes, main: bytes | None) -> bool:
        """Nobody wrote it since, and but for our part it is what main still has: main's own says what it becomes."""
        if self.last is None or not self.last.as_main or main is None:
            return False
        return self.part.get("main") == _hash(main) and self.known(raw)


def _statuses(found: Projection, target: _Target) -> dict[str, Any]:
    """What our part of a graph says now, and said before."""
    now = {ident: each.status.value for ident, each in found.statuses(target.path).items()}
    return {"now": now, "was": target.part.get("now", {})}


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
