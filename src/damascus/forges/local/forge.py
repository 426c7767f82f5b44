"""The local forge: the stories' store holds branches, fences and pulls; the user's repository receives main only.

No server and no table. A push is one ref transaction, a pull is a blob (forges/local/pulls.py), CI runs the jobs
through the evidence runner, which has run them already if a gate did. Nothing is ever pushed to `origin`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from damascus.domain.errors import TransientError
from damascus.domain.ids import Sha
from damascus.domain.ids import sha as full_sha
from damascus.domain.ports import (
    ChangedFile,
    CiJob,
    CiRun,
    CiState,
    EvidenceRunner,
    Job,
    Pull,
    PullProof,
    PullState,
    Push,
    RemoteRefs,
    Review,
    Stale,
    TestRun,
)
from damascus.domain.ports.forges import SKIPPED_LISTED
from damascus.forges import ForgeSetup
from damascus.forges.local.pulls import CommitStatus, LocalPulls, PullRecord, branch_ref
from damascus.git import landing, notes
from damascus.git.making_way import OurFiles
from damascus.git.mirror import Mirror, RefMove
from damascus.git.objects import EMPTY_TREE
from damascus.git.repository import Repository


@dataclass(frozen=True)
class LocalForge:
    """ports.Forge on local files and git alone."""

    mirror: Mirror
    repository: Repository
    main_branch: str
    runner: EvidenceRunner
    project_name: str
    name: str = "local"
    runs_ci: bool = True
    ours: Callable[[], OurFiles] = dict

    # ── main ──────────────────────────────────────────────────────────────────────────────────────────

    def main_tip(self) -> Sha:
        """The user's main, fetched into the mirror only if it moved."""
        self._assert_there()
        tip, known = self.repository.tip(self.main_branch), self.mirror.main(self.main_branch)
        if known == tip:
            return tip
        ours = known is not None and self.mirror.objects.find([tip])[0] is not None and self.mirror.is_whole(tip)
        if not (ours and self._learn(tip, known)):
            self.mirror.fetch_main(self.main_branch)
        return self.mirror.main(self.main_branch) or tip

    def _assert_there(self) -> None:
        """A repository on a disk that is not mounted comes back: that is nobody's failure (T1)."""
        if not self.repository.git_dir.is_dir():
            raise TransientError(f"the repository {self.repository.top} is not there at the moment")

    def _learn(self, tip: Sha, known: Sha | None) -> bool:
        """A commit that we landed is ours already: no fetch is needed to know that main is there."""
        try:
            self.mirror.publish(tip, self.main_branch, known)
        except Stale:  # whoever landed it says so at this moment
            return self.mirror.main(self.main_branch) == tip
        return True

    def land(self, old: Sha, new: Sha, pull: Pull | None = None) -> None:
        self._assert_there()
        landing.land(self.repository, self.mirror, self.main_branch, old, new, ours=self.ours)
        try:
            self.mirror.publish(new, self.main_branch, old)
        except Stale:  # somebody fetched main in between
            self.mirror.fetch_main(self.main_branch)

    def have(self, commit: Sha) -> bool:
        return self.mirror.objects.find([commit])[0] is not None

    def landed(self, commit: Sha) -> bool:
        """Asked of the user's repository itself, not of the mirror."""
        self._assert_there()
        at_tip = self.repository.tip(self.main_branch) == commit
        return at_tip or landing.contains(self.repository, self.main_branch, commit)

    def annotate(self, commit: Sha, text: bytes) -> None:
        notes.annotate(self.repository, self.mirror, commit, text)

    # ── branches ──────────────────────────────────────────────────────────────────────────────────────

    def remote_refs(self, branch: str, fence_ref: str) -> RemoteRefs:
        return RemoteRefs(branch=self.mirror.resolve(branch_ref(branch)), fence=self.mirror.resolve(fence_ref))

    def plant_fence(self, fence_ref: str, was: Sha | None, fence: int) -> Sha:
        planted = self.mirror.commit_tree(EMPTY_TREE, [], f"damascus: fence {fence} of {fence_ref}\n")
        self.mirror.update_refs([RefMove(fence_ref, planted, was)])
        return planted

    def push(self, push: Push) -> None:
        """The fence ref takes the pushed commit as its value: it moves in every push, so the guard covers it."""
        moves = [
            RefMove(branch_ref(push.branch), push.commit, push.branch_was),
            RefMove(push.fence_ref, push.commit, push.fence_was),
        ]
        try:
            self.mirror.update_refs(moves)
        except Stale:
            if self.remote_refs(push.branch, push.fence_ref) != RemoteRefs(push.commit, push.commit):
                raise

    def move(self, branch: str, new: Sha | None, was: Sha | None) -> None:
        try:
            self.mirror.update_refs([RefMove(branch_ref(branch), new, was)])
        except Stale:
            if self.mirror.resolve(branch_ref(branch)) != new:
                raise

    # ── pulls ─────────────────────────────────────────────────────────────────────────────────────────

    def find_pull(self, branch: str) -> Pull | None:
        return self._pulls.find(branch)

    def open_pull(self, branch: str, title: str, body: str, head: Sha) -> Pull:
        """`head` is what the caller pushed; the answer tells where the branch really is."""
        return self._pulls.open(branch, title, body)

    def diff(self, pull: Pull) -> list[ChangedFile]:
        head = self.mirror.resolve(branch_ref(pull.head)) or Sha(pull.head_sha)
        tip = self.mirror.tip(self.main_branch) or self.main_tip()
        if tip != head and self.mirror.is_ancestor(tip, head):
            return list(self.mirror.changed(tip, head))
        base = self.mirror.git.out("merge-base", tip, head)
        return list(self.mirror.changed(full_sha(base), head))

    def comment(self, pull: Pull, key: str, text: str) -> None:
        def add(record: PullRecord) -> PullRecord:
            return record if key in record.notes else record.model_copy(update={"notes": {**record.notes, key: text}})

        self._pulls.change(pull, add)

    def tell(self, pull: Pull, proof: PullProof) -> list[str]:
        """Comment and status in one write of the pull's own file."""
        status = CommitStatus(state=proof.state, line=proof.line)

        def told(record: PullRecord) -> PullRecord:
            notes = {**record.notes, proof.key: proof.text}
            return record.model_copy(update={"notes": notes, "statuses": {**record.statuses, proof.commit: status}})

        self._pulls.change(pull, told)
        return []

    def reviews(self, pull: Pull) -> list[Review]:
        """There is no page to write one on: a person answers at the terminal."""
        return []

    def close_merged(self, pull: Pull, commit: Sha) -> None:
        def close(record: PullRecord) -> PullRecord:
            if record.state == PullState.MERGED:
                return record
            return record.model_copy(update={"state": PullState.MERGED, "merged_commit": commit})

        self._pulls.change(pull, close)

    @property
    def _pulls(self) -> LocalPulls:
        return LocalPulls(self.mirror, self.main_branch, self.project_name)

    # ── CI ────────────────────────────────────────────────────────────────────────────────────────────

    def run_id(self, sha: Sha) -> str:
        """The id of a commit's one CI run here: known as soon as it is pushed."""
        return f"local-{sha[:12]}"

    def ci(self, sha: Sha, jobs: Mapping[str, Job]) -> CiRun:
        """Runs the jobs here and now. Without jobs there is nothing that could be green (W1)."""
        commit = full_sha(sha)
        try:
            tree = self.mirror.tree(commit)
        except KeyError:
            raise LookupError(f"commit {sha} was not pushed to this forge") from None
        done = [_job_of(name, self.runner.run(replace(job, tree=tree))) for name, job in jobs.items()]
        return CiRun(sha=commit, run_id=self.run_id(commit), jobs=done)

    def ci_log(self, ci: CiRun, job: CiJob) -> str:
        path = Path(job.log) if job.log else None
        return path.read_text("utf-8", errors="replace") if path and path.is_file() else ""

    def rerun(self, ci: CiRun, jobs: list[str]) -> bool:
        """A result is keyed by tree and command and run once: asking again would tell the same."""
        return False


def _job_of(name: str, run: TestRun) -> CiJob:
    if run.timed_out:
        summary = f"timed out after {run.seconds:.0f} s"
    elif run.counted:
        summary = f"{run.passed} passed, {run.failed} failed, {run.skipped} skipped, exit code {run.exit_code}"
    else:
        summary = f"exit code {run.exit_code}"
    skipped = [case.id for case in run.cases if case.status == "skipped"][:SKIPPED_LISTED]
    state = CiState.SUCCESS if run.green else CiState.FAILURE
    return CiJob(name=name, state=state, log=run.log, summary=summary, skipped=skipped)


def make(setup: ForgeSetup) -> LocalForge:
    assert setup.repository is not None and setup.runner is not None
    return LocalForge(
        setup.mirror, setup.repository, setup.main_branch, setup.runner, setup.project_name, ours=setup.ours
    )
