"""What every forge with a git server has in common: main, branches and fences, moved and asked for by git.

What git can say is asked of git, because its answer is the repository's own and not a cache's. Every push is guarded
by the values that its refs must have (git/remote.py). Main is pushed to exactly the tested commit; one that is
protected against that is moved by the forge's own merge, which each forge does in its own way.
"""

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass

from damascus.domain.errors import DamascusError
from damascus.domain.ids import Sha, short
from damascus.domain.ids import sha as full_sha
from damascus.domain.ports import ChangedFile, Pull, Push, RemoteRefs, Stale
from damascus.git.mirror import Mirror, RefMove
from damascus.git.notes import annotate_remote
from damascus.git.objects import EMPTY_TREE
from damascus.git.remote import Protected, Remote


@dataclass(frozen=True)
class OverGit(ABC):
    """The half of ports.Forge that needs no API."""

    remote: Remote
    main_branch: str

    # ── main ──────────────────────────────────────────────────────────────────────────────────────────

    def main_tip(self) -> Sha:
        tip = self._main()
        self._have(self.main_branch, tip)
        return tip

    def have(self, commit: Sha) -> bool:
        """With all that it needs: what a killed fetch left behind is not enough."""
        whole = ("rev-list", "--quiet", "--objects", "--no-walk", full_sha(commit))
        if self.mirror.git.run(*whole, check=False).code == 0:
            return True
        try:
            self.remote.fetch_commit(commit)
        except LookupError:
            return False
        return True

    def landed(self, commit: Sha) -> bool:
        """Asked of the forge's main. Whatever is on it is in the mirror afterwards, so the unknown is not on it."""
        tip = self.main_tip()
        return tip == commit or (self._known(commit) and self.mirror.is_ancestor(commit, tip))

    def land(self, old: Sha, new: Sha, pull: Pull | None = None) -> None:
        if self._on_main(full_sha(old), full_sha(new)):
            return
        self.have(new)  # another host may have made it
        if not self.mirror.is_ancestor(old, new):
            raise ValueError(f"{new} is not on top of {old}: {self.main_branch} only ever goes forward")
        try:
            self.remote.push([RefMove(_ref(self.main_branch), new, old)])
        except Stale:
            if not self.landed(new):
                raise
        except Protected as rule:
            self._merge(old, new, pull, str(rule))
        else:
            self._note(self.main_branch, new)

    @abstractmethod
    def _merge(self, old: Sha, new: Sha, pull: Pull | None, rule: str) -> None:
        """The forge's own guarded merge, after `rule` refused the push; `new` is on main afterwards."""

    def _on_main(self, old: Sha, new: Sha) -> bool:
        """True: it has landed. Stale: main is neither where it was nor beyond it."""
        tip = self._main()
        if tip in (old, new):
            return tip == new
        if self.landed(new):
            return True
        raise Stale(f"{self.main_branch} is at {short(tip)}, not at {short(old)} any more")

    def _main(self) -> Sha:
        ref = _ref(self.main_branch)
        tip = self.remote.ls_remote(ref).get(ref)
        if tip is None:
            raise DamascusError(f"{self.remote.url} has no branch {self.main_branch}. Push it there first.")
        return tip

    def annotate(self, commit: Sha, text: bytes) -> None:
        annotate_remote(self.remote, commit, text)

    # ── branches ──────────────────────────────────────────────────────────────────────────────────────

    def remote_refs(self, branch: str, fence_ref: str) -> RemoteRefs:
        """The mirror has the branch's commit afterwards, whoever pushed it."""
        there = self.remote.ls_remote(_ref(branch), fence_ref)
        if (at := there.get(_ref(branch))) is not None:
            self._have(branch, at)
        return RemoteRefs(branch=at, fence=there.get(fence_ref))

    def plant_fence(self, fence_ref: str, was: Sha | None, fence: int) -> Sha:
        planted = self.mirror.commit_tree(EMPTY_TREE, [], f"damascus: fence {fence} of {fence_ref}\n")
        self._push([RefMove(fence_ref, planted, was)])
        return planted

    def push(self, push: Push) -> None:
        """The fence ref takes the pushed commit as its value: it moves in every push, so the forge compares it."""
        branch = RefMove(_ref(push.branch), push.commit, push.branch_was)
        self._push([branch, RefMove(push.fence_ref, push.commit, push.fence_was)])
        self._note(push.branch, push.commit)

    def move(self, branch: str, new: Sha | None, was: Sha | None) -> None:
        self._push([RefMove(_ref(branch), new, was)])
        self._note(branch, new)

    def _push(self, moves: list[RefMove]) -> None:
        try:
            self.remote.push(moves)
        except Protected as rule:
            raise DamascusError(
                f"the forge refused the push of {moves[0].ref} ({rule}). Leave that name out of its branch protection."
            ) from None

    # ── what the mirror has ───────────────────────────────────────────────────────────────────────────

    @property
    def mirror(self) -> Mirror:
        return self.remote.mirror

    def diff(self, pull: Pull) -> list[ChangedFile]:
        """What the forge has for it, by git: with modes, without a limit, from where it left the forge's main."""
        tip, head = self.main_tip(), self._head(pull)
        self._have(pull.head, head)
        if tip != head and self.mirror.is_ancestor(tip, head):
            return list(self.mirror.changed(tip, head))
        return list(self.mirror.changed(full_sha(self.mirror.git.out("merge-base", tip, head)), head))

    def _head(self, pull: Pull) -> Sha:
        """Where the branch is now; a branch that is gone was where its pull says."""
        ref = _ref(pull.head)
        return self.remote.ls_remote(ref).get(ref) or full_sha(pull.head_sha)

    def _known(self, commit: Sha) -> bool:
        return self.mirror.objects.find([commit])[0] is not None

    def _have(self, branch: str, commit: Sha) -> None:
        """The mirror has this commit with all that it needs: what a killed fetch left behind is not enough."""
        if branch == self.main_branch:
            self._have_main(commit)
            return
        if self.mirror.tip(branch) == commit:
            return
        self.remote.fetch(only=branch)
        if self.mirror.tip(branch) != commit:  # it moved once more, or its branch is gone
            self.remote.fetch_commit(commit)

    def _have_main(self, commit: Sha) -> None:
        """In the mirror, which agents may read."""
        if self.mirror.main(branch := self.main_branch) != commit:
            self.remote.fetch_main(branch)
        if self.mirror.main(branch) != commit:  # it moved once more
            self.remote.fetch_commit(commit)

    def _note(self, branch: str, commit: Sha | None) -> None:
        """As git does after a push: the tracking ref also keeps the commit from being collected."""
        if branch == self.main_branch and commit is not None:
            with suppress(Stale):  # somebody fetched main in between
                self.mirror.publish(commit, branch, self.mirror.main(branch))
            return
        ref = f"refs/remotes/origin/{branch}"
        self.mirror.git.run("update-ref", *(("-d", ref) if commit is None else (ref, commit)), check=False)


def _ref(branch: str) -> str:
    return f"refs/heads/{branch}"
