"""Two bare repositories per project, ours. `mirror.git` has main's history and nothing else: agents may read it, and
their workspaces borrow its objects. `stories.git` beside it has everything of stories (snapshots, candidates, branches,
pulls, fences, kept indexes, locks), borrows the mirror's objects, and is shown to no agent and no judged command.

Everything we ask of git about a story goes through the stories' store, which sees both (git/stores.py makes them).
Branches are fetched into refs/remotes/origin: `--mirror` with prune would delete our own refs (refs/heads/feat/*,
refs/damascus/*). Main alone is fetched into the mirror, and a story's commit comes there once main has it.
"""

import os
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from damascus.domain.errors import DamascusError
from damascus.domain.ids import Sha
from damascus.domain.ports import ChangedFile
from damascus.git import patches, rebasing, stores
from damascus.git.commands import Git, raise_for
from damascus.git.fetching import NO_SUCH_REF, Fetcher, Run, asked_of
from damascus.git.listings import Listings, TreeListing
from damascus.git.objects import Commit, GitObject, Objects, identity_now
from damascus.git.patches import patch_ids
from damascus.git.rebasing import Conflicted, Rebased
from damascus.git.refs import RefMove, Refs
from damascus.git.repository import loose_ref
from damascus.git.stores import ATTRIBUTES
from damascus.git.transfer import hand_over

__all__ = ["ATTRIBUTES", "Conflicted", "Mirror", "Rebased", "RefMove", "TreeListing", "patch_ids"]

ORIGIN = "refs/remotes/origin/"
NEAR = 50
KEEP_UNREACHABLE = "2.weeks.ago"


class Mirror:
    """What we have of the person's repository (`path`, which agents may read), and of stories (`store`)."""

    def __init__(self, path: Path, source: str) -> None:
        self.path, self.store, self.source = path, stores.beside(path), source
        self.git, self.main_git = Git.at(self.store, path), Git.at(path, self.store)
        self.main_objects = Objects(self.main_git)
        self.objects = Objects(self.git, path / "objects")
        for objects in (self.main_objects, self.objects):
            objects.disk.bring_again = self._bring_again
        self.refs, self.main_refs = Refs(self.git, self.objects), Refs(self.main_git, self.main_objects)
        self.distrusted = False
        """Something that it has is damaged: main is fetched once more, all of it."""
        self._fetcher = Fetcher(source, self.store / "damascus.gitconfig", lambda: self.locked("fetch"))
        self._listings = Listings(self.objects)

    # ── life ──────────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def open(cls, path: Path, source: str) -> "Mirror":
        """Made once, aside and renamed, whoever comes first. One of an older release is divided in two."""
        stores.make(path)
        mirror = cls(path, source)
        if "://" not in source:  # a real forge is asked over the network, by git/remote.py
            mirror._fetcher.trust_source()
        return mirror

    def fetch(self, *, only: str | None = None) -> None:
        """Every branch, or one, into the stories' store."""
        if only is not None and self._same_tip(only):
            return
        self.fetch_by(self._fetcher.into(self.store, self.git), self.source, only)

    def fetch_main(self, branch: str) -> None:
        """Main, into the mirror that agents may read."""
        stores.make(self.path)
        self.fetch_main_by(self._fetcher.into(self.path, self.git), self.source, branch)

    def fetch_by(self, run: Run, source: str, only: str | None) -> None:
        """By whichever git may reach the source (git/remote.py: a real forge)."""
        name = only or "*"
        result = self._fetcher.fetch(run, source, f"+refs/heads/{name}:{ORIGIN}{name}")
        if result.code != 0:
            if only is None or NO_SUCH_REF not in result.stderr:
                raise_for(("fetch",), result)
            self.git.run("update-ref", "-d", f"{ORIGIN}{only}")

    def fetch_main_by(self, run: Run, source: str, branch: str) -> None:
        again = ("--refetch",) if self.distrusted else ()
        result = self._fetcher.fetch(run, source, f"+refs/heads/{branch}:{ORIGIN}{branch}", *again)
        self.objects.disk.forget()  # its alternate may just have been made
        self.distrusted = False
        if result.code != 0:
            if NO_SUCH_REF not in result.stderr:
                raise_for(("fetch",), result)
            self.main_git.run("update-ref", "-d", f"{ORIGIN}{branch}")

    def _same_tip(self, branch: str) -> bool:
        """A loose ref of a plain local repository can be compared without the four processes of a fetch. It is the
        person's repository, so that libgit2 does not open it."""
        folder = Path(self.source)
        there = loose_ref(folder / ".git" if (folder / ".git").is_dir() else folder, f"refs/heads/{branch}")
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
                self.main_refs.move([RefMove(f"{ORIGIN}{branch}", commit, was)])

    def _published(self, commit: Sha) -> bool:
        """A ref of the mirror stands there or not far above it, or git finds all that it needs."""
        if any(self._is_near(commit, tip) for tip in self.main_refs.tips()):
            return True
        whole = ("rev-list", "--quiet", "--objects", commit, "--not", "--all")
        return self.main_git.run(*whole, check=False).code == 0

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
        Of the mirror nothing ever goes: it has only what main had, and the store and workspaces borrow of it. Nobody
        moves refs while they are packed: git takes away the file of one that it has packed if it still has that value,
        also if the ref was deleted and made again meanwhile, and then it is nowhere."""
        with stores.locked(stores.gc_lock(self.store)), self.locked("fetch"), self.locked("publish"):
            self.main_git.run("repack", "-a", "-d", "--keep-unreachable", "--quiet")
            self.main_git.run("pack-refs", "--all")
            with self.locked("refs"):
                self.git.run("pack-refs", "--all", "--prune")
            self.git.run("-c", "gc.packRefs=false", "gc", "--quiet", f"--prune={KEEP_UNREACHABLE}")

    # ── refs ──────────────────────────────────────────────────────────────────────────────────────

    def main(self, branch: str) -> Sha | None:
        """Where main was when the mirror last looked; None: it has not, or is gone."""
        return None if self.distrusted else self.main_refs.at(f"{ORIGIN}{branch}")

    def tip(self, branch: str) -> Sha | None:
        return self.main(branch) or self.resolve(f"{ORIGIN}{branch}")

    def resolve(self, ref: str) -> Sha | None:
        """Of the store's refs: main's is the mirror's (`main`)."""
        return self.refs.at(ref)

    def update_refs(self, moves: Sequence[RefMove]) -> None:
        """All or none, each only from what it was; Stale if one is something else."""
        with self.locked("refs"):
            self.refs.move(moves)

    def for_each_ref(self, prefix: str) -> dict[str, Sha]:
        return self.refs.below(prefix)

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

    def is_candidate(self, commit: Sha) -> bool:
        """Is it here, a commit with one parent?"""
        found = self.objects.find([commit])[0]
        return found is not None and found.kind == "commit" and len(self.objects.commit(commit).parents) == 1

    def author(self, commit: Sha) -> str:
        """Name and address."""
        return self.objects.commit(commit).author.rpartition(">")[0] + ">"

    def made_at(self, commit: Sha) -> str:
        """When it was committed, in UTC."""
        return self.objects.commit(commit).made_at.isoformat()

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
        return self._listings.changed(base, head)

    def listing(self, treeish: Sha) -> TreeListing:
        """Every file of a tree."""
        return self._listings.of(treeish)

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

    def _bring_again(self, sha: Sha) -> GitObject | None:
        """A damaged object from where it came. Where that is a forge, main is fetched anew as a whole."""
        found = asked_of(Path(self.source), sha) if "://" not in self.source else None
        self.distrusted = self.distrusted or found is None
        return found

    def patch(self, base: Sha, head: Sha, *how: str) -> bytes:
        """The difference of two trees as `git apply` takes it, to the byte; attributes and settings change nothing."""
        return self.difference(base, head, "-p", "--binary", "--full-index", *how)

    def difference(self, base: Sha, head: Sha, *form: str) -> bytes:
        """The same in another form of git's: `--stat`, `--numstat`."""
        return patches.difference(self.git, base, head, *form)

    # ── the same change under another id ──────────────────────────────────────────────────────────

    def patch_id(self, commit: Sha) -> str | None:
        return next(iter(patch_ids(self.git, "-1", commit)), None)

    def reachable_patch_ids(self, tip: Sha, since: Sha | None) -> dict[str, Sha]:
        return patch_ids(self.git, tip, *([f"^{since}"] if since else []))
