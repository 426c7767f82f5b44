"""Landing: the main branch of the user's own repository moves to exactly the commit that was tested.

The repository is the user's, and they may be at work in it. Where main is checked out, only git's own fast-forward
merge moves files, index and branch together and leaves every other edit alone; a ref moved behind a checkout's back
would make the user's next `git commit -a` revert the story in silence. Where main is checked out nowhere, a fetch
moves it, which git itself refuses should somebody check it out meanwhile.

Whoever is killed in here leaves a marker (git/unfinished.py); the next landing puts right what it finds, then lands.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.errors import TransientError
from damascus.domain.failures import transient_git_output, transient_os_error
from damascus.domain.ids import Sha, short
from damascus.domain.ports import Blocked, Stale
from damascus.git.commands import Git, GitResult, raise_for
from damascus.git.making_way import OurFiles, make_way
from damascus.git.mirror import Mirror
from damascus.git.objects import Objects
from damascus.git.repository import Checkout, Repository, git_dir_of
from damascus.git.transfer import hand_over
from damascus.git.unfinished import HalfCheckout, Intent, Marker, held_marker, remove_stale_locks

# Protocol 2 serves any commit the mirror has, whether or not a ref of the mirror names it.
FETCH = (
    "-c", "protocol.version=2", "fetch", "--quiet", "--no-tags", "--no-prune", "--no-recurse-submodules",
    "--no-write-fetch-head", "--no-write-commit-graph",
)  # fmt: skip
MERGE = (
    "merge", "--ff-only", "--no-overwrite-ignore", "--no-autostash", "--no-squash", "--no-verify-signatures",
    "--no-stat", "--quiet",
)  # fmt: skip
PATIENCE = 1.0
"""Seconds for which a landing waits for whoever writes into the checkout: a projection takes milliseconds."""
OVERLAP = re.compile(r"would be (overwritten|removed) by merge|would lose untracked files", re.IGNORECASE)
UNTRACKED = re.compile(r"untracked", re.IGNORECASE)
MID_OPERATION = re.compile(r"unmerged files|have not concluded|needs merge|_HEAD exists", re.IGNORECASE)
MOVED = re.compile(r"not possible to fast-forward|diverging branches|is at [0-9a-f]+ but expected", re.IGNORECASE)
BUSY = re.compile(r"unable to create '.*\.lock'", re.IGNORECASE)


def land(
    repo: Repository, mirror: Mirror, branch: str, old: Sha, new: Sha, *, ours: Callable[[], OurFiles] = dict
) -> None:
    """Move `branch` from `old` to `new`, a descendant of it. Raises Stale, Blocked or TransientError; a second
    call after success does nothing. `ours` are files that we wrote into a checkout ourselves, by their hashes."""
    with held_marker(repo.git_dir, PATIENCE) as marker:
        landing = _Landing(repo, mirror, marker, ours)
        landing.put_right()
        checkouts = repo.checkouts(branch)
        at = checkouts[0].head if checkouts else repo.tip(branch)
        if at == new or (at != old and contains(repo, branch, new)):
            landing.make_whole(old, new)
            return
        if at != old:
            raise Stale(f"{branch} is at {short(at)}, not at {short(old)} any more")
        if checkouts:
            landing.in_checkout(branch, _only(checkouts, branch), new)
        else:
            landing.by_fetch(branch, old, new)
        landing.make_whole(old, new)


def contains(repo: Repository, branch: str, commit: Sha) -> bool:
    args = ("merge-base", "--is-ancestor", commit, f"refs/heads/{branch}")
    asked = repo.git.run(*args, check=False)
    if asked.code > 1 and "not a valid commit name" not in asked.stderr.lower():
        raise_for(args, asked)
    return asked.code == 0


def repair(repo: Repository, mirror: Mirror, branch: str, old: Sha, new: Sha) -> bool:
    """Put right what a landing killed between `old` and `new` left. True: main has `new`, nothing is left to land."""
    with held_marker(repo.git_dir) as marker:
        landing = _Landing(repo, mirror, marker)
        landing.put_right()
        done = contains(repo, branch, new)
        if not done:
            folder = repo.checked_out_at(branch)
            landing.put_right_from(Intent(branch, old, new, str(folder or "")))
        return done


@dataclass(frozen=True)
class _Landing:
    """One landing under its marker."""

    repo: Repository
    mirror: Mirror
    marker: Marker
    ours: Callable[[], OurFiles] = dict

    def in_checkout(self, branch: str, checkout: Checkout, new: Sha) -> None:
        git = _git_of(checkout.folder, branch)
        self._fetch_objects(new, checkout.head)
        self.marker.begin(Intent(branch, checkout.head, new, str(checkout.folder)))
        if known := self.ours():
            make_way(git, checkout, new, known)
        merge = self.marker.run(git, *MERGE, new, folder=checkout.folder)
        if merge.code != 0 and not self._is_whole(checkout.head, new):  # a gc of theirs took what no ref named yet
            self._fetch_objects(new, checkout.head)
            merge = self.marker.run(git, *MERGE, new, folder=checkout.folder)
        if merge.code == 0:
            self._assert_moved(branch, checkout.folder, new)
        else:
            self._settle_refusal(branch, checkout, merge)
        self.marker.clear()

    def by_fetch(self, branch: str, old: Sha, new: Sha) -> None:
        self.marker.begin(Intent(branch, old, new, ""))
        fetch = self.marker.run(
            self.repo.git, *FETCH, f"--negotiation-tip={old}", str(self.mirror.store), f"{new}:refs/heads/{branch}"
        )
        if fetch.code != 0:
            self.put_right()
            self._explain_fetch(branch, old, new, fetch)
        self.marker.clear()

    def put_right(self) -> None:
        """What the last landing left, if it was killed."""
        left = self.marker.left()
        if left is not None:
            self.put_right_from(left)
        self.marker.clear()

    def put_right_from(self, left: Intent) -> None:
        """The branch's checkout is looked up anew: since the kill its folder may have been moved or switched."""
        places = self.repo.checkouts(left.branch) if left.folder else []
        folder = places[0].folder if places else Path(left.folder or "/nonexistent")
        own = git_dir_of(folder)
        heads = [own / f"{name}.lock" for name in ("index", "HEAD", "ORIG_HEAD")] if own else []
        ref = self.repo.git_dir / f"refs/heads/{left.branch}.lock"
        remove_stale_locks([*heads, ref], self.marker.since, [self.repo.git_dir, folder])
        # elsewhere than at old the merge was finished, or the user went on: no file is half
        if own and places and places[0].head == left.old:
            self._fetch_objects(left.new, left.old)
            try:
                half = HalfCheckout(Git.at(own, folder), folder)
                if not half.finish(left.old, left.new):
                    half.back_to_old(left.old, left.new)
            except OSError as err:
                raise _trouble(folder, err) from err

    def _fetch_objects(self, new: Sha, old: Sha) -> None:
        try:
            if hand_over(self.mirror.objects, Objects(self.repo.git), old, new):
                return
        except OSError as err:
            raise _trouble(self.repo.top, err) from err
        self.repo.git.run(*FETCH, f"--negotiation-tip={old}", str(self.mirror.store), new)

    def make_whole(self, old: Sha, new: Sha) -> None:
        """A `git gc --prune=now` of theirs may have taken what we brought before main named it; now main does."""
        for again in (self._fetch_objects, self._fetch_all):
            if self._is_whole(old, new):
                return
            again(new, old)
        if not self._is_whole(old, new):
            raise Blocked(
                f"{self.repo.top} lacks objects of {short(new)}, which its main branch names, and they can't be "
                f"brought there. See what is wrong with it: git -C {self.repo.top} fsck",
                [], needs_person=True,
            )  # fmt: skip

    def _is_whole(self, old: Sha, new: Sha) -> bool:
        every = ("rev-list", "--quiet", "--objects", new, "--not", old)
        return self.repo.git.run(*every, check=False).code == 0

    def _fetch_all(self, new: Sha, old: Sha) -> None:
        self.repo.git.run(*FETCH, "--refetch", str(self.mirror.store), new, check=False)

    def _assert_moved(self, branch: str, folder: Path, new: Sha) -> None:
        if self.repo.tip(branch) == new or contains(self.repo, branch, new):
            return
        self.marker.clear()
        raise Blocked(
            f"{folder} was switched away from {branch} while a story landed there, so that another branch was "
            f"fast-forwarded to {short(new)}. Put that branch back: git -C {folder} reset --keep ORIG_HEAD",
            [], needs_person=True,
        )  # fmt: skip

    def _settle_refusal(self, branch: str, checkout: Checkout, merge: GitResult) -> None:
        """Git refuses before it touches a file, or it broke off: then what it did is taken back."""
        refusal = _refusal(branch, checkout.folder, merge)
        if refusal is not None:
            self.marker.clear()
            raise refusal
        self.put_right()
        if merge.code < 0 or transient_git_output(merge.stderr):
            raise TransientError(f"git merge ended with {merge.code}: {merge.stderr.strip()[-300:]}")
        raise _trouble(checkout.folder, merge.stderr.strip()[-300:])

    def _explain_fetch(self, branch: str, old: Sha, new: Sha, fetch: GitResult) -> None:
        if "refusing to fetch into" in fetch.stderr:
            raise Blocked(
                f"{branch} is in use by a checkout or an unfinished rebase or bisect ({fetch.stderr.strip()[-200:]}). "
                "The story is proved and waits. Finish or abort that; it lands by itself within 10 s.",
                [],
            )
        at = self.repo.tip(branch)
        if at == new:
            return
        if at != old:
            raise Stale(f"{branch} is at {short(at)}, not at {short(old)} any more")
        if fetch.code < 0:
            raise TransientError(f"git fetch was ended by signal {-fetch.code}")
        raise_for(FETCH[2:], fetch)


def _only(checkouts: list[Checkout], branch: str) -> Checkout:
    if len(checkouts) == 1:
        return checkouts[0]
    folders = [str(checkout.folder) for checkout in checkouts]
    raise Blocked(
        f"{branch} is checked out in several folders at once ({', '.join(folders)}); landing in one would leave the "
        "others behind. Switch all but one to another branch; the story is proved and lands by itself.",
        folders, needs_person=True,
    )  # fmt: skip


def _git_of(folder: Path, branch: str) -> Git:
    own = git_dir_of(folder)
    if own is None:
        raise Blocked(
            f"{branch} is checked out in {folder}, which is not there. Bring it back, or forget it: "
            "git worktree unlock and git worktree prune. The story is proved and lands by itself.",
            [str(folder)], needs_person=True,
        )  # fmt: skip
    return Git.at(own, folder)


def _refusal(branch: str, folder: Path, merge: GitResult) -> Exception | None:
    """Git's own words for "I did nothing, because …"."""
    words = merge.stderr
    if OVERLAP.search(words):
        return _in_the_way(branch, folder, words)
    if MID_OPERATION.search(words):
        return Blocked(
            f"{branch} is checked out in {folder}, in the middle of a merge or cherry-pick of yours. "
            "The story is proved and waits. Finish or abort that; it lands by itself within 10 s.",
            [],
        )
    if MOVED.search(words):
        return Stale(f"{branch} moved while a story landed: {words.strip()[-200:]}")
    busy = BUSY.search(words)
    return TransientError(f"a git of yours is at work in {folder}: {busy.group()}") if busy else None


def _in_the_way(branch: str, folder: Path, words: str) -> Blocked:
    paths = [line[1:] for line in words.splitlines() if line.startswith("\t")]
    named = ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    it, has = ("that file", "has") if len(paths) == 1 else ("those files", "have")
    state, remedy = f"{has} changes of yours that a story would overwrite", f"Commit or stash {it}"
    if UNTRACKED.search(words):
        state, remedy = f"{has} content of yours that git does not track and a story would overwrite", f"Move {it} away"
    return Blocked(
        f"{branch} is checked out in {folder} and {named} {state}. "
        f"The story is proved and waits. {remedy}; it lands by itself within 10 s.",
        paths,
    )


def _trouble(folder: Path, why: OSError | str) -> Exception:
    if isinstance(why, OSError) and transient_os_error(why):
        return TransientError(f"landing in {folder}: {why}")
    return Blocked(
        f"git could not write the story's files in {folder}: {why}. Put that right (owner, rights, disk); "
        "the story is proved and waits.",
        [], needs_person=True,
    )  # fmt: skip
