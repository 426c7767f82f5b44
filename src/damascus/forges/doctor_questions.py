"""What every forge with a server is asked by its doctor: workflows, jobs, webhooks.

Nothing is changed on the forge: a right to write is asked for by a request that is refused for its content.
"""

import base64
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from damascus.domain.check import Check
from damascus.domain.config import Config
from damascus.domain.errors import DamascusError
from damascus.domain.ports import WantedJobs
from damascus.forges.http import Api
from damascus.forges.webhooks import WebhookReceiver
from damascus.forges.workflows import WorkflowJob, Workflows, read_workflows

QUEUE_BRANCH = "mq/1"
DELIVERY_LIMIT = 10.0
MOST_HOOKS = 3


@dataclass(frozen=True)
class Patient:
    """What is looked at: one repository by its API. `path` is the repository's part of every call."""

    config: Config
    environ: Mapping[str, str]
    main: str
    api: Api
    path: str

    @property
    def story_branch(self) -> str:
        return f"{self.config.project.branch_prefix}story"

    @property
    def required(self) -> list[str]:
        return list(WantedJobs.of(self.config.ci).required)

    def asked(self, path: str, **params: str | int) -> Any | None:
        """None where it is not there, or not ours to see."""
        try:
            return self.api.find(path, **params)
        except DamascusError:
            return None


# ── what every forge is asked ─────────────────────────────────────────────────────────────────────────


def workflow_files(patient: Patient, folders: tuple[str, ...]) -> dict[str, str]:
    """Those of the first folder that main has: a forge reads one of them only."""
    for folder in folders:
        rows = patient.asked(f"{patient.path}/contents/{folder}", ref=patient.main)
        names = [row["path"] for row in rows or [] if row["name"].endswith((".yml", ".yaml"))]
        if names:
            return {name: _content(patient, name) for name in names}
    return {}


def _content(patient: Patient, name: str) -> str:
    told = patient.api.get(f"{patient.path}/contents/{name}", ref=patient.main)
    return base64.b64decode(told["content"]).decode("utf-8", errors="replace")


def workflow_check(patient: Patient, files: Mapping[str, str], folder: str) -> Check:
    """Every required job is there, and starts for stories, for the queue and, if it mirrors, for main."""
    if not files:
        told = f"{patient.main} has no workflow in {folder}, so no CI would run. Add one (docs/forges.md)."
        return Check("workflow", "fail", told)
    found = read_workflows(files)
    if found.unreadable:
        return Check("workflow", "fail", f"{found.unreadable[0]} can't be read. Correct it.")
    mirror = patient.config.ci.mirror_job
    problems = [_job_problem(patient, found, name) for name in patient.required]
    problems += [_mirror_problem(patient, found, mirror)] if mirror else []
    if worst := next((problem for problem in problems if problem), ""):
        return Check("workflow", "fail", worst)
    jobs = [job for name in patient.required if (job := found.find(name))]
    told = f"{', '.join(patient.required)} in {', '.join(sorted({job.file for job in jobs}))}, also for mq/**"
    if partial := [job.name for job in jobs if job.trigger.only_some_paths or job.conditional]:
        why = f"{partial[0]} has a filter of paths or an `if:`, and a job that is skipped is not green"
        return Check("workflow", "warn", f"{told}; but {why}")
    return Check("workflow", "ok", told)


def _job_problem(patient: Patient, found: Workflows, name: str) -> str:
    job = found.find(name)
    if job is None:
        return (
            f"{patient.main} has no job {name}, which must be green; there is {', '.join(found.names) or 'none'}. "
            "Add it, or name yours in [ci] required."
        )
    if not job.trigger.on_push(QUEUE_BRANCH):
        return (
            f"{name} in {job.file} does not run on pushes to mq/**, so the merge queue would wait for it in vain. "
            'Add "mq/**" to on.push.branches.'
        )
    if not job.trigger.on_push(patient.story_branch) and not job.trigger.on_pull:
        prefix = patient.config.project.branch_prefix
        return f'{name} in {job.file} does not run for stories. Add "{prefix}**" to on.push.branches.'
    return ""


def _mirror_problem(patient: Patient, found: Workflows, name: str) -> str:
    job = found.find(name)
    if job is None:
        return f"{patient.main} has no job {name}, which [ci] mirror_job names. Add it, or correct mirror_job."
    if not job.trigger.on_push(patient.main):
        return f"{name} in {job.file} does not run on pushes to {patient.main}. Add it to on.push.branches."
    return ""


def wanted_labels(patient: Patient, files: Mapping[str, str]) -> list[tuple[str, tuple[str, ...]]]:
    """Each required job that is there, with the labels of its `runs-on`."""
    found = read_workflows(files)
    jobs: list[WorkflowJob] = [job for name in patient.required if (job := found.find(name))]
    return [(job.name, job.labels) for job in jobs]


# ── webhooks ──────────────────────────────────────────────────────────────────────────────────────────


def webhook_check(patient: Patient, deliver: Callable[[int], object] | None) -> Check:
    """With `deliver` the forge is asked for a test delivery, which must arrive with a valid signature."""
    port = patient.config.forge.webhook_port
    hooks = patient.asked(f"{patient.path}/hooks")
    if hooks is None:
        return Check("webhook", "warn", "the token may not see the repository's webhooks; polling works without them")
    active = sorted(
        (hook for hook in hooks if hook.get("active")),
        key=lambda hook: f":{port}" not in str(hook.get("config", {}).get("url", "")),
    )
    if not active:
        return Check("webhook", "fail",
                     f"the repository has no active webhook for port {port}. Add one (docs/forges.md), or set [forge] "
                     "webhook_port = 0: polling works without.")  # fmt: skip
    arrived = threading.Event()
    receiver = WebhookReceiver.start(patient.config.forge, patient.environ, lambda _: arrived.set())
    if receiver is None or deliver is None:
        told = "a worker listens there" if receiver is None else "not tried"
        if receiver:
            receiver.stop()
        return Check("webhook", "ok", f"the forge has a webhook; port {port}: {told}")
    try:
        came = any(_delivered(deliver, int(hook["id"]), arrived) for hook in active[:MOST_HOOKS])
    finally:
        receiver.stop()
    return _delivery_told(patient, came)


def _delivered(deliver: Callable[[int], object], hook: int, arrived: threading.Event) -> bool:
    deliver(hook)
    return arrived.wait(DELIVERY_LIMIT)


def _delivery_told(patient: Patient, came: bool) -> Check:
    port = patient.config.forge.webhook_port
    if came:
        return Check("webhook", "ok", f"a test delivery arrived on port {port}, its signature is valid")
    return Check("webhook", "fail",
                 f"a test delivery did not arrive on port {port} within {DELIVERY_LIMIT:.0f} s with a valid signature. "
                 f"Compare the webhook's secret with {patient.config.forge.webhook_secret_env}, its address with "
                 "[forge] webhook_host, and look at its deliveries on the forge.")  # fmt: skip
