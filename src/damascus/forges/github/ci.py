"""What GitHub knows of one commit's CI: check runs, commit statuses and the workflow runs behind them.

A job of Actions is a check run of its name; other services post check runs or the older commit statuses: all are read.
A job that needs another one has no check run before its turn, so between two jobs everything may look finished: a
workflow run that is still at work, or that ended without a job, stands for itself under its own name.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from damascus.domain.ids import Sha
from damascus.domain.ids import sha as full_sha
from damascus.domain.ports import CiJob, CiRun, CiState
from damascus.forges.github.api import Forbidden, GithubApi
from damascus.forges.proofs import is_own_status

CONCLUSIONS: dict[str, CiState] = {
    "success": CiState.SUCCESS,
    "neutral": CiState.SKIPPED,
    "skipped": CiState.SKIPPED,
    "cancelled": CiState.CANCELLED,
    "stale": CiState.CANCELLED,
    "timed_out": CiState.FAILURE,
    "action_required": CiState.FAILURE,
    "failure": CiState.FAILURE,
    "startup_failure": CiState.FAILURE,
}
STATUSES: dict[str, CiState] = {
    "success": CiState.SUCCESS,
    "failure": CiState.FAILURE,
    "error": CiState.FAILURE,
    "pending": CiState.RUNNING,
}
RANK: tuple[CiState, ...] = (
    CiState.RUNNING,
    CiState.WAITING,
    CiState.FAILURE,
    CiState.CANCELLED,
    CiState.SUCCESS,
    CiState.SKIPPED,
)
"""Of several jobs of one name (a push and its pull run the same workflow): while one runs nothing is known, then the
worst speaks for all, and a skipped one only where no other ran."""
AT_WORK = {CiState.RUNNING, CiState.WAITING}
ACTIONS = "github-actions"
JOB, CHECK = "job:", "check:"
"""What an id of ours names: a job of Actions, which has a log and can be run again, or somebody else's check run."""


@dataclass(frozen=True)
class GithubCi:
    """Asked by full SHA; what is about another commit is dropped."""

    api: GithubApi

    def of(self, sha: Sha) -> CiRun:
        commit = full_sha(sha)
        checks = self._rows_of(commit, f"/commits/{commit}/check-runs", "check_runs", filter="latest")
        statuses = self._statuses(commit)
        runs = self._rows_of(commit, "/actions/runs", "workflow_runs", head_sha=commit)
        found = [_check_job(row) for row in checks] + [_status_job(row) for row in statuses]
        found += [job for row in runs if (job := _run_job(row, checks)) is not None]
        return CiRun(sha=commit, run_id=_run_id(commit, runs, checks, statuses), jobs=_one_per_name(found))

    def log(self, job: CiJob) -> str:
        """A commit status has none: its service keeps it."""
        if job.id.startswith(JOB):
            return self.api.log(f"/actions/jobs/{job.id.removeprefix(JOB)}/logs")
        if not job.id.startswith(CHECK):
            return ""
        row = self.api.find(f"/check-runs/{job.id.removeprefix(CHECK)}") or {}
        output = row.get("output") or {}
        return "\n\n".join(str(output[part]) for part in ("title", "summary", "text") if output.get(part))

    def rerun(self, ci: CiRun, names: Iterable[str]) -> bool:
        wanted = set(names)
        by_run: dict[int, list[CiJob]] = {}
        for job in ci.jobs:
            if job.name in wanted and job.id.startswith(JOB):
                row = self.api.find(f"/actions/jobs/{job.id.removeprefix(JOB)}")
                if row is not None and row["head_sha"] == ci.sha:
                    by_run.setdefault(int(row["run_id"]), []).append(job)
        return any([self._again(run, jobs) for run, jobs in by_run.items()])

    def _again(self, run: int, jobs: list[CiJob]) -> bool:
        """A run that is at work already was asked before, by us or by a person."""
        states = {job.state for job in jobs}
        if self.api.get(f"/actions/runs/{run}")["status"] != "completed":
            return True
        paths = [f"/actions/runs/{run}/rerun-failed-jobs"]
        if CiState.CANCELLED in states:
            paths = [f"/actions/runs/{run}/rerun"]
        elif states != {CiState.FAILURE}:
            paths = [f"/actions/jobs/{job.id.removeprefix(JOB)}/rerun" for job in jobs]
        try:
            for path in paths:
                self.api.call("POST", path).expected()
        except Forbidden as err:
            if "retr" not in err.said and "already running" not in err.said:
                raise
            return "already running" in err.said  # else it is too old to be retried
        return True

    # ── what GitHub tells ─────────────────────────────────────────────────────────────────────────────

    def _rows_of(self, commit: Sha, path: str, key: str, **params: str) -> list[dict[str, Any]]:
        return [row for row in self.api.rows(path, key, **params) if row["head_sha"] == commit]

    def _statuses(self, commit: Sha) -> list[dict[str, Any]]:
        """The newest of each context but ours, as the combined status lists them; each names its commit in its
        address."""
        rows = self.api.rows(f"/commits/{commit}/status", "statuses")
        return [row for row in rows if str(row["url"]).endswith(f"/{commit}") and not is_own_status(row)]


def _check_job(row: dict[str, Any]) -> CiJob:
    kind = JOB if (row.get("app") or {}).get("slug") == ACTIONS else CHECK
    title = str((row.get("output") or {}).get("title") or "")
    told = str(row["conclusion"] or row["status"])
    summary = f"{told}: {title}" if title else told
    return CiJob(name=row["name"], state=_state(row), summary=summary, id=f"{kind}{row['id']}")


def _status_job(row: dict[str, Any]) -> CiJob:
    told, description = str(row["state"]), str(row.get("description") or "")
    summary = f"{told}: {description}" if description else told
    return CiJob(name=row["context"], state=STATUSES.get(told, CiState.FAILURE), summary=summary)


def _run_job(row: dict[str, Any], checks: list[dict[str, Any]]) -> CiJob | None:
    """A workflow run that no check run of its own tells the truth about."""
    suite, state = row.get("check_suite_id"), _state(row)
    own = {_state(check) for check in checks if (check.get("check_suite") or {}).get("id") == suite}
    if own & AT_WORK or (own and state not in AT_WORK) or state == CiState.SUCCESS:
        return None
    name = str(row.get("name") or row.get("path") or row["id"])
    return CiJob(name=f"workflow {name}", state=state, summary=str(row["conclusion"] or row["status"]))


def _state(row: dict[str, Any]) -> CiState:
    """Of a check run or a workflow run; a word that we don't know is no success."""
    if row["status"] == "completed":
        return CONCLUSIONS.get(str(row["conclusion"]), CiState.FAILURE)
    return CiState.RUNNING if row["status"] == "in_progress" else CiState.WAITING


def _one_per_name(jobs: list[CiJob]) -> list[CiJob]:
    worst: dict[str, CiJob] = {}
    for job in sorted(jobs, key=lambda job: RANK.index(job.state)):
        worst.setdefault(job.name, job)
    return [worst[name] for name in dict.fromkeys(job.name for job in jobs)]


def _run_id(
    commit: Sha, runs: list[dict[str, Any]], checks: list[dict[str, Any]], statuses: list[dict[str, Any]]
) -> str:
    """The workflow runs, which keep their ids however often they are run again; else what stands in their place."""
    if runs:
        return ",".join(str(number) for number in sorted(int(row["id"]) for row in runs))
    suites = [int(suite["id"]) for row in checks if (suite := row.get("check_suite"))]
    if suites:
        return f"check-suite-{min(suites)}"
    return f"status-{commit[:12]}" if statuses else ""
