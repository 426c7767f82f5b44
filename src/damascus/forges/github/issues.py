"""Open issues of a GitHub repository, by label. GitHub lists pulls among them."""

from collections.abc import Mapping
from dataclasses import dataclass

from damascus.domain.config import ForgeConfig
from damascus.domain.ports import ForgeIssue
from damascus.forges.access import forge_url, token
from damascus.forges.address import Address
from damascus.forges.github.api import GithubApi


@dataclass(frozen=True)
class GithubIssues:
    """ports.Issues."""

    api: GithubApi

    def issues(self, label: str) -> list[ForgeIssue]:
        rows = self.api.rows("/issues", state="open", labels=label, sort="created", direction="asc")
        found = [ForgeIssue.of(row) for row in rows if not row.get("pull_request")]
        return sorted((one for one in found if one.has(label)), key=lambda one: one.number)


def make(config: ForgeConfig, environ: Mapping[str, str]) -> GithubIssues:
    return GithubIssues(GithubApi(Address.parse(forge_url(config)), token(config, environ)))
