"""Calls of a forge's API: one address, one token, short limits, and each failure under the name of what is done
about it (failures.FailureKind).

A call is never repeated in here: whoever called looks first what it did. Redirects are not followed, they would take
the token along.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import httpx

from damascus.domain.errors import DamascusError, TransientError

PATIENCE = httpx.Timeout(connect=5.0, read=20.0, write=20.0, pool=20.0)
"""Well below a lease: whoever lost its item must not hang in a call for long."""
TRANSIENT = {408, 425, 429}
PAGE = 50
MOST_PAGES = 400
LARGEST = 20_000_000
LOOPBACK = ("localhost", "127.0.0.1", "::1")
RIGHTS = "Give the token that right (docs/forges.md)."


@dataclass(frozen=True)
class HttpAnswer:
    """What the forge said, with a status that the caller decides about."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    call: str

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", errors="replace")

    @property
    def json(self) -> Any:
        """Half an answer, or a proxy's page in its place, is trouble on the way."""
        try:
            return json.loads(self.body or b"null")
        except ValueError:
            raise TransientError(f"{self.call}: the answer is not JSON") from None

    @property
    def message(self) -> str:
        """The API's own sentence, else the beginning of what came."""
        try:
            told = self.json
        except TransientError:
            told = None
        if isinstance(told, dict) and isinstance(told.get("message"), str):
            return str(told["message"])
        return self.text.strip()[:300]

    def expected(self) -> "HttpAnswer":
        """Anything but success is an error for a person; 404 is a LookupError."""
        if self.status == 404:
            raise LookupError(f"{self.call}: {self.message or 'not found'}")
        if not self.ok:
            raise DamascusError(f"the forge answered {self.call} with {self.status}: {self.message}")
        return self


class Api:
    """One forge's API. `root` is the prefix of every path."""

    def __init__(self, root: str, token: Callable[[], str], headers: Mapping[str, str] | None = None) -> None:
        self.root = root.rstrip("/")
        self._token = token
        self._headers = dict(headers or {"Accept": "application/json"})

    @cached_property
    def _client(self) -> httpx.Client:
        """A forge on this very machine is never asked through a proxy."""
        here = (urlsplit(self.root).hostname or "") in LOOPBACK
        return httpx.Client(timeout=PATIENCE, headers=self._headers, follow_redirects=False, trust_env=not here)

    def close(self) -> None:
        if "_client" in self.__dict__:
            self._client.close()

    def call(
        self, method: str, path: str, *, json: object = None, params: Mapping[str, str | int] | None = None
    ) -> HttpAnswer:
        """The forge's answer. Raises for what no caller can decide: trouble on the way, and a right that is missing."""
        name, token = f"{method} {path}", self._token()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        query = {key: str(value) for key, value in (params or {}).items()}
        url = self.root + path
        try:
            with self._client.stream(method, url, json=json, params=query or None, headers=headers) as got:
                content = _end_of(got.iter_bytes())
        except (httpx.TransportError, httpx.DecodingError) as err:
            raise TransientError(f"{name} at {self.root}: {str(err) or type(err).__name__}") from None
        body = content.replace(token.encode(), b"***") if token else content
        answer = HttpAnswer(got.status_code, body, got.headers, name)
        self._refuse(answer)
        return answer

    def get(self, path: str, **params: str | int) -> Any:
        return self.call("GET", path, params=params).expected().json

    def find(self, path: str, **params: str | int) -> Any | None:
        """None where there is no such thing."""
        answer = self.call("GET", path, params=params)
        return None if answer.status == 404 else answer.expected().json

    def pages(self, path: str, key: str = "", size: str = "limit", **params: str | int) -> Iterator[Any]:
        """Every row of a list, page after page; `key` names the list in an object.

        `page` is always sent: there are forges that ignore the limit without it.
        """
        seen = 0
        for page in range(1, MOST_PAGES + 1):
            answer = self.call("GET", path, params={**params, "page": page, size: PAGE}).expected()
            told = answer.json
            rows = (told.get(key) if key else told) or []
            yield from rows
            seen += len(rows)
            if not rows or not _more(answer, told, seen, len(rows)):
                return

    def _refuse(self, answer: HttpAnswer) -> None:
        status, wait = answer.status, _wait(answer.headers)
        limited = status == 403 and (wait is not None or answer.headers.get("x-ratelimit-remaining") == "0")
        if status in TRANSIENT or status >= 500 or limited:
            raise TransientError(f"{answer.call}: {status} {answer.message}".strip(), wait=wait)
        if status == 401:
            raise DamascusError(f"the forge does not accept the token ({answer.message}). Make a new one.")
        if status == 403:
            raise DamascusError(f"the forge refused {answer.call}: {answer.message}. {RIGHTS}")
        if 300 <= status < 400 and status != 304:
            where = answer.headers.get("location", "elsewhere").partition("?")[0]
            raise DamascusError(f"{self.root} redirects to {where}. Correct [forge] url in damascus.toml.")


def _end_of(parts: Iterator[bytes]) -> bytes:
    """All of it; of a log without measure the end, where the failure is."""
    kept = bytearray()
    for part in parts:
        kept += part
        if len(kept) > 2 * LARGEST:
            del kept[:-LARGEST]
    return bytes(kept[-LARGEST:])


def _more(answer: HttpAnswer, told: object, seen: int, rows: int) -> bool:
    """Whether rows are left: by the total, by the link, else by a full page. A server may give less than asked for."""
    totals = [answer.headers.get("x-total-count"), told.get("total_count") if isinstance(told, dict) else None]
    known = [int(total) for total in map(str, totals) if total.isdigit()]
    if known:
        return seen < max(known)
    link = answer.headers.get("link")
    return 'rel="next"' in link if link is not None else rows >= PAGE


def _wait(headers: Mapping[str, str]) -> float | None:
    """Retry-After in seconds; a date is left to our own waiting."""
    text = headers.get("retry-after", "")
    return float(text) if text.isdigit() else None
