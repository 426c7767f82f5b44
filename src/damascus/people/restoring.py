"""Restoring an installation from a back-up: into an empty data folder and an empty database, whole or not at all.

The file is read to its end and its hashes compared before anything is written. While a restore is under way a file in
the data folder says so, and no command works there: who is killed in the middle leaves a folder that calls itself
unfinished. Restoring again begins by emptying it; nothing else is ever emptied or overwritten.
"""

import os
import shlex
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from damascus.app import OURS, UNFINISHED, App
from damascus.domain.errors import DamascusError, UsageError
from damascus.git.repository import Repository
from damascus.people.acts import Done
from damascus.people.backup_file import Header, check, header_of, unpack
from damascus.store.db import Database
from damascus.store.dumps import is_empty, restore_from
from damascus.store.embedded.database import EmbeddedServer
from damascus.store.migrate import migrate, migrations
from damascus.store.projects import queue_id
from damascus.system import modes
from damascus.system.replacing import PRIVATE, replace_file

Note = Callable[[str], object]


@dataclass(frozen=True)
class InstallationRestored(Done):
    """Where it is now, when it was backed up, and how many files there are."""

    home: Path
    made_at: str
    files: int


def app_to_restore(environ: Mapping[str, str], start: Path) -> App:
    """Of DAMASCUS_HOME, else of the data folder that this folder's repository names, though it be gone."""
    named = None
    if not environ.get("DAMASCUS_HOME"):
        with suppress(DamascusError):
            named = Repository.discover(start).data_folder()
    return App({**environ, "DAMASCUS_HOME": str(named)} if named else environ)


def restore(app: App, file: Path, note: Note) -> InstallationRestored:
    header = header_of(file)
    _refuse_newer(file, header)
    check(file)
    note(f"{file} is whole, made {header.made_at} by Damascus {header.damascus}")
    home = app.home
    _begin(app, file)
    try:
        files = unpack(file, home, home / f"{UNFINISHED}.dump")
    except OSError as err:
        raise DamascusError(f"{home} can't be written: {err}. Correct that and restore again.") from err
    note(f"{files} files are in {home}")
    _restore_database(app, header, home / f"{UNFINISHED}.dump")
    note("the database is restored")
    for name in (f"{UNFINISHED}.dump", UNFINISHED):
        (home / name).unlink()
    return InstallationRestored(
        f"{home} is as it was at {header.made_at}. What was worked then goes on from its last finished step.",
        " && ".join([*_queue_commands(home, header), "damascus status", "damascus run"]),
        home, header.made_at, files,
    )  # fmt: skip


def _refuse_newer(file: Path, header: Header) -> None:
    newest = migrations()[-1].version
    if header.schema > newest:
        raise DamascusError(
            f"{file} was made by Damascus {header.damascus} with schema {header.schema}, newer than this one (schema "
            f"{newest}). Nothing was changed. Upgrade Damascus on this machine, then restore again."
        )


def _begin(app: App, file: Path) -> None:
    """An empty data folder, or what a restore that was killed has left, marked as unfinished before anything else."""
    home = app.home
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    marked = (home / UNFINISHED).exists()
    if not marked and any(home.iterdir()):
        raise UsageError(
            f"{home} is not empty, and a restore never overwrites. Set DAMASCUS_HOME to an empty or new folder."
        )
    if not marked and app.server is None and not is_empty(_connected(app)):
        raise UsageError(
            "the database at DAMASCUS_DATABASE_URL is not empty, and a restore never overwrites. Make a new, empty one "
            "and name that."
        )
    replace_file(home / UNFINISHED, f"{file}\n", mode=PRIVATE, sync=True)
    if marked:
        _empty(app, home)


def _empty(app: App, home: Path) -> None:
    if app.server is not None and (home / "postgres").is_dir():
        app.server.stop()
    for entry in os.scandir(home):
        if entry.name == UNFINISHED:
            continue
        shutil.rmtree(entry.path) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)


def _restore_database(app: App, header: Header, dump: Path) -> None:
    db = _connected(app)
    try:
        if is_empty(db):
            restore_from(db.url, dump)
        elif queue_id(db) != header.queue:
            raise DamascusError("the database was used by others meanwhile. Make a new, empty one and name that.")
        migrate(db)
    finally:
        db.close()
    modes.close(app.home, OURS)


def _connected(app: App) -> Database:
    """Not App.database: that refuses what is unfinished."""
    if app.server is None:
        return Database(app.environ["DAMASCUS_DATABASE_URL"])
    app.server.ensure_running()
    return Database(EmbeddedServer(app.home).url())


def _queue_commands(home: Path, header: Header) -> list[str]:
    """A repository names the data folder of its queue. Where that is another one now, a person says so."""
    if str(home) == header.home:
        return []
    queue = shlex.quote(f"{header.queue} {home}")
    here = [path for path in header.repositories if Path(path).is_dir()]
    return [f"git -C {shlex.quote(path)} config damascus.queue {queue}" for path in here]
