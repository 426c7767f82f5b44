"""GitHub, and GitHub Enterprise Server: git moves branches, fences and main, the REST API does the rest.

Everything is looked for before it is done and looked at again when an answer was lost, so that a second call finds what
a first one did. Where a rule of the repository refuses the push to main, GitHub's own merge of the pull is taken,
guarded by the head's SHA: main then holds the tested commit below a merge commit, because GitHub has no fast-forward.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from damascus.domain.errors import DamascusError, TransientError
from damascus.domain.ids import Sha
from damascus.domain.ids import sha as full_sha
from damascus.domain.ports import CiJob, CiRun, HeadNeeded, Job, Pull, PullProof, PullState, Review, Stale
from damascus.forges import ForgeSetup
from damascus.forges.access import forge_url, token
from damascus.forges.address import Address
from damascus.forges.github.api import GithubApi
from damascus.forges.github.ci import GithubCi
from damascus.forges.github.pulls import GithubPulls
from damascus.forges.over_git import OverGit
from damascus.git.mirror import Mirror
from damascus.git.remote import Remote

USER = "x-access-token"
"""The name under which GitHub takes a token in place of a password."""
REMEDY = "Let the token's account bypass that rule, or satisfy it (docs/forges.md)."


@dataclass(frozen=True)
class GithubForge(OverGit):
    """ports.Forge on one repository of GitHub."""

    api: GithubApi
    name: str = "github"
    runs_ci: bool = False

    @classmethod
    def at(cls, mirror: Mirror, url: str, token: Callable[[], str], main_branch: str) -> "GithubForge":
        address = Address.parse(url)
        return cls(Remote(mirror, address.git_url, token, USER), main_branch, GithubApi(address, token))

    def _merge(self, old: Sha, new: Sha, pull: Pull | None, rule: str) -> None:
        """A lost answer, and one that says no to what was done before, are settled by looking at main."""
        if pull is None:
            raise DamascusError(f"GitHub refuses a push to {self.main_branch}: {rule.rstrip('.')}. {REMEDY}")
        if pull.head_sha != new:
            raise HeadNeeded(f"GitHub refuses a push to {self.main_branch} ({rule}), and merges only a pull's head")
        answer = self.api.call("PUT", f"/pulls/{pull.number}/merge", json={"sha": new, "merge_method": "merge"})
        if self._on_main(old, new):
            return
        if answer.ok:
            raise TransientError(f"GitHub merged #{pull.number}, but does not show it on main yet", wait=5.0)
        if answer.status == 409 or "was modified" in answer.message:
            raise Stale(f"#{pull.number} or its base moved meanwhile: {answer.message}")
        raise DamascusError(f"GitHub does not merge #{pull.number}: {answer.message.rstrip('.')}. {REMEDY}")

    # ── pulls ─────────────────────────────────────────────────────────────────────────────────────────

    def find_pull(self, branch: str) -> Pull | None:
        pull = self._pulls.find(branch)
        return self._with_head(pull) if pull is not None else None

    def open_pull(self, branch: str, title: str, body: str, head: Sha) -> Pull:
        return self._with_head(self._pulls.open(branch, title, body, full_sha(head)))

    def _with_head(self, pull: Pull) -> Pull:
        """GitHub's word for a pull's head comes a moment after the push."""
        return pull.model_copy(update={"head_sha": self._head(pull)}) if pull.state == PullState.OPEN else pull

    def comment(self, pull: Pull, key: str, text: str) -> None:
        self._pulls.comment(pull.number, key, text)

    def tell(self, pull: Pull, proof: PullProof) -> list[str]:
        return self._pulls.proofs.tell(pull, proof)

    def reviews(self, pull: Pull) -> list[Review]:
        return self._pulls.reviews(pull.number)

    def close_merged(self, pull: Pull, commit: Sha) -> None:
        self._pulls.close_merged(pull.number, full_sha(commit), on_main=self.landed(commit))

    # ── CI ────────────────────────────────────────────────────────────────────────────────────────────

    def run_id(self, sha: Sha) -> str:
        return self._ci.of(sha).run_id

    def ci(self, sha: Sha, jobs: Mapping[str, Job]) -> CiRun:
        """`jobs` are the local forge's: here a workflow file in the repository names them."""
        return self._ci.of(sha)

    def ci_log(self, ci: CiRun, job: CiJob) -> str:
        return self._ci.log(job)

    def rerun(self, ci: CiRun, jobs: list[str]) -> bool:
        return self._ci.rerun(ci, jobs)

    # ── parts ─────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def _pulls(self) -> GithubPulls:
        return GithubPulls(self.api, self.main_branch)

    @cached_property
    def _ci(self) -> GithubCi:
        return GithubCi(self.api)


def make(setup: ForgeSetup) -> GithubForge:
    where, shown = forge_url(setup.config), token(setup.config, setup.environ)
    return GithubForge.at(setup.mirror, where, shown, setup.main_branch)
