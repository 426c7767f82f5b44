"""Open issues of a Gitea or Forgejo, by label."""

from collections.abc import Mapping
from dataclasses import dataclass

from damascus.domain.config import ForgeConfig
from damascus.domain.ports import ForgeIssue
from damascus.forges.access import forge_url, token
from damascus.forges.address import Address
from damascus.forges.http import Api


@dataclass(frozen=True)
class GiteaIssues:
    """ports.Issues. `path` is the repository's part of every call."""

    api: Api
    path: str

    def issues(self, label: str) -> list[ForgeIssue]:
        """A server that knows no such label may answer with all issues: each one's own labels are looked at."""
        rows = self.api.pages(f"{self.path}/issues", state="open", type="issues", labels=label)
        found = [ForgeIssue.of(row) for row in rows if not row.get("pull_request")]
        return sorted((one for one in found if one.has(label)), key=lambda one: one.number)


def make(config: ForgeConfig, environ: Mapping[str, str]) -> GiteaIssues:
    address = Address.parse(forge_url(config))
    return GiteaIssues(Api(f"{address.root}/api/v1", token(config, environ)), address.api_path)
