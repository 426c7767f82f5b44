"""What a killed landing leaves in the user's repository, and how it is put right.

A landing holds an flock on a marker file in the git dir and hands it down to the git that it runs: the kernel frees
it when both are gone, so that a free marker with words in it means exactly "begun, not finished, nobody is at it".
`git merge --ff-only` works in the order lock, files, index, branch. Killed among the files it leaves the lock and some
files new, missing or cut short, while the index still tells the old state: then each changed path whose index entry
is the old one, and whose file is no edit of the user's, goes back to old, and the landing starts again. Killed after
the index, only the branch is missing, and it is moved as that merge would have: nothing is behind its back any more.
"""

import fcntl
import json
import os
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from damascus.domain.errors import GitError, TransientError
from damascus.domain.ids import Sha
from damascus.domain.ports import Blocked
from damascus.git.commands import CALL_LIMIT, Git, GitResult
from damascus.git.trees import parents
from damascus.system.scratch import scratch_folder

MARKER = "damascus-landing"
NO_ENTRY = "000000"
LOOK = 0.02


@dataclass(frozen=True)
class Intent:
    """The move that was begun. `folder` is where the branch was checked out, empty if nowhere."""

    branch: str
    old: Sha
    new: Sha
    folder: str


@dataclass(frozen=True)
class Marker:
    """The held marker of one repository; empty when nothing is under way."""

    handle: int

    def left(self) -> Intent | None:
        words = os.pread(self.handle, 1 << 20, 0)
        try:
            return Intent(**json.loads(words)) if words else None
        except (ValueError, TypeError):  # killed while it was written: nothing had begun yet
            return None

    def begin(self, intent: Intent) -> None:
        os.ftruncate(self.handle, 0)
        os.pwrite(self.handle, json.dumps(asdict(intent)).encode(), 0)
        os.fsync(self.handle)

    def clear(self) -> None:
        os.ftruncate(self.handle, 0)

    @property
    def since(self) -> int:
        return os.fstat(self.handle).st_mtime_ns

    def run(self, git: Git, *args: str, folder: Path | None = None) -> GitResult:
        """Git with the marker's lock handed down: it stays held if we are killed and git is not."""
        env = dict(git.environment) | {"GIT_DIR": str(git.git_dir), "GIT_REFLOG_ACTION": "damascus"}
        if folder is not None:
            env["GIT_WORK_TREE"] = str(folder)
        try:
            done = subprocess.run(
                ["git", *args], stdin=subprocess.DEVNULL, capture_output=True, env=env, cwd=folder or git.git_dir,
                pass_fds=(self.handle,), timeout=CALL_LIMIT, check=False,
                start_new_session=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise TransientError(f"git {args[0]} took over {CALL_LIMIT:.0f} s while landing") from None
        return GitResult(done.returncode, done.stdout, done.stderr.decode("utf-8", errors="replace"))


@contextmanager
def held_marker(git_dir: Path, patience: float = 0.0) -> Iterator[Marker]:
    """`patience`: seconds to wait for whoever holds it."""
    path = git_dir / MARKER
    handle = _locked(path, time.monotonic() + patience)
    try:
        yield Marker(handle)
    finally:
        if os.fstat(handle).st_size == 0:
            path.unlink(missing_ok=True)
        os.close(handle)


def _locked(path: Path, until: float) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        except BlockingIOError:
            os.close(handle)
            if time.monotonic() >= until:
                raise TransientError("another landing is at work in this repository") from None
            time.sleep(LOOK)
            continue
        except FileNotFoundError:  # its holder removed it between our open and our lock
            pass
        os.close(handle)


# ── locks ─────────────────────────────────────────────────────────────────────────────────────────────


def remove_stale_locks(locks: list[Path], since: int, places: list[Path]) -> None:
    """Remove what a killed git left; a lock that may be somebody else's is waited for, never removed."""
    for lock in locks:
        try:
            seen = lock.lstat()
        except FileNotFoundError:
            continue
        if seen.st_mtime_ns < since or seen.st_uid != os.geteuid() or _in_use(lock, places):
            raise TransientError(f"another git process holds {lock}")
        lock.unlink(missing_ok=True)


def _in_use(lock: Path, places: list[Path]) -> bool:
    """A git may hold its lock with the file closed (`commit -a` in the editor), so its folder counts too."""
    proc = Path("/proc")
    if not (proc / "self").exists():
        raise Blocked(
            f"a landing was killed and left {lock}. If no git runs in that repository, remove it: rm {lock}",
            [str(lock)], needs_person=True,
        )  # fmt: skip
    roots = [str(place.resolve()) for place in places]
    target = str(lock.parent.resolve() / lock.name)
    pids = [entry for entry in proc.iterdir() if entry.name.isdigit() and entry.name != str(os.getpid())]
    return any(_works_in(pid, roots) or _has_open(pid, target) for pid in pids)


def _works_in(pid: Path, roots: list[str]) -> bool:
    try:
        if not (pid / "comm").read_text().startswith("git"):
            return False
        where = os.readlink(pid / "cwd")
    except OSError:
        return False
    return any(where == root or where.startswith(root + "/") for root in roots)


def _has_open(pid: Path, target: str) -> bool:
    with suppress(OSError):
        for fd in (pid / "fd").iterdir():
            with suppress(OSError):
                if os.readlink(fd) == target:
                    return True
    return False


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────

Entries = dict[str, tuple[str, str]]
"""Path → (mode, blob)."""


@dataclass(frozen=True)
class HalfCheckout:
    """A folder in which a fast-forward from `old` to `new` may have stopped half-way."""

    git: Git
    folder: Path

    def back_to_old(self, old: Sha, new: Sha) -> None:
        """Edits of the user's stay: a file that is neither old nor new nor the start of either is not ours."""
        before, after = self._changed(old, new)
        staged = set(_names(self.git.run("diff-index", "--cached", "--name-only", "-z", old).raw))
        with tempfile.TemporaryDirectory(prefix="damascus-", dir=scratch_folder()) as scratch:
            index = Path(scratch) / "old"
            same_old = self._unchanged(before, index)
            same_new = self._unchanged(after, Path(scratch) / "new")
            for path in after.keys() - before.keys() - staged:
                if path in same_new or self._cut_short(path, after):
                    self._remove(path)
            self._restore(
                [
                    path
                    for path in before.keys() - staged - same_old
                    if path in same_new or self._just_missing(path) or self._cut_short(path, before, after)
                ],
                index,
            )

    def finish(self, old: Sha, new: Sha) -> bool:
        """If files and index are all there, move the branch too."""
        before, after = self._changed(old, new)
        changed = before.keys() | after.keys()
        staged = set(_names(self.git.run("diff-index", "--cached", "--name-only", "-z", new).raw))
        if not changed or changed & staged:
            return False
        return self.git.run("update-ref", "-m", "damascus: Fast-forward", "HEAD", new, old, check=False).code == 0

    def _changed(self, old: Sha, new: Sha) -> tuple[Entries, Entries]:
        fields = self.git.out("diff-tree", "-r", "-z", "--no-renames", old, new).split("\0")
        before: Entries = {}
        after: Entries = {}
        for raw, path in zip(fields[0::2], fields[1::2], strict=False):
            old_mode, new_mode, old_blob, new_blob, _ = raw.removeprefix(":").split()
            if old_mode != NO_ENTRY:
                before[path] = (old_mode, old_blob)
            if new_mode != NO_ENTRY:
                after[path] = (new_mode, new_blob)
        return before, after

    def _unchanged(self, entries: Entries, index: Path) -> set[str]:
        """Paths whose file is exactly the entry, as git itself compares (filters, modes, links)."""
        lines = "".join(f"{mode} {blob} 0\t{path}\0" for path, (mode, blob) in entries.items())
        self._git("update-index", "-z", "--index-info", index=index, data=_bytes(lines))
        self._git("update-index", "-q", "--refresh", index=index, check=False)
        return entries.keys() - set(_names(self._git("diff-files", "--name-only", "-z", index=index).raw))

    def _git(self, *args: str, index: Path, data: bytes | None = None, check: bool = True) -> GitResult:
        # a split index would put its shared half into the user's git dir
        args = ("-c", "core.splitIndex=false", *args)
        return self.git.run(*args, data=data, work_tree=self.folder, index=index, check=check)

    def _cut_short(self, path: str, *sides: Entries) -> bool:
        """Git was killed while it wrote this file: a proper start of what it would have been."""
        file = self.folder / path
        try:
            if not stat.S_ISREG(file.lstat().st_mode) or not self._directly_inside(file):
                return False
            content = file.read_bytes()
        except OSError:
            return False
        blobs = [side[path][1] for side in sides if path in side]
        whole = (self.git.run("cat-file", "--filters", f"--path={path}", blob).raw for blob in blobs)
        return any(len(content) < len(full) and full.startswith(content) for full in whole)

    def _just_missing(self, path: str) -> bool:
        """Gone, and nothing of the user's where its folders were: git would remove that to make room."""
        above = [self.folder / name for name in parents(path)]
        taken = any(os.path.lexists(place) and (place.is_symlink() or not place.is_dir()) for place in above)
        return not taken and not os.path.lexists(self.folder / path)

    def _directly_inside(self, file: Path) -> bool:
        """Not through a symlink of the user's to another place."""
        return file.parent.resolve() == self.folder.resolve() / file.parent.relative_to(self.folder)

    def _remove(self, path: str) -> None:
        file = self.folder / path
        file.unlink()
        with suppress(OSError):
            for parent in file.parents:
                if parent == self.folder:
                    break
                parent.rmdir()

    def _restore(self, paths: list[str], index: Path) -> None:
        if not paths:
            return
        try:
            self._git("checkout-index", "-f", "-z", "--stdin", index=index, data=_bytes("\0".join(paths) + "\0"))
        except GitError as err:
            raise Blocked(
                f"a landing stopped half-way in {self.folder} and these files could not be put back: "
                f"{', '.join(sorted(paths)[:5])}. Look there with git status; git said: {err.stderr.strip()[-300:]}",
                sorted(paths), needs_person=True,
            ) from None  # fmt: skip


def _names(raw: bytes) -> list[str]:
    return [name for name in raw.decode("utf-8", "surrogateescape").split("\0") if name]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
