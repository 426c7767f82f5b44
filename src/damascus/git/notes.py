"""Receipts as notes on the commits of main, under refs/notes/damascus: `git notes --ref=damascus show COMMIT`.

Written by whoever lands the commit, and by nobody else: an agent's repository has no way there. The chain of notes is
kept in the stories' store as well, so that one more costs no process. A note that somebody else put on the same commit
is replaced.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from damascus.domain.errors import DamascusError
from damascus.domain.ids import SHA_PATTERN, Sha, short
from damascus.domain.ports import Stale
from damascus.git.mirror import Mirror
from damascus.git.objects import EMPTY_TREE, Commit, Objects, identity_now
from damascus.git.refs import RefMove
from damascus.git.remote import Protected, Remote
from damascus.git.repository import Repository, loose_ref
from damascus.git.transfer import hand_over
from damascus.git.trees import REGULAR, TreeEntry

NOTES = "refs/notes/damascus"
TRIES = 5
FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules")


def places(commit: str) -> Iterator[str]:
    """Where git may keep a commit's note, as many notes as there are: we write the second."""
    yield commit
    for cut in (2, 4, 6):
        parts = [commit[at : at + 2] for at in range(0, cut, 2)]
        yield "/".join([*parts, commit[cut:]])


def with_note(objects: Objects, tip: Sha | None, commit: Sha, text: bytes) -> Sha | None:
    """The notes with one more; None: they have exactly that already."""
    names = list(places(commit))
    before = objects.tree_of(tip) if tip else EMPTY_TREE
    there = [name for name in names if tip and objects.find([f"{tip}:{name}"])[0] is not None]
    changes: dict[str, TreeEntry | None] = dict.fromkeys(there)
    changes[names[1]] = TreeEntry(REGULAR[0], objects.write("blob", text))
    if not tip:
        objects.write("tree", b"")
    tree = objects.edit(before, changes)
    if tip and tree == before:
        return None
    message = f"receipt of {short(commit)}\n"
    return objects.write_commit(Commit(tree, (tip,) if tip else (), identity_now(), message))


def note_on(read: Repository, commit: str) -> bytes | None:
    """The note on a commit, as git reads it; None: there is none."""
    found = read.git.run("notes", f"--ref={NOTES}", "show", commit, check=False)
    return found.raw if found.code == 0 else None


# ── in the person's own repository ────────────────────────────────────────────────────────────────────


def annotate(repo: Repository, mirror: Mirror, commit: Sha, text: bytes) -> None:
    with mirror.locked("notes"):
        for _ in range(TRIES):
            at = _tip(repo)
            if at is not None and mirror.objects.find([at])[0] is None:  # somebody else has written notes there
                mirror.git.run("-c", "protocol.version=2", *FETCH, str(repo.git_dir), NOTES)
            new = with_note(mirror.objects, at, commit, text)
            if new is None:
                return
            if not hand_over(mirror.objects, Objects(repo.git), at, new):
                repo.git.run("-c", "protocol.version=2", *FETCH, str(mirror.store), new)
            try:
                _move(repo, new, at)
                return
            except Stale:
                continue
    raise DamascusError(
        f"the notes of {repo.top} ({NOTES}) keep moving, so the receipt of {short(commit)} is not there."
    )


def _tip(repo: Repository) -> Sha | None:
    if (loose := loose_ref(repo.git_dir, NOTES)) is not None:
        return loose
    if not _in_files(repo) or NOTES.encode() in _packed(repo.git_dir):
        found = repo.git.run("rev-parse", "--verify", "--quiet", NOTES, check=False)
        return Sha(found.text) if found.code == 0 and SHA_PATTERN.fullmatch(found.text) else None
    return None


def _in_files(repo: Repository) -> bool:
    return not (repo.git_dir / "reftable").exists()


def _packed(git_dir: Path) -> bytes:
    try:
        return (git_dir / "packed-refs").read_bytes()
    except FileNotFoundError:
        return b""


def _move(repo: Repository, new: Sha, old: Sha | None) -> None:
    """As git moves a ref that is a file: under `<ref>.lock`, compared there, renamed. Whatever is not that simple is
    left to git."""
    ref = repo.git_dir / NOTES
    lock = ref.with_name(f"{ref.name}.lock")
    if not _in_files(repo) or ref.is_symlink() or (old is not None and loose_ref(repo.git_dir, NOTES) != old):
        _move_by_git(repo, new, old)
        return
    ref.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except FileExistsError:
        _move_by_git(repo, new, old)
        return
    try:
        with open(handle, "w", encoding="ascii") as file:
            if _tip(repo) != old:
                raise Stale(f"{NOTES} moved meanwhile")
            file.write(f"{new}\n")
            file.flush()
            os.fsync(handle)
        lock.rename(ref)
    except BaseException:
        lock.unlink(missing_ok=True)
        raise


def _move_by_git(repo: Repository, new: Sha, old: Sha | None) -> None:
    done = repo.git.run("update-ref", NOTES, new, old or "0" * 40, check=False)
    if done.code != 0:
        raise Stale(done.stderr.strip()[-200:])


# ── on a forge ────────────────────────────────────────────────────────────────────────────────────────


def annotate_remote(remote: Remote, commit: Sha, text: bytes) -> None:
    objects = remote.mirror.objects
    for _ in range(TRIES):
        at = remote.ls_remote(NOTES).get(NOTES)
        if at is not None and objects.find([at])[0] is None:
            remote.fetch_commit(at)
        new = with_note(objects, at, commit, text)
        if new is None:
            return
        try:
            remote.push([RefMove(NOTES, new, at)])
            return
        except Stale:
            continue
        except Protected as rule:
            raise DamascusError(f"the forge refused the push of {NOTES} ({rule}). Leave it out of its rules.") from None
    raise DamascusError(f"{NOTES} on the forge keeps moving, so the receipt of {short(commit)} is not there.")
