"""What main's last CI run says of [ci] required and [ci] optional: every job that is shown must be a success (W1)."""

import json
from collections.abc import Callable, Iterable

from damascus.domain.check import Check
from damascus.domain.errors import DamascusError
from damascus.domain.ids import Sha, short
from damascus.domain.ports import CiRun, WantedJobs
from damascus.forges.doctor import Patient


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
    return Check("jobs", "ok", told) if ci.green(wanted) else Check("jobs", "warn", f"{told}. {_proposal(ci, wanted)}")


def _proposal(ci: CiRun, wanted: WantedJobs) -> str:
    judged = [job for job in ci.jobs if job.name != wanted.mirror]
    required = _listed(job.name for job in judged if job.state == "success" and job.name not in wanted.optional)
    optional = _listed([*(job.name for job in judged if job.state != "success"), *sorted(wanted.optional)])
    return (
        f"No story would be green with that. Mend it, or let [ci] in damascus.toml say: required = {required}, "
        f"optional = {optional}"
    )


def _listed(names: Iterable[str]) -> str:
    return json.dumps(list(dict.fromkeys(names)), ensure_ascii=False)
