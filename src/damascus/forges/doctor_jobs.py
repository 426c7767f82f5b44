"""What main's last CI run says of [ci] required and [ci] optional: every job that is shown must be a success (W1)."""

import json
from collections.abc import Callable, Iterable

from damascus.domain.check import Check
from damascus.domain.errors import DamascusError
from damascus.domain.ids import Sha, short
from damascus.domain.ports import CiRun, CiState, WantedJobs
from damascus.forges.doctor_questions import Patient


def jobs_check(patient: Patient, tip: Sha | None, look: Callable[[Sha], CiRun]) -> Check:
    """Would a story with the same jobs in the same states land? If not, what [ci] would have to say."""
    try:
        ci = look(tip) if tip else None
    except (LookupError, DamascusError):
        ci = None
    if tip is None or ci is None or not ci.finished:
        told = f"{patient.main} has no finished CI run, so [ci] required can't be compared with it"
        return Check("jobs", "warn", told)
    wanted = WantedJobs.of(patient.config.ci)
    shown = ", ".join(f"{job.name} {job.state}" for job in ci.jobs)
    told = f"{patient.main}'s last run ({short(tip)}): {shown}"
    if ci.green(wanted):
        return Check("jobs", "ok", told)
    return Check("jobs", "warn", f"{told}. {_red(patient, ci, wanted)}{_proposal(ci, wanted)}")


def _red(patient: Patient, ci: CiRun, wanted: WantedJobs) -> str:
    """A main that fails by itself is nobody's failure."""
    failed = [job.name for job in ci.judged(wanted) if job.state == CiState.FAILURE]
    if not failed:
        return ""
    lacks = " Does the workflow do what [workspace] setup does?" if patient.config.workspace.setup else ""
    return (
        f"{patient.main} itself is red ({', '.join(failed)}): a story that fails there too is charged nothing, it "
        f"waits with a question until {patient.main} is mended.{lacks} "
    )


def _proposal(ci: CiRun, wanted: WantedJobs) -> str:
    judged = [job for job in ci.jobs if job.name != wanted.mirror]
    required = _listed(job.name for job in judged if job.state == CiState.SUCCESS and job.name not in wanted.optional)
    optional = _listed([*(job.name for job in judged if job.state != CiState.SUCCESS), *sorted(wanted.optional)])
    return (
        f"No story would be green with that. Mend it, or let [ci] in damascus.toml say: required = {required}, "
        f"optional = {optional}"
    )


def _listed(names: Iterable[str]) -> str:
    return json.dumps(list(dict.fromkeys(names)), ensure_ascii=False)
