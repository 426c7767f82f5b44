"""Two bare repositories per project, ours. `mirror.git` has main's history and nothing else: agents may read it, and
their workspaces borrow its objects. `stories.git` beside it has everything of stories (snapshots, candidates, branches,
pulls, fences, kept indexes, locks), borrows the mirror's objects, and is shown to no agent and no judged command.

Everything we ask of git about a story goes through the stories' store, which sees both (git/stores.py makes them).
Branches are fetched into refs/remotes/origin: `--mirror` with prune would delete our own refs (refs/heads/feat/*,
refs/damascus/*). Main alone is fetched into the mirror, and a story's commit comes there once main has it.
"""

import os
import re
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.errors import DamascusError
from damascus.domain.ids import SHA_PATTERN, Sha
from damascus.domain.ports import ChangedFile, Stale
from damascus.git import rebasing, refs, stores
from damascus.git.commands import Git, GitResult, raise_for
from damascus.git.objects import GITLINK, Commit, Entry, Found, Objects, Recent, identity_now, parents
from damascus.git.rebasing import Conflicted, Rebased
from damascus.git.refs import RefMove
from damascus.git.stores import ATTRIBUTES, LOCK_POLL
from damascus.git.transfer import hand_over
from damascus.git.tree_diff import changed_files, only_came_or_changed

__all__ = ["ATTRIBUTES", "Conflicted", "Listing", "Mirror", "Rebased", "RefMove"]

LOCK_THERE = re.compile(r"Unable to create '(.+?\.lock)': File exists")
ORPHAN_PATIENCE = 1.0
ORIGIN = "refs/remotes/origin/"
NEAR = 50
FETCH_AGAIN = 5
LISTINGS_KEPT = 16
CHANGES_KEPT = 256
FEW_CHANGES = 200
KEEP_UNREACHABLE = "2.weeks.ago"
STALE = re.compile(r"but expected|reference already exists|reference is missing|unable to resolve reference")


@dataclass(frozen=True)
class Listing:
    """Every file of a tree, and every folder that holds one."""

    files: dict[str, Entry]
    folders: frozenset[str]
    gitlinks: frozenset[str]


class Mirror:
    """What we have of the person's repository (`path`, which agents may read), and of stories (`store`)."""

    def __init__(self, path: Path, source: str) -> None:
        self.path, self.store, self.source = path, stores.beside(path), source
        self.git, self.main_git = Git.at(self.store, path), Git.at(path, self.store)
        self.main_objects = Objects(self.main_git)
        self.objects = Objects(self.git, path / "objects")
        for objects in (self.main_objects, self.objects):
            objects.disk.bring_again = self._bring_again
        self.distrusted = False
        """Something that it has is damaged: main is fetched once more, all of it."""
        self._listings: Recent[Sha, Listing] = Recent(LISTINGS_KEPT)
        self._last_listed: tuple[Sha, Listing] | None = None
        self._changes: Recent[tuple[Sha, Sha], tuple[ChangedFile, ...]] = Recent(CHANGES_KEPT)

    # ── life ──────────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def open(cls, path: Path, source: str) -> "Mirror":
        """Made once, aside and renamed, whoever comes first. One of an older release is divided in two."""
        stores.make(path)
        mirror = cls(path, source)
        if "://" not in source:  # a real forge is asked over the network, by git/remote.py
            mirror._trust_source()
        return mirror

    def _trust_source(self) -> None:
        """git's own upload-pack reads the person's repository, which may belong to another user.

        It takes `safe.directory` from a file only: the environment of the fetch is not handed on to it.
        """
        text = "[safe]\n" + "".join(f"\tdirectory = {_quoted(path)}\n" for path in _names_of(self.source))
        if not self._config.exists() or self._config.read_text() != text:
            handle, temporary = tempfile.mkstemp(dir=self.store)
            with open(handle, "w") as file:
                file.write(text)
            os.replace(temporary, self._config)

    @property
    def _config(self) -> Path:
        return self.store / "damascus.gitconfig"

    def fetch(self, *, only: str | None = None) -> None:
        """Every branch, or one, into the stories' store."""
        if only is not None and self._same_tip(only):
            return
        self.fetch_by(self._fetcher(self.store), self.source, only)

    def fetch_main(self, branch: str) -> None:
        """Main, into the mirror that agents may read."""
        stores.make(self.path)
        self.fetch_main_by(self._fetcher(self.path), self.source, branch)

    def _fetcher(self, git_dir: Path) -> Callable[[tuple[str, ...]], GitResult]:
        git = Git(git_dir, {**self.git.environment, "GIT_CONFIG_GLOBAL": str(self._config)})
        return lambda args: git.run(*args, check=False)

    def fetch_by(self, run: Callable[[tuple[str, ...]], GitResult], source: str, only: str | None) -> None:
        """By whichever git may reach the source (git/remote.py: a real forge)."""
        name = only or "*"
        result = self._fetch(run, source, f"+refs/heads/{name}:{ORIGIN}{name}")
        if result.code != 0:
            if only is None or "couldn't find remote ref" not in result.stderr:
                raise_for(("fetch",), result)
            self.git.run("update-ref", "-d", f"{ORIGIN}{only}")

    def fetch_main_by(self, run: Callable[[tuple[str, ...]], GitResult], source: str, branch: str) -> None:
        again = ("--refetch",) if self.distrusted else ()
        result = self._fetch(run, source, f"+refs/heads/{branch}:{ORIGIN}{branch}", *again)
        self.objects.disk.forget()  # its alternate may just have been made
        self.distrusted = False
        if result.code != 0:
            if "couldn't find remote ref" not in result.stderr:
                raise_for(("fetch",), result)
            self.main_git.run("update-ref", "-d", f"{ORIGIN}{branch}")

    def _fetch(self, run: Callable[[tuple[str, ...]], GitResult], source: str, refspec: str, *how: str) -> GitResult:
        """Two fetches at once fail by each other's ref locks; so one after the other, also across processes."""
        quiet = ("--quiet", "--no-tags", "--prune", "--no-write-fetch-head", "--no-auto-maintenance")
        args = ("fetch", *quiet, *how, "--no-recurse-submodules", source, refspec)
        with self.locked("fetch"):
            result = run(args)
            for _ in range(FETCH_AGAIN):
                if result.code == 0 or "but expected" not in result.stderr:
                    break
                result = run(args)  # a landing moved the same ref meanwhile
        return result

    def _same_tip(self, branch: str) -> bool:
        """A loose ref of a plain local repository can be compared without the four processes of a fetch."""
        folder = Path(self.source)
        there = refs.loose(folder / ".git" if (folder / ".git").is_dir() else folder, f"refs/heads/{branch}")
        return there is not None and there == self.tip(branch)

    def publish(self, commit: Sha, branch: str | None = None, was: Sha | None = None) -> None:
        """The mirror has this commit of main with all that it needs; with `branch`, main is there (Stale if it was
        elsewhere than `was`)."""
        if branch is None and self._published(commit):
            return
        with self.locked("publish"):
            if was is None or not hand_over(self.objects, self.main_objects, was, commit, durable=False):
                self._publish_by_fetch(commit)
            if branch is not None:
                self._move(self.main_git, self.main_objects, [RefMove(f"{ORIGIN}{branch}", commit, was)])

    def _published(self, commit: Sha) -> bool:
        whole = ("rev-list", "--quiet", "--objects", commit, "--not", "--all")
        at_tip = any(refs.loose(self.path, name) == commit for name in self._loose_mains())
        return at_tip or self.main_git.run(*whole, check=False).code == 0

    def _loose_mains(self) -> list[str]:
        return [str(file.relative_to(self.path)) for file in (self.path / ORIGIN).rglob("*") if file.is_file()]

    def _publish_by_fetch(self, commit: Sha) -> None:
        quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules")
        if not self._published(commit):
            self.main_git.run("-c", "protocol.version=2", "fetch", *quiet, str(self.store), commit)

    def locked(self, name: str) -> AbstractContextManager[None]:
        return stores.locked(self.lock_file(name))

    def lock_file(self, name: str) -> Path:
        """Where no agent can open it: whoever can open a file can lock it."""
        return self.store / f"damascus-{name}.lock"

    def gc(self) -> None:
        """Packs both. What no ref of the store reaches goes once it is two weeks old: a candidate is younger than that.
        Of the mirror nothing ever goes: it has only what main had, and the store and workspaces borrow of it."""
        with self.locked("fetch"), self.locked("publish"):
            self.main_git.run("repack", "-a", "-d", "--keep-unreachable", "--quiet")
            self.main_git.run("pack-refs", "--all")
            self.git.run("gc", "--quiet", f"--prune={KEEP_UNREACHABLE}")

    # ── refs ──────────────────────────────────────────────────────────────────────────────────────

    def main(self, branch: str) -> Sha | None:
        """Where main was when the mirror last looked; None: it has not, or is gone."""
        ref = f"{ORIGIN}{branch}"
        return None if self.distrusted else refs.loose(self.path, ref) or refs.packed(self.path, ref)

    def tip(self, branch: str) -> Sha | None:
        return self.main(branch) or self.resolve(f"{ORIGIN}{branch}")

    def resolve(self, ref: str) -> Sha | None:
        """Of the store's refs: main's is the mirror's (`main`)."""
        if ref.startswith("refs/") and not (self.store / ref).is_file():
            return refs.packed(self.store, ref)
        if (found := refs.loose(self.store, ref)) is not None:
            return found
        result = self.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", ref, check=False)
        return Sha(result.text) if result.code == 0 and SHA_PATTERN.fullmatch(result.text) else None

    def update_refs(self, moves: Sequence[RefMove]) -> None:
        """All or none, each only from what it was; Stale if one is something else."""
        with self.locked("refs"):
            self._move(self.git, self.objects, moves)

    def _move(self, git: Git, objects: Objects, moves: Sequence[RefMove]) -> None:
        if refs.move(git.git_dir, moves, objects.kind):
            return
        data = b"start\0" + b"".join(move.command() for move in moves) + b"prepare\0commit\0"
        args = ("update-ref", "--stdin", "-z")
        result = git.run(*args, data=data, check=False)
        for _ in moves:  # whoever was killed may have left a lock of each
            if result.code == 0 or not _remove_orphaned_lock(git.git_dir, result.stderr):
                break
            result = git.run(*args, data=data, check=False)
        if result.code != 0:
            _raise_stale(args, result)

    def for_each_ref(self, prefix: str) -> dict[str, Sha]:
        lines = self.git.out("for-each-ref", "--format=%(objectname) %(refname)", prefix).splitlines()
        return {name: Sha(sha) for sha, _, name in (line.partition(" ") for line in lines)}

    # ── objects ───────────────────────────────────────────────────────────────────────────────────

    def tree(self, commit: Sha) -> Sha:
        return self.objects.commit(commit).tree

    def is_whole(self, commit: Sha) -> bool:
        """It is here with all that it needs: git unpacks a commit before its files, so a fetch that goes on, or was
        killed, leaves less."""
        whole = ("rev-list", "--quiet", "--objects", commit, "--not", "--all", "--alternate-refs")
        return self.git.run(*whole, check=False).code == 0

    def read(self, commit: Sha, path: str) -> bytes | None:
        if path.startswith(("./", "../")):  # git would take it as relative to a folder that we are not in
            return None
        found = self.objects.find([f"{commit}:{path}"])[0]
        return found.data if found is not None and found.kind == "blob" else None

    def write_blob(self, data: bytes) -> Sha:
        return self.objects.write("blob", data)

    def commit_tree(self, tree: Sha, parents: Sequence[Sha], message: str, author: str = "") -> Sha:
        """By `author` ("Name <mail>") if one is named; the committer is always ours."""
        text = message if message.endswith("\n") else message + "\n"
        return self.objects.write_commit(Commit(tree, tuple(parents), identity_now(author), text))

    def parent(self, commit: Sha) -> Sha:
        """A candidate has exactly one."""
        return self.objects.commit(commit).parents[0]

    def author(self, commit: Sha) -> str:
        """Name and address."""
        return self.objects.commit(commit).author.rpartition(">")[0] + ">"

    def message(self, commit: Sha) -> str:
        return self.objects.commit(commit).message

    def is_ancestor(self, commit: Sha, of: Sha) -> bool:
        if self._is_near(commit, of):
            return True
        args = ("merge-base", "--is-ancestor", commit, of)
        result = self.git.run(*args, check=False)
        if result.code not in (0, 1):
            raise_for(args, result)
        return result.code == 0

    def _is_near(self, commit: Sha, of: Sha) -> bool:
        """Usually it is one of the last few commits: found without a process."""
        for _ in range(NEAR):
            if commit == of:
                return True
            try:
                above = self.objects.commit(of).parents
            except KeyError:
                return False
            if not above:
                return False
            of = above[0]
        return False

    def changed(self, base: Sha, head: Sha) -> tuple[ChangedFile, ...]:
        trees = self.objects.tree_of(base), self.objects.tree_of(head)
        known = self._changes.get(trees)
        if known is None:
            known = changed_files(self.objects.folder_at, *trees)
            if len(known) <= FEW_CHANGES:
                self._changes.keep(trees, known)
        return known

    def listing(self, treeish: Sha) -> Listing:
        """Every file of a tree; the last few answers are kept, and the next one is made from the last if it can be."""
        known = self._listings.get(treeish) or self._next_listing(treeish)
        if known is None:
            known = _listing(self.git.run("ls-tree", "-r", "-z", "--full-tree", treeish).raw)
        self._last_listed = treeish, known
        return self._listings.keep(treeish, known)

    def _next_listing(self, treeish: Sha) -> Listing | None:
        """As the last one, but for a few files that came or changed: what a story that landed does."""
        if self._last_listed is None:
            return None
        last, old = self._last_listed
        changes = self.changed(last, treeish)
        if len(changes) > FEW_CHANGES or not only_came_or_changed(changes):
            return None
        paths = [change.path for change in changes]
        folders = self.objects.entries((treeish, path.rpartition("/")[0]) for path in paths)
        new = {path: folders[treeish, path.rpartition("/")[0]][path.rpartition("/")[2]] for path in paths}
        return Listing(old.files | new, old.folders.union(*map(parents, paths)), old.gitlinks)

    def rebase(self, commit: Sha, onto: Sha) -> Rebased | Conflicted:
        return rebasing.rebase(self.objects, commit, onto)

    def overlay(self, base: Sha, source: Sha, paths: Sequence[str]) -> Sha:
        """The base's tree with exactly these paths as they are in `source`, gone where they are not there."""
        return self.objects.overlay(base, source, paths)

    def checkout(self, treeish: Sha, folder: Path) -> None:
        """Exactly this tree, nothing else, and no .git."""
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise DamascusError(f"{folder} is not empty. Name a folder that does not exist yet.")
        self.assure(treeish)
        index = folder.with_name(f".{folder.name}.{os.getpid()}.{threading.get_ident()}.index")
        try:
            self.git.run("read-tree", "-u", "--reset", treeish, work_tree=folder, index=index)
        finally:
            index.unlink(missing_ok=True)

    def assure(self, treeish: Sha) -> None:
        """Every file of it is what its name says, as far as a disk can have damaged it alone."""
        self.objects.disk.assure({entry.sha for entry in self.listing(treeish).files.values()})

    def _bring_again(self, sha: Sha) -> Found | None:
        """A damaged object from where it came. Where that is a forge, main is fetched anew as a whole."""
        found = _asked_of(Path(self.source), sha) if "://" not in self.source else None
        self.distrusted = self.distrusted or found is None
        return found

    def patch(self, base: Sha, head: Sha, *how: str) -> bytes:
        """The difference of two trees as `git apply` takes it, to the byte; attributes and settings change nothing."""
        return self.difference(base, head, "-p", "--binary", "--full-index", *how)

    def difference(self, base: Sha, head: Sha, *form: str) -> bytes:
        """The same in another form of git's: `--stat`, `--numstat`."""
        plain = ("-r", "--no-ext-diff", "--no-textconv", "--no-color")
        return self.git.run("diff-tree", *plain, *form, base, head).raw

    # ── the same change under another id ──────────────────────────────────────────────────────────

    def patch_id(self, commit: Sha) -> str | None:
        return next(iter(patch_ids(self.git, "-1", commit)), None)

    def reachable_patch_ids(self, tip: Sha, since: Sha | None) -> dict[str, Sha]:
        return patch_ids(self.git, tip, *([f"^{since}"] if since else []))


def patch_ids(git: Git, *revisions: str) -> dict[str, Sha]:
    plain = ("--no-merges", "--no-ext-diff", "--no-textconv", "--no-renames", "--full-index", "--no-color")
    patches = git.run("log", "-p", "--format=commit %H", *plain, *revisions).raw
    lines = git.run("patch-id", "--stable", data=patches).text.splitlines()
    return {patch: Sha(commit) for patch, commit in (line.split(" ") for line in lines)}


def counted(numstat: bytes) -> dict[str, tuple[int | None, int | None]]:
    """Lines added and removed by path, of `--numstat -z`; None where the file has no lines."""
    rows = [row.split("\t", 2) for row in os.fsdecode(numstat).split("\0") if row.count("\t") >= 2]
    return {path: (_number(added), _number(removed)) for added, removed, path in rows}


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _remove_orphaned_lock(git_dir: Path, stderr: str) -> bool:
    """Whoever was killed inside a transaction leaves `<ref>.lock`. We alone move these refs, one process at a time, so
    a lock that is there while we hold ours, and does not go away, belongs to nobody."""
    found = LOCK_THERE.search(stderr)
    if found is None:
        return False
    lock = Path(found[1]) if found[1].startswith("/") else git_dir / found[1]
    deadline = time.monotonic() + ORPHAN_PATIENCE
    while lock.exists() and time.monotonic() < deadline:
        time.sleep(LOCK_POLL)
    lock.unlink(missing_ok=True)
    return True


def _names_of(source: str) -> list[str]:
    """Under which names git may look at the ownership of the source: the folder, its .git, and both resolved."""
    folders = [source, os.path.join(source, ".git")]
    return list(dict.fromkeys(folders + [os.path.realpath(folder) for folder in folders]))


def _asked_of(source: Path, sha: Sha) -> Found | None:
    git_dir = source / ".git" if (source / ".git").is_dir() else source
    try:
        raw = Git.at(git_dir, source).run("cat-file", "--batch", data=f"{sha}\n".encode(), check=False).raw
    except OSError:
        return None
    head, _, rest = raw.partition(b"\n")
    words = head.decode("ascii", "replace").split(" ")
    return Found(words[1], sha, rest[: int(words[2])]) if len(words) == 3 else None


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _raise_stale(args: tuple[str, ...], result: GitResult) -> None:
    if STALE.search(result.stderr):
        raise Stale(result.stderr.strip())
    raise_for(args, result)


def _listing(raw: bytes) -> Listing:
    rows = (row.partition(b"\t") for row in raw.split(b"\0") if row)
    heads = ((os.fsdecode(path), head.decode().split(" ")) for head, _, path in rows)
    entries = {path: Entry(mode, Sha(sha)) for path, (mode, _, sha) in heads}
    links = frozenset(path for path, entry in entries.items() if entry.mode == GITLINK)
    files = {path: entry for path, entry in entries.items() if path not in links}
    return Listing(files, frozenset(folder for path in entries for folder in parents(path)), links)
