"""A story's own shared clone of main's mirror, in `<project>/worktrees/<story>`.

It is what `git clone --shared` makes, written by hand but for the checkout: one git process. It has a `.git` of its
own, so an agent that replaces or empties it hurts nobody else, and no remote, so nothing can be pushed by mistake.
We never read that `.git`: what an agent made is the files, collected with the stories' store as git dir. What an
earlier attempt made is there as files too: its objects are in the store, which no agent sees.
"""

import os
import secrets
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.ids import Sha, StoryId
from damascus.domain.ports import ChangedFile
from damascus.domain.scope import Scope
from damascus.git.commands import IDENTITY
from damascus.git.contents import NOTHING_NAMED, Room, TreeWriter, Walk, base_rules, base_sizes, stat_index
from damascus.git.excludes import BUILT_IN
from damascus.git.mirror import ATTRIBUTES, Mirror
from damascus.git.rebasing import merged_tree
from damascus.git.trees import REGULAR, SYMLINK

CONFIG = f"""[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
[user]
\tname = {IDENTITY["GIT_AUTHOR_NAME"]} agent
\temail = {IDENTITY["GIT_AUTHOR_EMAIL"]}
[commit]
\tgpgSign = false
[gc]
\tauto = 0
"""
ASIDE = (".new-", ".gone-")
ASIDE_SECONDS = 3600.0


@dataclass(frozen=True)
class Workspace:
    """Where a story's agent works, and the commit it started from."""

    path: Path
    story: StoryId
    base: Sha


@dataclass(frozen=True)
class Collected:
    """What an agent made, and what it may not have made: path and reason."""

    tree: Sha
    refused: Mapping[str, str]


class Workspaces:
    """All workspaces of one project."""

    def __init__(self, root: Path, mirror: Mirror, prefix: str) -> None:
        self.root, self.mirror, self.prefix = root, mirror, prefix

    def path(self, story: StoryId) -> Path:
        return self.root / story

    def exists(self, story: StoryId) -> bool:
        return os.path.lexists(self.whole(story))

    def whole(self, story: StoryId) -> Path:
        """Its path, with the story's own files there even if whoever set it up in place was killed."""
        put_back(self.path(story))
        return self.path(story)

    def stories(self) -> list[str]:
        """Every story that has a folder here."""
        names = os.listdir(self.root) if self.root.is_dir() else []
        return sorted(name for name in names if not name.startswith("."))

    def create(self, story: StoryId, base: Sha) -> Workspace:
        return self._create(story, base, base)

    def recreate(self, story: StoryId, base: Sha, tree: Sha, scope: Scope, *, was: Sha | None = None) -> Workspace:
        """A fresh workspace that goes on with what was made, as far as it may be kept.

        `was` is the commit that `tree` was made on, if main has moved since: then the story's own changes are merged
        with main's, conflict markers included, instead of taking main's changes back.
        """
        if was is not None and was != base:
            tree = merged_tree(self.mirror.objects, tree, was, base)
        changes = [change for change in self.mirror.changed(base, tree) if scope.allows(change.path)]
        links = [change.path for change in changes if change.mode == SYMLINK]
        targets = self.mirror.objects.find([f"{tree}:{path}" for path in links])
        inside = {
            path
            for path, target in zip(links, targets, strict=True)
            if target is not None and stays_inside(path, os.fsdecode(target.data))
        }
        kept = [change.path for change in changes if _may_stay(change, inside)]
        return self._create(story, base, self.mirror.overlay(base, tree, kept))

    def _create(self, story: StoryId, base: Sha, tree: Sha) -> Workspace:
        if self.exists(story):
            raise FileExistsError(f"{self.path(story)} exists: snapshot and remove it first")
        aside = self._aside(".new-", story)
        try:
            self._build(aside, story, base, tree)
            aside.rename(self.path(story))
        except BaseException:
            delete(aside)
            raise
        return Workspace(self.path(story), story, base)

    def _build(self, aside: Path, story: StoryId, base: Sha, tree: Sha) -> None:
        self.mirror.publish(base)  # all that its git can borrow from
        self.mirror.assure(tree)
        index = _write_git_dir(aside / ".git", self.mirror, f"{self.prefix}{story}", base)
        self.mirror.git.run("read-tree", "-u", "--reset", tree, work_tree=aside, index=index)
        if tree != base:  # the agent finds its earlier work as uncommitted changes
            self.mirror.git.run("read-tree", "--reset", base, work_tree=aside, index=index)
        kept = stat_index(self.mirror, story, base)
        kept.parent.mkdir(exist_ok=True)
        self._forget_index(story)
        shutil.copy2(index, kept)

    def collect(self, workspace: Workspace) -> Sha:
        return self.collected(workspace).tree

    def collected(
        self,
        workspace: Workspace,
        scope: Scope = NOTHING_NAMED,
        room: Room | None = None,
        as_laid: Callable[[str], bool] = lambda path: False,
    ) -> "Collected":
        """The tree of every file that counts. An agent's commits, branch, index and ignore rules do not."""
        mirror, listing = self.mirror, self.mirror.listing(workspace.base)
        walk = Walk(
            workspace.path, listing, base_rules(mirror, listing), into_ignored=False,
            named=scope, room=room or Room(), base_size=base_sizes(mirror, listing),
            as_laid=as_laid,
        )  # fmt: skip
        found = walk.contents()
        writer = TreeWriter(mirror, workspace.path, workspace.story, workspace.base)
        return Collected(writer.write(found.counted, found.as_base).tree, found.refused)

    def remove(self, story: StoryId) -> None:
        """Out of the way at once, deleted as far as we can; what resists is left to `sweep`."""
        aside = self._aside(".gone-", story)
        try:
            self.path(story).rename(aside)
        except FileNotFoundError:
            return
        self._forget_index(story)
        delete(aside)

    def sweep(self, older_than: float = ASIDE_SECONDS) -> None:
        """Delete what killed processes left half built or half deleted."""
        for name in os.listdir(self.root) if self.root.is_dir() else []:
            folder = self.root / name
            if name.startswith(ASIDE) and _age(folder) >= older_than:
                delete(folder)

    def _aside(self, kind: str, story: StoryId) -> Path:
        self.root.mkdir(parents=True, exist_ok=True)
        return self.root / f"{kind}{story}-{secrets.token_hex(4)}"

    def _forget_index(self, story: StoryId) -> None:
        any_base = stat_index(self.mirror, story, Sha("*"))
        for old in any_base.parent.glob(any_base.name):
            old.unlink(missing_ok=True)


def stays_inside(link: str, target: str) -> bool:
    """Does this symlink lead to somewhere in the workspace, whatever other kept links it goes through?

    `..` is only allowed at the start, where it goes up real folders: after another link it could lead anywhere.
    """
    parts = [part for part in target.split("/") if part not in ("", ".")]
    up = next((n for n, part in enumerate(parts) if part != ".."), len(parts))
    below = parts[up:]
    return not target.startswith("/") and up <= link.count("/") and not {"..", ".git"} & {p.lower() for p in below}


def _may_stay(change: ChangedFile, inside: set[str]) -> bool:
    return change.status == "D" or change.mode in REGULAR or change.path in inside


def _write_git_dir(git_dir: Path, mirror: Mirror, branch: str, base: Sha) -> Path:
    files = {
        "HEAD": f"ref: refs/heads/{branch}\n",
        "config": CONFIG,
        f"refs/heads/{branch}": f"{base}\n",
        "objects/info/alternates": f"{mirror.path.absolute()}/objects\n",
        "info/attributes": ATTRIBUTES,
        "info/exclude": "\n".join(BUILT_IN) + "\n",
    }
    for name, text in files.items():
        (git_dir / name).parent.mkdir(parents=True, exist_ok=True)
        (git_dir / name).write_text(text)
    return git_dir / "index"


def _age(path: Path) -> float:
    try:
        return time.time() - path.lstat().st_ctime
    except OSError:
        return 0.0


def aside_of(checkout: Path) -> Path:
    """Where a checkout's own files are while the base is set up in their place (in_place.py)."""
    return checkout.with_name(f".{checkout.name}.aside")


def put_back(checkout: Path) -> None:
    aside = aside_of(checkout)
    if os.path.lexists(aside):
        delete(checkout)
        aside.rename(checkout)


def delete(folder: Path) -> None:
    """Whatever an agent did to its folders' modes and depth; what is gone already is fine."""
    try:
        folder.unlink() if folder.is_symlink() else shutil.rmtree(folder)
    except (OSError, RecursionError):
        _open_up(folder)
        subprocess.run(["rm", "-rf", "--", str(folder)], capture_output=True, start_new_session=True)


def _open_up(folder: Path) -> None:
    todo = [folder]
    while todo:
        here = todo.pop()
        with suppress(OSError):
            here.chmod(stat.S_IRWXU)
            todo += [Path(entry.path) for entry in os.scandir(here) if entry.is_dir(follow_symlinks=False)]
