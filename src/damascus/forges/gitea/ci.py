"""CI of a commit on Gitea and Forgejo, known by its full SHA.

Two sources: the runs and jobs of Actions where this version has that API, and the commit's statuses, the one contract
that every version keeps and the only word of a CI system outside. Statuses lie in two ways that are undone here: a job
that was cancelled posts a failure, and "pending" is also said of a commit without any job.

One job may have run several times on one SHA: for the push and for the pull, on the story's branch and on main. While
one of them runs nothing is known; then the worst counts, and a skipped one only where no other ran.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from damascus.domain.ids import Sha
from damascus.domain.ids import sha as full_sha
from damascus.domain.ports import CiJob, CiRun, CiState
from damascus.forges.http import Api
from damascus.forges.proofs import is_own_status

STATES: dict[str, CiState] = {
    "success": CiState.SUCCESS,
    "failure": CiState.FAILURE,
    "cancelled": CiState.CANCELLED,
    "skipped": CiState.SKIPPED,
    "error": CiState.FAILURE,
    "warning": CiState.FAILURE,
    "running": CiState.RUNNING,
    "in_progress": CiState.RUNNING,
    "cancelling": CiState.RUNNING,
    "pending": CiState.WAITING,
    "queued": CiState.WAITING,
    "waiting": CiState.WAITING,
    "blocked": CiState.WAITING,
    "unknown": CiState.WAITING,
}
RANK: tuple[CiState, ...] = (
    CiState.RUNNING,
    CiState.WAITING,
    CiState.FAILURE,
    CiState.CANCELLED,
    CiState.SUCCESS,
    CiState.SKIPPED,
)
CONTEXT = re.compile(r"(?:.*? )?/ (?P<job>.+) \((?P<event>\w+)\)")
OF_ACTIONS = re.compile(r"/actions/runs/(\d+)(?:/jobs/\d+)?")
CANCELLED = "has been cancelled"
STARTED = "has started running"
VERSION = re.compile(r"v?(\d+)\.(\d+)")
NEWEST = (9999, 0)


@dataclass(frozen=True)
class Features:
    """What this version's API has."""

    version: str
    runs: bool
    jobs: bool
    logs: bool
    rerun: bool

    @classmethod
    def of(cls, version: str) -> "Features":
        """`1.26.4` is Gitea; `12.0.1+gitea-1.22.0` is Forgejo. What can't be read is taken for a new Gitea: what it
        lacks after all answers 404."""
        found = VERSION.match(version)
        number = (int(found[1]), int(found[2])) if found else NEWEST
        if "+gitea" in version or "forgejo" in version.lower():
            return cls(version, number >= (12, 0), number >= (16, 0), number >= (16, 0), False)
        return cls(version, number >= (1, 25), number >= (1, 25), number >= (1, 24), number >= (1, 26))


@dataclass(frozen=True)
class GiteaCi:
    """`path` is the repository's part of every call."""

    api: Api
    path: str

    @cached_property
    def features(self) -> Features:
        return Features.of(str(self.api.get("/version").get("version", "")))

    def run_id(self, sha: Sha) -> str:
        """The number of its run as people see it; "" while there is none."""
        commit = full_sha(sha)
        if self.features.runs:
            with suppress(LookupError):
                return _numbers(_number(run) for run in self._runs(commit))
        try:
            return _numbers(_run_of(status) for status in self._statuses(commit))
        except LookupError:
            return ""

    def ci(self, sha: Sha) -> CiRun:
        """LookupError for a commit that the forge does not have."""
        commit = full_sha(sha)
        statuses = self._statuses(commit)
        found = self._jobs(commit) if self.features.jobs else None
        if found is None:
            run = _numbers(_run_of(status) for status in statuses)
            return CiRun(sha=commit, run_id=run, jobs=_worst(map(_of_status, statuses)))
        numbers, jobs = found
        outside = [_of_status(status) for status in statuses if _run_of(status) is None]
        return CiRun(sha=commit, run_id=_numbers(numbers), jobs=_worst([*jobs, *outside]))

    def log(self, job: CiJob) -> str:
        """ "" where there is none: not started, cleaned up, or not to be had from this version."""
        if not job.id or not self.features.logs:
            return ""
        answer = self.api.call("GET", f"{self.path}/actions/jobs/{job.id.rpartition('/')[2]}/logs")
        return "" if answer.status == 404 else answer.expected().text

    def rerun(self, sha: Sha, names: list[str]) -> bool:
        """Each run in which one of these jobs is red, once: a run with a job that runs again takes no second request,
        and one that runs again already was asked for by an earlier try."""
        commit = full_sha(sha)
        found = self._jobs(commit) if self.features.rerun else None
        wanted = [job for job in (found[1] if found else []) if job.name in names]
        red = {job.id.partition("/")[0] for job in wanted if job.state in (CiState.FAILURE, CiState.CANCELLED)}
        for run in sorted(red):
            answer = self.api.call("POST", f"{self.path}/actions/runs/{run}/rerun-failed-jobs")
            if answer.status in (404, 405):
                return False
            answer.expected()
        return bool(wanted)

    # ── what the forge says ───────────────────────────────────────────────────────────────────────────

    def _runs(self, commit: Sha) -> list[Mapping[str, Any]]:
        """The newest run of each workflow, event and branch. The filter may be ignored, so each row is looked at."""
        rows = self.api.pages(f"{self.path}/actions/runs", "workflow_runs", head_sha=commit)
        ours = [row for row in rows if (row.get("head_sha") or row.get("commit_sha")) == commit]
        newest: dict[tuple[str, str, str], Mapping[str, Any]] = {}
        for row in sorted(ours, key=lambda row: int(row["id"])):
            newest[_kind(row)] = row
        return list(newest.values())

    def _jobs(self, commit: Sha) -> tuple[list[int | None], list[CiJob]] | None:
        """Every job of every run; None where the API is not there after all."""
        jobs: list[CiJob] = []
        try:
            runs = self._runs(commit)
            for run in runs:
                rows = self.api.pages(f"{self.path}/actions/runs/{run['id']}/jobs", "jobs")
                jobs += [_job(run["id"], row) for row in rows if (row.get("head_sha") or commit) == commit]
        except LookupError:
            return None
        return [_number(run) for run in runs], jobs

    def _statuses(self, commit: Sha) -> list[Mapping[str, Any]]:
        """The newest status of each context but ours."""
        found = []
        for status in self.api.pages(f"{self.path}/commits/{commit}/status", "statuses"):
            about = str(status.get("url", "")).rpartition("/")[2]
            if about in ("", commit) and not is_own_status(status):
                found.append(status)
        return found


def _kind(run: Mapping[str, Any]) -> tuple[str, str, str]:
    file, _, ref = str(run.get("path") or run.get("workflow_id") or "").partition("@")
    event = str(run.get("trigger_event") or run.get("event") or "")
    return file, event, ref or str(run.get("head_branch") or run.get("prettyref") or "")


def _number(run: Mapping[str, Any]) -> int | None:
    number = run.get("run_number") or run.get("index_in_repo") or run.get("id")
    return int(number) if number else None


def _run_of(status: Mapping[str, Any]) -> int | None:
    found = OF_ACTIONS.search(str(status.get("target_url", "")))
    return int(found[1]) if found else None


def _numbers(numbers: Iterable[int | None]) -> str:
    return ",".join(str(number) for number in sorted({number for number in numbers if number is not None}))


def _job(run: object, row: Mapping[str, Any]) -> CiJob:
    """`conclusion` is there once it is completed; Forgejo says it in `status` itself. An unknown word is no success."""
    status, conclusion = str(row.get("status", "")), str(row.get("conclusion") or "")
    state = STATES.get(conclusion, CiState.FAILURE) if status == "completed" else STATES.get(status, CiState.WAITING)
    summary = f"{conclusion or status} ({row.get('runner_name') or 'no runner'})"
    return CiJob(name=str(row["name"]), state=state, summary=summary, id=f"{run}/{row['id']}")


def _of_status(status: Mapping[str, Any]) -> CiJob:
    """A status as a job: the job's plain name out of `workflow / job (event)`; another system's context stays whole."""
    context, description = str(status.get("context", "")), str(status.get("description", ""))
    state = STATES.get(str(status.get("status") or status.get("state") or ""), CiState.FAILURE)
    found = CONTEXT.fullmatch(context) if _run_of(status) is not None else None
    if found and CANCELLED in description.lower():
        state = CiState.CANCELLED
    if found and state == CiState.WAITING and STARTED in description.lower():
        state = CiState.RUNNING
    return CiJob(name=found["job"] if found else context, state=state, summary=description)


def _worst(jobs: Iterable[CiJob]) -> list[CiJob]:
    worst: dict[str, CiJob] = {}
    for job in jobs:
        known = worst.get(job.name)
        if known is None or RANK.index(job.state) < RANK.index(known.state):
            worst[job.name] = job
    return list(worst.values())
