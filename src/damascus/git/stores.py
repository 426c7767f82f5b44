"""The two bare repositories of a project on disk: how they are made, and who may do something alone.

`mirror.git` is made after `stories.git`. So a mirror without a store is one of an older release, which kept both in
one: it becomes the store by one rename, whatever it holds, and a new mirror is made beside it. Whoever is killed in
between leaves a store without a mirror, and that is made anew by whoever comes next: it has nothing that main has not.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from damascus.domain.errors import TransientError
from damascus.git.commands import Git

STORE = "stories.git"
ATTRIBUTES = "* -text !eol -ident !filter !working-tree-encoding\n"
"""Every conversion off, so that a blob is exactly the file's bytes and nothing that an agent writes into .gitattributes
can change, or stop, what we store."""
CONFIG = (("uploadpack.allowAnySHA1InWant", "true"), ("core.logAllRefUpdates", "false"))
LOCK_LIMIT = 60.0
LOCK_POLL = 0.005


def beside(mirror: Path) -> Path:
    """Where the stories' store of a mirror lies."""
    return mirror.with_name(STORE)


def make(mirror: Path) -> None:
    """Whatever is not there yet, whoever comes first."""
    store = beside(mirror)
    if not store.exists() and not _taken_over(mirror, store):
        _build(store)
    if not (store / "objects/info/alternates").exists():
        _borrow(store, mirror)
    if not mirror.exists():
        _build(mirror)


def _taken_over(mirror: Path, store: Path) -> bool:
    """The only repository of an older release becomes the store: nothing that stories made is moved or copied."""
    try:
        os.rename(mirror, store)
    except FileNotFoundError:
        return store.exists()  # nothing is here yet, or another process did it
    except OSError:
        if not store.exists():
            raise
    return True


def _borrow(store: Path, mirror: Path) -> None:
    """By a relative path: a data folder may be moved."""
    (store / "objects/info").mkdir(exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=store / "objects/info")
    with open(handle, "w") as file:
        file.write(f"../../{mirror.name}/objects\n")
    os.replace(temporary, store / "objects/info/alternates")


def _build(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        git = Git(aside, {**Git.at(aside).environment, "GIT_DEFAULT_REF_FORMAT": "files"})
        git.run("init", "--quiet", "--bare", "--template=", "--object-format=sha1")
        for key, value in CONFIG:
            git.run("config", key, value)
        (aside / "info").mkdir(exist_ok=True)
        (aside / "info" / "attributes").write_text(ATTRIBUTES)
        aside.chmod(0o700 if path.name == STORE else 0o755)
        aside.rename(path)
    except OSError:
        if not (path / "HEAD").exists():
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def gc_lock(store: Path) -> Path:
    """Held while a store is packed, and while it is copied: packing takes away what was packed."""
    return store / "damascus-gc.lock"


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """One process after the other."""
    with open(file, "a") as opened:
        deadline = time.monotonic() + LOCK_LIMIT
        while not _try_lock(opened.fileno()):
            if time.monotonic() > deadline:
                raise TransientError(f"{file.parent} was locked by {file.name} for {LOCK_LIMIT:.0f} s")
            time.sleep(LOCK_POLL)
        yield


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
