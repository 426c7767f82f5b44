"""Gitea and Forgejo: branches, fences and main by git (over_git.py), pulls and CI by the API.

Main is pushed; a main that is protected against that is moved by the forge's own merge instead, which gives exactly
the tested commit only if the pull's head is that commit.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from damascus.domain.errors import DamascusError, TransientError
from damascus.domain.ids import Sha, short
from damascus.domain.ids import sha as full_sha
from damascus.domain.ports import CiJob, CiRun, HeadNeeded, Job, Pull, PullProof, Review, Stale
from damascus.forges import ForgeSetup
from damascus.forges.access import forge_url, token
from damascus.forges.address import Address
from damascus.forges.gitea.ci import GiteaCi
from damascus.forges.gitea.pulls import GiteaPulls
from damascus.forges.http import Api, HttpAnswer
from damascus.forges.over_git import OverGit
from damascus.git.mirror import Mirror
from damascus.git.remote import Remote

CHECKED_WITHIN = 10.0
CHECK_LOOK = 0.25
CHECK_AGAIN = 10.0


@dataclass(frozen=True)
class GiteaForge(OverGit):
    """ports.Forge on a Gitea 1.23 or newer, or a Forgejo 12 or newer."""

    api: Api
    path: str
    name: str = "gitea"
    runs_ci: bool = False

    @classmethod
    def at(cls, mirror: Mirror, url: str, token: Callable[[], str], main_branch: str) -> "GiteaForge":
        address = Address.parse(url)
        remote = Remote(mirror, address.git_url, token)
        return cls(remote, main_branch, Api(f"{address.root}/api/v1", token), address.api_path)

    # ── main ──────────────────────────────────────────────────────────────────────────────────────────

    def _merge(self, old: Sha, new: Sha, pull: Pull | None, rule: str) -> None:
        """The forge's own merge, guarded by the head. It is busy for a moment after each push to the pull."""
        if pull is None or self._pulls.read(pull.number)["head"]["sha"] != new:
            raise HeadNeeded(
                f"the forge refused the push of {short(new)} to {self.main_branch} ({rule}), and its own merge "
                "makes exactly that commit only where it is the pull's head"
            )
        deadline = time.monotonic() + CHECKED_WITHIN
        while True:
            answer = self._pulls.merge(pull.number, {"Do": "fast-forward-only", "head_commit_id": new})
            if self._on_main(old, new):
                return
            if not _busy(answer):
                raise _refused(answer, pull)
            if time.monotonic() > deadline:
                raise TransientError(f"the forge still checks pull {pull.number}: {answer.message}", wait=CHECK_AGAIN)
            time.sleep(CHECK_LOOK)

    # ── pulls ─────────────────────────────────────────────────────────────────────────────────────────

    def find_pull(self, branch: str) -> Pull | None:
        return self._pulls.find(branch)

    def open_pull(self, branch: str, title: str, body: str, head: Sha) -> Pull:
        return self._pulls.open(branch, title, body, full_sha(head))

    def comment(self, pull: Pull, key: str, text: str) -> None:
        self._pulls.comment(pull.number, key, text)

    def tell(self, pull: Pull, proof: PullProof) -> list[str]:
        return self._pulls.proofs.tell(pull, proof)

    def reviews(self, pull: Pull) -> list[Review]:
        return self._pulls.reviews(pull.number)

    def close_merged(self, pull: Pull, commit: Sha) -> None:
        self._pulls.close_merged(pull.number, full_sha(commit))

    # ── CI ────────────────────────────────────────────────────────────────────────────────────────────

    def run_id(self, sha: Sha) -> str:
        return self._ci.run_id(sha)

    def ci(self, sha: Sha, jobs: Mapping[str, Job]) -> CiRun:
        """`jobs` are the local forge's: here a workflow file in the repository names them."""
        return self._ci.ci(sha)

    def ci_log(self, ci: CiRun, job: CiJob) -> str:
        return self._ci.log(job)

    def rerun(self, ci: CiRun, jobs: list[str]) -> bool:
        return self._ci.rerun(Sha(ci.sha), jobs)

    @cached_property
    def _pulls(self) -> GiteaPulls:
        def pushed(branch: str) -> bool:
            return bool(self.remote.ls_remote(f"refs/heads/{branch}"))

        return GiteaPulls(self.api, self.path, self.main_branch, self.mirror, pushed)

    @cached_property
    def _ci(self) -> GiteaCi:
        return GiteaCi(self.api, self.path)


def _busy(answer: HttpAnswer) -> bool:
    return answer.status == 405 and "try again later" in answer.message.lower()


def _refused(answer: HttpAnswer, pull: Pull) -> Exception:
    if answer.status == 409:
        return Stale(f"pull {pull.number}: {answer.message}")
    return DamascusError(
        f"the forge does not merge pull {pull.number} ({answer.status}: {answer.message}). "
        f"Let the token's user merge with fast-forward only (docs/forges.md)."
    )


def make(setup: ForgeSetup) -> GiteaForge:
    where, shown = forge_url(setup.config), token(setup.config, setup.environ)
    return GiteaForge.at(setup.mirror, where, shown, setup.main_branch)
