"""One bare mirror per project, ours: everything we ask of git about a story goes through its git dir.

It fetches heads only, into refs/remotes/origin: `--mirror` with prune would delete our own refs (refs/heads/feat/*,
refs/damascus/*). Its attributes switch every conversion off, so that a blob is exactly the file's bytes and nothing
that an agent writes into .gitattributes can change, or stop, what we store.
"""

import fcntl
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.errors import DamascusError, TransientError
from damascus.domain.ids import SHA_PATTERN, Sha
from damascus.domain.ports import ChangedFile, Stale
from damascus.git import rebasing, refs
from damascus.git.commands import Git, GitResult, raise_for
from damascus.git.objects import GITLINK, Commit, Entry, Objects, Recent, identity_now, parents
from damascus.git.rebasing import Conflicted, Rebased
from damascus.git.refs import RefMove
from damascus.git.tree_diff import changed_files, only_came_or_changed

__all__ = ["Conflicted", "Listing", "Mirror", "Rebased", "RefMove"]

ATTRIBUTES = "* -text !eol -ident !filter !working-tree-encoding\n"
CONFIG = (("uploadpack.allowAnySHA1InWant", "true"), ("core.logAllRefUpdates", "false"))
LOCK_LIMIT = 60.0
LOCK_POLL = 0.005
LOCK_THERE = re.compile(r"Unable to create '(.+?\.lock)': File exists")
ORPHAN_PATIENCE = 1.0
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
    """A bare repository of ours beside the person's one."""

    def __init__(self, path: Path, git: Git, source: str) -> None:
        self.path, self.git, self.source = path, git, source
        self.objects = Objects(git)
        self._listings: Recent[Sha, Listing] = Recent(LISTINGS_KEPT)
        self._last_listed: tuple[Sha, Listing] | None = None
        self._changes: Recent[tuple[Sha, Sha], tuple[ChangedFile, ...]] = Recent(CHANGES_KEPT)

    # ── life ──────────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def open(cls, path: Path, source: str) -> "Mirror":
        """Made once, aside and renamed, whoever comes first."""
        if not path.exists():
            _build(path)
        mirror = cls(path, Git.at(path), source)
        if "://" not in source:  # a real forge is asked over the network, by git/remote.py
            mirror._trust_source()
        return mirror

    def _trust_source(self) -> None:
        """git's own upload-pack reads the person's repository, which may belong to another user.

        It takes `safe.directory` from a file only: the environment of the fetch is not handed on to it.
        """
        text = "[safe]\n" + "".join(f"\tdirectory = {_quoted(path)}\n" for path in _names_of(self.source))
        if not self._config.exists() or self._config.read_text() != text:
            handle, temporary = tempfile.mkstemp(dir=self.path)
            with open(handle, "w") as file:
                file.write(text)
            os.replace(temporary, self._config)

    @property
    def _config(self) -> Path:
        return self.path / "damascus.gitconfig"

    def fetch(self, *, only: str | None = None) -> None:
        if only is not None and self._same_tip(only):
            return
        git = Git(self.path, {**self.git.environment, "GIT_CONFIG_GLOBAL": str(self._config)})
        self.fetch_by(lambda args: git.run(*args, check=False), self.source, only)

    def fetch_by(self, run: Callable[[tuple[str, ...]], GitResult], source: str, only: str | None) -> None:
        """Heads into refs/remotes/origin, by whichever git may reach the source (git/remote.py: a real forge)."""
        name = only or "*"
        refspec = f"+refs/heads/{name}:refs/remotes/origin/{name}"
        quiet = ("--quiet", "--no-tags", "--prune", "--no-write-fetch-head", "--no-auto-maintenance")
        with self.locked("fetch"):
            args = ("fetch", *quiet, "--no-recurse-submodules", source, refspec)
            result = run(args)
            for _ in range(FETCH_AGAIN):
                if result.code == 0 or "but expected" not in result.stderr:
                    break
                result = run(args)  # a landing moved the same ref meanwhile
            if result.code == 0:
                return
            if only is None or "couldn't find remote ref" not in result.stderr:
                raise_for(args, result)
            self.git.run("update-ref", "-d", f"refs/remotes/origin/{only}")

    def _same_tip(self, branch: str) -> bool:
        """A loose ref of a plain local repository can be compared without the four processes of a fetch."""
        folder = Path(self.source)
        there = refs.loose(folder / ".git" if (folder / ".git").is_dir() else folder, f"refs/heads/{branch}")
        return there is not None and there == self.tip(branch)

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Two fetches at once fail by each other's ref locks; so one after the other, also across processes."""
        with open(self.path / f"damascus-{name}.lock", "a") as file:
            deadline = time.monotonic() + LOCK_LIMIT
            while not _try_lock(file.fileno()):
                if time.monotonic() > deadline:
                    raise TransientError(f"the mirror {self.path} was locked for {name} for {LOCK_LIMIT:.0f} s")
                time.sleep(LOCK_POLL)
            yield

    def gc(self) -> None:
        """Packs, and forgets what no ref reaches once it is two weeks old: a candidate is younger than that."""
        with self.locked("fetch"):
            self.git.run("gc", "--quiet", f"--prune={KEEP_UNREACHABLE}")

    # ── refs ──────────────────────────────────────────────────────────────────────────────────────

    def tip(self, branch: str) -> Sha | None:
        return self.resolve(f"refs/remotes/origin/{branch}")

    def resolve(self, ref: str) -> Sha | None:
        if ref.startswith("refs/") and not (self.path / ref).is_file():
            return refs.packed(self.path, ref)
        if (found := refs.loose(self.path, ref)) is not None:
            return found
        result = self.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", ref, check=False)
        return Sha(result.text) if result.code == 0 and SHA_PATTERN.fullmatch(result.text) else None

    def update_refs(self, moves: Sequence[RefMove]) -> None:
        """All or none, each only from what it was; Stale if one is something else."""
        data = b"start\0" + b"".join(move.command() for move in moves) + b"prepare\0commit\0"
        args = ("update-ref", "--stdin", "-z")
        with self.locked("refs"):
            if refs.move(self.path, moves, self.objects.kind):
                return
            result = self.git.run(*args, data=data, check=False)
            for _ in moves:  # whoever was killed may have left a lock of each
                if result.code == 0 or not self._remove_orphaned_lock(result.stderr):
                    break
                result = self.git.run(*args, data=data, check=False)
        if result.code != 0:
            _raise_stale(args, result)

    def _remove_orphaned_lock(self, stderr: str) -> bool:
        """Whoever was killed inside a transaction leaves `<ref>.lock`. We alone move these refs, one process at
        a time, so a lock that is there while we hold ours, and does not go away, belongs to nobody."""
        found = LOCK_THERE.search(stderr)
        if found is None:
            return False
        lock = Path(found[1]) if found[1].startswith("/") else self.path / found[1]
        deadline = time.monotonic() + ORPHAN_PATIENCE
        while lock.exists() and time.monotonic() < deadline:
            time.sleep(LOCK_POLL)
        lock.unlink(missing_ok=True)
        return True

    def for_each_ref(self, prefix: str) -> dict[str, Sha]:
        lines = self.git.out("for-each-ref", "--format=%(objectname) %(refname)", prefix).splitlines()
        return {name: Sha(sha) for sha, _, name in (line.partition(" ") for line in lines)}

    # ── objects ───────────────────────────────────────────────────────────────────────────────────

    def tree(self, commit: Sha) -> Sha:
        return self.objects.commit(commit).tree

    def is_whole(self, commit: Sha) -> bool:
        """It is here with all that it needs: git unpacks a commit before its files, so a fetch that goes on, or was
        killed, leaves less."""
        return self.git.run("rev-list", "--quiet", "--objects", commit, "--not", "--all", check=False).code == 0

    def read(self, commit: Sha, path: str) -> bytes | None:
        if path.startswith(("./", "../")):  # git would take it as relative to a folder that we are not in
            return None
        found = self.objects.find([f"{commit}:{path}"])[0]
        return found.data if found is not None and found.kind == "blob" else None

    def write_blob(self, data: bytes) -> Sha:
        return self.objects.write("blob", data)

    def commit_tree(self, tree: Sha, parents: Sequence[Sha], message: str) -> Sha:
        text = message if message.endswith("\n") else message + "\n"
        return self.objects.write_commit(Commit(tree, tuple(parents), identity_now(), text))

    def parent(self, commit: Sha) -> Sha:
        """A candidate has exactly one."""
        return self.objects.commit(commit).parents[0]

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
        index = folder.with_name(f".{folder.name}.{os.getpid()}.{threading.get_ident()}.index")
        try:
            self.git.run("read-tree", "-u", "--reset", treeish, work_tree=folder, index=index)
        finally:
            index.unlink(missing_ok=True)

    # ── the same change under another id ──────────────────────────────────────────────────────────

    def patch_id(self, commit: Sha) -> str | None:
        return next(iter(self._patch_ids("-1", commit)), None)

    def reachable_patch_ids(self, tip: Sha, since: Sha | None) -> dict[str, Sha]:
        return self._patch_ids(tip, *([f"^{since}"] if since else []))

    def _patch_ids(self, *revisions: str) -> dict[str, Sha]:
        plain = ("--no-merges", "--no-ext-diff", "--no-textconv", "--no-renames", "--full-index", "--no-color")
        patches = self.git.run("log", "-p", "--format=commit %H", *plain, *revisions).raw
        lines = self.git.run("patch-id", "--stable", data=patches).text.splitlines()
        return {patch: Sha(commit) for patch, commit in (line.split(" ") for line in lines)}


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
        aside.chmod(0o755)
        aside.rename(path)
    except OSError:
        if not (path / "HEAD").exists():
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _names_of(source: str) -> list[str]:
    """Under which names git may look at the ownership of the source: the folder, its .git, and both resolved."""
    folders = [source, os.path.join(source, ".git")]
    return list(dict.fromkeys(folders + [os.path.realpath(folder) for folder in folders]))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


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
