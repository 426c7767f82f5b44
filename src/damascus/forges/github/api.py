"""GitHub's REST API: its address, its version, its limits and the ways in which it says no.

Documented at docs.github.com/rest. The version is pinned in a header, so that an answer keeps its shape. GitHub tells
a rate limit by 403 as well as by 429, and a log by a redirect to another host, which must not see the token.
"""

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from damascus.domain.errors import DamascusError, TransientError
from damascus.forges.address import Address
from damascus.forges.http import LOOPBACK, PATIENCE, RIGHTS, Api, HttpAnswer

VERSION = "2022-11-28"
HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": VERSION, "User-Agent": "damascus"}
SECONDARY_LIMIT = 60.0
"""What GitHub asks to wait at least where it does not say how long."""
LOG_LIMIT = 50_000_000
"""Of a longer log the end is kept."""


def api_host(address: Address) -> str:
    """github.com has a host for its API, a GitHub of one's own (Enterprise Server) a path."""
    github = urlsplit(address.root).hostname in ("github.com", "www.github.com")
    return "https://api.github.com" if github else f"{address.root}/api/v3"


def api_root(address: Address) -> str:
    return api_host(address) + address.api_path


class Forbidden(DamascusError):
    """403 that is no rate limit; `said` is GitHub's own sentence."""

    def __init__(self, answer: HttpAnswer) -> None:
        self.said = answer.message
        needed = answer.headers.get("x-accepted-github-permissions")
        named = f" It needs {needed.replace(';', ' or')}." if needed else ""
        super().__init__(f"GitHub refused {answer.call}: {self.said.rstrip('.')}.{named} {RIGHTS}")


class GithubApi(Api):
    """The API of one repository: every path is below it."""

    def __init__(self, address: Address, token: Callable[[], str]) -> None:
        super().__init__(api_root(address), token, HEADERS)
        self.address = address

    def rows(self, path: str, key: str = "", **params: str | int) -> list[Any]:
        return list(self.pages(path, key, "per_page", **params))

    def login(self) -> str:
        """Whose token it is; "" for one that has no user."""
        whole = GithubApi(self.address, self._token)
        whole.root = api_host(self.address)
        try:
            return str(whole.get("/user")["login"])
        except Forbidden:
            return ""
        finally:
            whole.close()

    def log(self, path: str) -> str:
        """A log lies on another host, at an address that holds for a minute; "" where it is gone."""
        answer = self.call("GET", path)
        if answer.status in (404, 410):
            return ""
        where = answer.headers.get("location", "") if answer.status == 302 else ""
        if not where:
            return answer.expected().text
        if urlsplit(where).scheme not in ("https", urlsplit(self.root).scheme):
            raise DamascusError(f"GitHub redirects to {where.partition('?')[0]} for a log: no log is read without TLS.")
        return _without_token(where)

    def _refuse(self, answer: HttpAnswer) -> None:
        wait = limited_for(answer)
        if wait is not None:
            raise TransientError(f"{answer.call}: GitHub's rate limit: {answer.message}", wait=wait)
        if answer.status == 403:
            raise Forbidden(answer)
        if answer.status == 422 and "No commit found" in answer.message:
            raise LookupError(f"{answer.call}: {answer.message}")
        if answer.status != 302:
            super()._refuse(answer)


def limited_for(answer: HttpAnswer) -> float | None:
    """Seconds until GitHub may be asked again; None where the answer is no rate limit."""
    if answer.status not in (403, 429):
        return None
    told, reset = answer.headers.get("retry-after", ""), answer.headers.get("x-ratelimit-reset", "")
    if told.isdigit():
        return float(told)
    if answer.headers.get("x-ratelimit-remaining") == "0" and reset.isdigit():
        return max(1.0, float(reset) - _now_there(answer))
    return SECONDARY_LIMIT if answer.status == 429 or "rate limit" in answer.message.lower() else None


def _now_there(answer: HttpAnswer) -> float:
    """By GitHub's clock: ours may be wrong by minutes."""
    try:
        return parsedate_to_datetime(answer.headers.get("date", "")).timestamp()
    except ValueError:
        return datetime.now(UTC).timestamp()


def _without_token(url: str) -> str:
    here = urlsplit(url).hostname in LOOPBACK
    kept: deque[bytes] = deque()
    size = 0
    try:
        with httpx.stream("GET", url, timeout=PATIENCE, follow_redirects=False, trust_env=not here) as answer:
            if answer.status_code in (404, 410):
                return ""
            if answer.status_code != 200:
                raise TransientError(f"the log's host answered {answer.status_code}")
            for piece in answer.iter_bytes():
                kept.append(piece)
                size += len(piece)
                while size - len(kept[0]) > LOG_LIMIT:
                    size -= len(kept.popleft())
    except httpx.TransportError as err:
        raise TransientError(f"the log of a job: {str(err) or type(err).__name__}") from None
    return b"".join(kept).decode("utf-8", errors="replace")
