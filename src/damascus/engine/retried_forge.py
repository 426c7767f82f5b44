"""A forge whose every call is tried a few times before its story waits (W19): 1 s, doubling, at most 60 s."""

from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

import stamina

from damascus.domain.errors import TransientError
from damascus.domain.failures import CallRetry
from damascus.domain.ids import Sha
from damascus.domain.ports import ChangedFile, CiJob, CiRun, Forge, Job, Pull, PullProof, Push, RemoteRefs, Review

P = ParamSpec("P")
T = TypeVar("T")


class RetriedForge:
    """Implements ports.Forge. Each call finds what a first try of it did, so that it can be tried again."""

    def __init__(self, forge: Forge, retry: CallRetry) -> None:
        self.forge = forge
        self._retry = retry

    def _tried(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        for attempt in stamina.retry_context(
            on=self._worth_trying,
            attempts=self._retry.attempts,
            timeout=None,
            wait_initial=self._retry.first_seconds,
            wait_max=self._retry.most_seconds,
            wait_jitter=0,
        ):
            with attempt:
                return call(*args, **kwargs)
        raise AssertionError("unreachable")

    def _worth_trying(self, err: Exception) -> bool:
        """Who says how long it lasts (a rate limit) is not asked again before: the story waits that long instead."""
        return isinstance(err, TransientError) and (err.wait is None or err.wait <= self._retry.most_seconds)

    @property
    def name(self) -> str:
        return self.forge.name

    @property
    def runs_ci(self) -> bool:
        return self.forge.runs_ci

    # ── main and branches ─────────────────────────────────────────────────────────────────────────────

    def main_tip(self) -> Sha:
        return self._tried(self.forge.main_tip)

    def have(self, commit: Sha) -> bool:
        return self._tried(self.forge.have, commit)

    def annotate(self, commit: Sha, text: bytes) -> None:
        self._tried(self.forge.annotate, commit, text)

    def remote_refs(self, branch: str, fence_ref: str) -> RemoteRefs:
        return self._tried(self.forge.remote_refs, branch, fence_ref)

    def plant_fence(self, fence_ref: str, was: Sha | None, fence: int) -> Sha:
        return self._tried(self.forge.plant_fence, fence_ref, was, fence)

    def push(self, push: Push) -> None:
        self._tried(self.forge.push, push)

    def move(self, branch: str, new: Sha | None, was: Sha | None) -> None:
        self._tried(self.forge.move, branch, new, was)

    def land(self, old: Sha, new: Sha, pull: Pull | None = None) -> None:
        self._tried(self.forge.land, old, new, pull)

    def landed(self, commit: Sha) -> bool:
        return self._tried(self.forge.landed, commit)

    # ── pull requests ─────────────────────────────────────────────────────────────────────────────────

    def find_pull(self, branch: str) -> Pull | None:
        return self._tried(self.forge.find_pull, branch)

    def open_pull(self, branch: str, title: str, body: str, head: Sha) -> Pull:
        return self._tried(self.forge.open_pull, branch, title, body, head)

    def diff(self, pull: Pull) -> list[ChangedFile]:
        return self._tried(self.forge.diff, pull)

    def comment(self, pull: Pull, key: str, text: str) -> None:
        self._tried(self.forge.comment, pull, key, text)

    def tell(self, pull: Pull, proof: PullProof) -> list[str]:
        return self._tried(self.forge.tell, pull, proof)

    def reviews(self, pull: Pull) -> list[Review]:
        return self._tried(self.forge.reviews, pull)

    def close_merged(self, pull: Pull, commit: Sha) -> None:
        self._tried(self.forge.close_merged, pull, commit)

    # ── CI ────────────────────────────────────────────────────────────────────────────────────────────

    def run_id(self, sha: Sha) -> str:
        return self._tried(self.forge.run_id, sha)

    def ci(self, sha: Sha, jobs: Mapping[str, Job]) -> CiRun:
        return self._tried(self.forge.ci, sha, jobs)

    def ci_log(self, ci: CiRun, job: CiJob) -> str:
        return self._tried(self.forge.ci_log, ci, job)

    def rerun(self, ci: CiRun, jobs: list[str]) -> bool:
        return self._tried(self.forge.rerun, ci, jobs)
