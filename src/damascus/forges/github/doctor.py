"""The checks of a repository on GitHub. Its runners are GitHub's own, so nobody has to be online."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from damascus.domain.check import Check
from damascus.domain.config import Config
from damascus.domain.ids import Sha
from damascus.forges.access import token
from damascus.forges.address import Address
from damascus.forges.doctor_jobs import jobs_check
from damascus.forges.doctor_questions import Patient, webhook_check, workflow_check, workflow_files
from damascus.forges.github.api import GithubApi
from damascus.forges.github.ci import GithubCi

FOLDER = ".github/workflows"
PUSH_RULES = {
    "pull_request": "only pull requests may change it",
    "update": "nobody may update it",
    "required_signatures": "commits must be signed",
    "merge_queue": "only GitHub's own merge queue may change it",
}


@dataclass(frozen=True)
class GithubDoctor:
    patient: Patient
    address: Address

    def checks(self) -> Iterator[tuple[str, Callable[[], Check]]]:
        yield "repository", self.repository
        yield "actions", self.actions
        yield "workflow", lambda: workflow_check(self.patient, workflow_files(self.patient, (FOLDER,)), FOLDER)
        yield "jobs", lambda: jobs_check(self.patient, self._tip(), GithubCi(self.api).of)
        yield "protection", self.protection
        if self.patient.config.forge.webhook_port:
            yield "webhook", lambda: webhook_check(self.patient, None)

    @property
    def api(self) -> GithubApi:
        assert isinstance(self.patient.api, GithubApi)
        return self.patient.api

    def _tip(self) -> Sha | None:
        branch = self.patient.asked(f"/branches/{self.patient.main}") or {}
        found = str((branch.get("commit") or {}).get("sha", ""))
        return Sha(found) if found else None

    def repository(self) -> Check:
        row, url = self.row, self.address.url
        if row is None:
            return Check("repository", "fail", f"{url} is not there, or the token may not see it. Correct [forge] url, "
                         "or let the token read and write this repository.")  # fmt: skip
        if row.get("archived") or row.get("disabled"):
            return Check("repository", "fail", f"{url} is archived or disabled: nothing can be pushed to it.")
        if not (row.get("permissions") or {}).get("push"):
            return Check("repository", "fail", f"the token may not write to {url}. It needs contents, pull requests "
                         "and actions, each read and write (docs/forges.md).")  # fmt: skip
        return Check("repository", "ok", f"{url}, the token's user may push")

    def actions(self) -> Check:
        """A token that may not administer the repository can't ask; a run that is there answers as well."""
        told = self.patient.asked("/actions/permissions")
        if told is not None and not told.get("enabled"):
            return Check("actions", "fail", "Actions are off, so no CI would run. Turn them on in the repository's "
                         "settings.")  # fmt: skip
        if told is None and self.patient.asked("/actions/runs", per_page=1) is None:
            return Check("actions", "fail", "the token may not read Actions. Give it actions: read and write.")
        return Check("actions", "ok", "on; the token may read them")

    def protection(self) -> Check:
        main = self.patient.main
        rules = self.patient.asked(f"/rules/branches/{main}")
        if rules is None:
            return Check("protection", "warn", f"the token may not see the rules of {main}")
        for rule in rules:
            if said := PUSH_RULES.get(str(rule.get("type"))):
                return Check("protection", "warn", f"a rule of {main} says: {said}. Let the token's account bypass it; "
                             "else stories land by GitHub's own merge, one at a time (docs/forges.md)")  # fmt: skip
        return Check("protection", "ok", f"no rule keeps Damascus from pushing the tested commit to {main}")

    @cached_property
    def row(self) -> dict[str, Any] | None:
        return self.patient.api.find("")


def doctor(config: Config, environ: Mapping[str, str], main: str) -> GithubDoctor:
    shown = token(config.forge, environ)
    address = Address.parse(config.forge.url)
    return GithubDoctor(Patient(config, environ, main, GithubApi(address, shown), ""), address)
