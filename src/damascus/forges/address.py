"""The address of a repository on a forge, as a browser shows it, and what is derived from it."""

from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from damascus.domain.errors import UsageError


@dataclass(frozen=True)
class Address:
    """`root` is where the forge itself answers; a forge below a path of its host is one, too."""

    root: str
    owner: str
    repo: str

    @classmethod
    def parse(cls, url: str) -> "Address":
        parts = urlsplit(url.strip())
        path = [part for part in parts.path.split("/") if part]
        if parts.scheme not in ("http", "https") or not parts.hostname or len(path) < 2 or parts.query:
            raise UsageError(
                f"[forge] url = {_shown(url)!r} is not the address of a repository. Write it as https://host/owner/repository."
            )
        if parts.username is not None or parts.password is not None:
            raise UsageError(
                "[forge] url holds a user or a password. Remove it; the token comes from the variable that "
                "[forge] token_env names."
            )
        root = "/".join([f"{parts.scheme}://{parts.netloc}", *path[:-2]])
        return cls(root, path[-2], path[-1].removesuffix(".git"))

    @property
    def git_url(self) -> str:
        return f"{self.url}.git"

    @property
    def url(self) -> str:
        return f"{self.root}/{quote(self.owner)}/{quote(self.repo)}"

    @property
    def api_path(self) -> str:
        return f"/repos/{quote(self.owner, safe='')}/{quote(self.repo, safe='')}"


def _shown(url: str) -> str:
    """Without what may be a secret."""
    before, _, after = url.rpartition("@")
    return f"…@{after}" if before else url
