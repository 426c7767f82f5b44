"""Backing up an installation while it works: the database first, then what its rows name.

What a row names is older than the row, and nothing that stories made is removed but by the packing of stores, which
waits. So files that are copied after the database was read are all that its rows need; whatever is newer is found by
its key when the restored rows get there. Of a store the refs are copied before the objects, for the same reason.

Left out is what is made again: workspaces (what was in one is in its story's snapshots), checkouts, set-ups, homes.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from damascus import __version__
from damascus.app import App
from damascus.domain.errors import DamascusError, UsageError
from damascus.git.stores import STORE, gc_lock, locked
from damascus.people.acts import Done
from damascus.people.backup_file import DATABASE, FILES, Header, written
from damascus.store.dumps import dump_to
from damascus.store.migrate import current_version
from damascus.store.projects import queue_id
from damascus.telling.phrases import plural, size

MADE_AGAIN = frozenset({"worktrees", "checkouts", "setup", "homes", "private", "as-upstream", "runners"})
KEPT = ("projects", "logs", "evidence.key")
"""Of the data folder, beside the database."""
Note = Callable[[str], object]


@dataclass(frozen=True)
class BackedUp(Done):
    """The file and what is in it."""

    file: Path
    bytes: int
    files: int
    stories: int


def back_up(app: App, file: Path, note: Note) -> BackedUp:
    file = file.absolute()
    _refuse_place(app.home, file)
    db = app.database
    count = db.one("count_stories")
    stories = int(count["n"]) if count else 0
    dump = file.with_name(f".{file.name[:200]}.{os.urandom(6).hex()}.dump")
    try:
        dump_to(db.url, dump)
        note(f"database: {size(dump.stat().st_size)}")
        with written(file, _header(app)) as writer:
            writer.file(DATABASE, dump)
            files = 0
            with ExitStack() as held:
                for store in sorted((app.home / "projects").glob(f"**/{STORE}")):
                    held.enter_context(locked(gc_lock(store)))
                for path in _in_order(app.home):
                    writer.file(f"{FILES}/{path.relative_to(app.home)}", path)
                    files += 1
                    if files % 2000 == 0:
                        note(f"{files} files, {size(writer.written)}")
            note(f"{files} files, {size(writer.written)}")
    except OSError as err:
        raise DamascusError(f"{file} could not be written: {err}. Nothing is left of it; try again.") from err
    finally:
        dump.unlink(missing_ok=True)
    told = plural(stories, "story", "stories")
    return BackedUp(
        f"{file} holds the database with {told} and {files} files: {size(file.stat().st_size)}. Logs and "
        "held-out tests are in it, so nobody else can read it.",
        "keep it on another machine; a new data folder is made from it by damascus db restore",
        file, file.stat().st_size, files, stories,
    )  # fmt: skip


def _refuse_place(home: Path, file: Path) -> None:
    if file.exists():
        raise UsageError(f"{file} is there already, and a back-up is never overwritten. Name another file.")
    if not file.parent.is_dir():
        raise UsageError(f"there is no folder {file.parent}. Make it, or name another file.")
    if file.resolve().is_relative_to(home.resolve()):
        raise UsageError(f"{file} is in the data folder, which it shall save. Name a file elsewhere.")


def _header(app: App) -> Header:
    rows = app.database.all("repository_places")
    return Header(
        damascus=__version__,
        schema=current_version(app.database),
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        home=str(app.home),
        queue=queue_id(app.database),
        repositories=[row["path"] for row in rows],
    )


def _in_order(home: Path) -> list[Path]:
    """Objects of git last: whatever a ref names was there before it."""
    found = [path for name in KEPT for path in _below(home / name)]
    return sorted(found, key=lambda path: "objects" in path.relative_to(home).parts)


def _below(path: Path) -> Iterator[Path]:
    if not os.path.lexists(path):
        return
    yield path
    if path.is_symlink() or not path.is_dir():
        return
    for entry in sorted(os.scandir(path), key=lambda each: each.name):
        if entry.name in MADE_AGAIN and entry.is_dir(follow_symlinks=False) and _is_repositorys(path):
            continue
        if not entry.name.endswith(".lock") and not entry.name.startswith("tmp_"):
            yield from _below(Path(entry.path))


def _is_repositorys(folder: Path) -> bool:
    """A repository's data folder: a story's own folder may be called `setup`, too."""
    return folder.parent.name in ("projects", "repos")
