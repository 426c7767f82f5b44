"""The checks of a Gitea or Forgejo."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from damascus.domain.check import Check
from damascus.domain.config import Config
from damascus.domain.errors import DamascusError
from damascus.domain.ids import Sha
from damascus.forges.access import token
from damascus.forges.address import Address
from damascus.forges.doctor_jobs import jobs_check
from damascus.forges.doctor_questions import (
    QUEUE_BRANCH,
    Patient,
    wanted_labels,
    webhook_check,
    workflow_check,
    workflow_files,
)
from damascus.forges.gitea.ci import GiteaCi
from damascus.forges.http import Api
from damascus.forges.workflows import matches

FOLDERS = (".gitea/workflows", ".github/workflows")
FORGEJO_FOLDERS = (".forgejo/workflows", *FOLDERS)
OLDEST = {"gitea": (1, 23), "forgejo": (12, 0)}
NOWHERE = 2_147_483_647
"""The number of an issue that no repository has."""


@dataclass(frozen=True)
class GiteaDoctor:
    patient: Patient
    address: Address

    def checks(self) -> Iterator[tuple[str, Callable[[], Check]]]:
        yield "forge", self.forge
        yield "token", self.token
        yield "repository", self.repository
        yield "rights", self.rights
        yield "actions", self.actions
        yield "workflow", lambda: workflow_check(self.patient, self.files, self.folders[0])
        yield "jobs", lambda: jobs_check(self.patient, self._tip(), GiteaCi(self.patient.api, self.patient.path).ci)
        yield "runner", self.runner
        yield "protection", self.protection
        if self.patient.config.forge.webhook_port:
            yield "webhook", lambda: webhook_check(self.patient, self._deliver)

    def _tip(self) -> Sha | None:
        branch = self.patient.asked(f"{self.patient.path}/branches/{self.patient.main}") or {}
        found = str((branch.get("commit") or {}).get("id", ""))
        return Sha(found) if found else None

    # ── who answers, and to whom ──────────────────────────────────────────────────────────────────────

    def forge(self) -> Check:
        version = self.version
        if _too_old(version, self.forgejo):
            return Check("forge", "fail", f"{self.address.root} is {version}. Damascus needs Gitea 1.23 or Forgejo 12.")
        return Check("forge", "ok", f"{'Forgejo' if self.forgejo else 'Gitea'} {version} at {self.address.root}")

    def token(self) -> Check:
        try:
            who = self.patient.api.get("/user")["login"]
        except DamascusError as err:
            return Check("token", "fail", f"{err} It needs read:user, write:repository and write:issue.")
        return Check("token", "ok", f"accepted, its user is {who}")

    def repository(self) -> Check:
        row, url = self.row, self.address.url
        if row is None:
            return Check("repository", "fail", f"{url} is not there, or the token's user may not see it. "
                                               "Correct [forge] url, or invite that user.")  # fmt: skip
        if row.get("archived") or row.get("mirror"):
            return Check("repository", "fail", f"{url} is archived or a mirror: nothing can be pushed to it.")
        if row.get("empty"):
            return Check("repository", "fail", f"{url} is empty. Push {self.patient.main} to it.")
        if not row["permissions"]["push"]:
            return Check("repository", "fail", f"the token's user may not write to {url}. Give them write access.")
        if self.branch is None:
            return Check("repository", "fail", f"{url} has no branch {self.patient.main}. Push it, or set main_branch.")
        return Check("repository", "ok", f"{url}, {self.patient.main} at {self.branch['commit']['id'][:7]}")

    def rights(self) -> Check:
        """Each request is refused: by its content where the token has the right, before it is read where not."""
        api, path = self.patient.api, self.patient.path
        for right, where in (
            ("write:repository", f"{path}/pulls"),
            ("write:issue", f"{path}/issues/{NOWHERE}/comments"),
        ):
            try:
                api.call("POST", where, json={})
            except DamascusError:
                return Check("rights", "fail", f"the token lacks {right}. Make one that has write:repository, "
                                               "write:issue and read:user (docs/forges.md).")  # fmt: skip
        row = self.row or {}
        if not row.get("has_pull_requests", True):
            return Check("rights", "fail", "pull requests are off. Turn them on in the repository's settings.")
        if not row.get("allow_manual_merge", True):
            return Check("rights", "warn", "the token may write; but landed pull requests will be shown as closed, not "
                         'as merged: allow "manually merged" in the repository\'s settings')  # fmt: skip
        return Check("rights", "ok", "the token may push, open pull requests and comment")

    # ── CI ────────────────────────────────────────────────────────────────────────────────────────────

    def actions(self) -> Check:
        on = (self.row or {}).get("has_actions", True)
        if not on or self.patient.asked(f"{self.patient.path}/actions/tasks", limit=1, page=1) is None:
            return Check("actions", "fail", "Actions are off, so no CI would run. Turn them on in the repository's "
                                            "settings, and on the server: [actions] ENABLED = true.")  # fmt: skip
        return Check("actions", "ok", "on")

    def runner(self) -> Check:
        """By the lists that the token may see; the server's own is for administrators, then its deeds speak."""
        wanted = wanted_labels(self.patient, self.files)
        if not wanted:
            return Check("runner", "warn", "no required job asks for one yet: see workflow")
        seen, all_of_them = self._runners()
        online = [_labels(one) for one in seen if one.get("status") != "offline" and not one.get("disabled")]
        lost = [(job, labels) for job, labels in wanted if not any(set(labels) <= have for have in online)]
        if not lost:
            return Check("runner", "ok", f"online: {', '.join(sorted(str(one['name']) for one in seen))}")
        job, labels = lost[0]
        cure = f"Start a runner with the label {' and '.join(labels)} (docs/forges.md)."
        if all_of_them:
            return Check("runner", "fail", f"no runner that is online takes {job}. {cure}")
        return self._by_deeds(job, cure)

    def _by_deeds(self, job: str, cure: str) -> Check:
        """What waits is listed before what ran: one waiting run that nobody takes is the news."""
        path, hidden = self.patient.path, "the token can't list the server's runners"
        runs = (self.patient.asked(f"{path}/actions/runs", limit=1, page=1) or {}).get("workflow_runs") or []
        if runs and runs[0].get("status") in ("queued", "waiting", "pending"):
            return Check("runner", "fail", f"run {runs[0].get('run_number')} waits and no runner has taken it. {cure}")
        tasks = (self.patient.asked(f"{path}/actions/tasks", limit=1, page=1) or {}).get("workflow_runs") or []
        if tasks:
            return Check("runner", "ok", f"a runner took the last job ({tasks[0].get('name')}); {hidden}")
        return Check("runner", "warn", f"no job has run yet, and {hidden}. Push a commit, then look again: {job}")

    def _runners(self) -> tuple[list[dict[str, Any]], bool]:
        """All that can be seen, and whether the server's own are among them."""
        owner = self.address.owner
        lists = [self.patient.asked(f"{where}/actions/runners")
                 for where in (self.patient.path, "/user", f"/orgs/{owner}", "/admin")]  # fmt: skip
        return [one for told in lists for one in (told or {}).get("runners") or []], lists[-1] is not None

    # ── protection ────────────────────────────────────────────────────────────────────────────────────

    def protection(self) -> Check:
        main, branch = self.patient.main, self.branch or {}
        for rule in self.patient.asked(f"{self.patient.path}/branch_protections") or []:
            for name in (QUEUE_BRANCH, self.patient.story_branch):
                if matches(name, str(rule.get("rule_name", ""))):
                    return Check("protection", "fail", f"the rule {rule['rule_name']} protects branches like {name}, "
                                 "which Damascus makes, moves and deletes. Narrow the rule.")  # fmt: skip
        if not branch.get("protected"):
            return Check("protection", "ok", f"{main} is not protected; Damascus pushes the tested commit")
        if branch.get("user_can_push"):
            return Check("protection", "ok", f"{main} is protected, and the token's user may push to it")
        return self._by_merge(branch)

    def _by_merge(self, branch: Mapping[str, Any]) -> Check:
        main = self.patient.main
        cure = f"Put the token's user on the list of those who may push to {main} (docs/forges.md)."
        if not branch.get("user_can_merge"):
            return Check("protection", "fail", f"the token's user may neither push to {main} nor merge into it. {cure}")
        if branch.get("required_approvals"):
            return Check("protection", "fail", f"{main} takes no push, and a pull request needs approvals by people "
                         f"({branch['required_approvals']}). {cure}")  # fmt: skip
        if not (self.row or {}).get("allow_fast_forward_only_merge"):
            return Check("protection", "fail", f"{main} takes no push, and the repository allows no fast-forward-only "
                         f"merge. Allow it in its settings. Or: {cure}")  # fmt: skip
        return Check("protection", "warn", f"{main} takes no push: stories land by the forge's own fast-forward merge, "
                     f"one at a time. Faster: {cure}")  # fmt: skip

    # ── facts ─────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def version(self) -> str:
        """Without the token, so that a bad one is not taken for a bad forge; a closed forge tells only its users."""
        try:
            told = Api(self.patient.api.root, lambda: "").get("/version")
        except DamascusError:
            told = self.patient.api.get("/version")
        return str(told.get("version", ""))

    @property
    def forgejo(self) -> bool:
        return "+gitea" in self.version or "forgejo" in self.version.lower()

    @cached_property
    def row(self) -> dict[str, Any] | None:
        return self.patient.api.find(self.patient.path)

    @cached_property
    def branch(self) -> dict[str, Any] | None:
        return self.patient.asked(f"{self.patient.path}/branches/{self.patient.main}")

    @property
    def folders(self) -> tuple[str, ...]:
        return FORGEJO_FOLDERS if self.forgejo else FOLDERS

    @cached_property
    def files(self) -> dict[str, str]:
        return workflow_files(self.patient, self.folders)

    def _deliver(self, hook: int) -> None:
        self.patient.api.call("POST", f"{self.patient.path}/hooks/{hook}/tests").expected()


def doctor(config: Config, environ: Mapping[str, str], main: str) -> GiteaDoctor:
    shown = token(config.forge, environ)
    address = Address.parse(config.forge.url)
    api = Api(f"{address.root}/api/v1", shown)
    return GiteaDoctor(Patient(config, environ, main, api, address.api_path), address)


def _too_old(version: str, forgejo: bool) -> bool:
    found = re.match(r"v?(\d+)\.(\d+)", version)
    number = (int(found[1]), int(found[2])) if found else OLDEST["gitea"]
    return number < OLDEST["forgejo" if forgejo else "gitea"]


def _labels(runner: Mapping[str, Any]) -> set[str]:
    return {str(label["name"] if isinstance(label, dict) else label) for label in runner.get("labels") or []}
