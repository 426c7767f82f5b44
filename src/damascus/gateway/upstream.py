"""From the bridge to the model gateway: the real key, the real host, and sockets that can be shut at any moment."""

import re
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import httpx

from damascus.domain.errors import UsageError

LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")
PATIENCE = httpx.Timeout(connect=10.0, read=600.0, write=60.0, pool=None)
"""Ten minutes without a byte is also the agents' own patience."""
ONE_WAY = httpx.Limits(max_connections=None, max_keepalive_connections=0)
"""A connection per call: a kept one that the gateway has closed meanwhile would be an error that is none."""
PASSED_ON = re.compile(
    r"accept|content-type|content-encoding|user-agent|originator|idempotency-key|x-app|x-client-request-id"
    r"|(session|conversation|thread)[_-]id|(anthropic|openai|x-stainless|x-claude|x-codex)-[\w-]+"
)
"""What an agent may say to the gateway. No credentials, no cookies, nothing that steers a proxy (x-litellm-…)."""


@dataclass(frozen=True)
class Gateway:
    """Where the model is, and the key for it; `bearer` says how it is shown, None: as the agent shows its own."""

    url: str
    key: str | None = field(default=None, repr=False)
    bearer: bool | None = None
    key_from: str = ""
    """The variable or file that holds the key, for people."""

    @classmethod
    def at(cls, url: str, key: str | None = None, bearer: bool | None = None, key_from: str = "") -> "Gateway":
        parts = urlsplit(url.strip())
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise UsageError(f"the model gateway {url!r} is no base URL. Write it like http://127.0.0.1:4000.")
        if parts.username or parts.password:
            raise UsageError("the model gateway's URL holds a password. Put the key into ANTHROPIC_API_KEY instead.")
        if key is not None and not re.fullmatch(r"[\x21-\x7e]+", key):
            raise UsageError("the key of the model gateway is empty or has blanks in it. Set it again.")
        base = f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/").removesuffix("/v1")
        return cls(base, key, bearer, key_from)

    @property
    def loopback(self) -> bool:
        return LOOPBACK.fullmatch(urlsplit(self.url).hostname or "") is not None

    @cached_property
    def tls(self) -> ssl.SSLContext:
        """Made once: reading all authorities takes longer than starting a step's bridge."""
        return httpx.create_ssl_context()

    def headers(self, call: "UpstreamCall") -> dict[str, str]:
        """The agent's harmless headers, and the real key in the place of its own."""
        passed = {name.lower(): value for name, value in call.headers.items() if PASSED_ON.fullmatch(name.lower())}
        passed |= {"accept-encoding": "identity", "connection": "close"}
        if call.length is not None:
            passed["content-length"] = str(call.length)
        if self.key is None or not call.keyed:
            return passed
        shown = {name.lower() for name in call.headers}
        bearer = self.bearer if self.bearer is not None else "authorization" in shown and "x-api-key" not in shown
        return passed | ({"authorization": f"Bearer {self.key}"} if bearer else {"x-api-key": self.key})


@dataclass(frozen=True)
class UpstreamCall:
    """One request of the agent's that may pass: `target` is path and query, `keyed` False for a mere probe."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: Iterator[bytes] | None = None
    length: int | None = None
    keyed: bool = True


class Upstream:
    """The calls of one step. `close` shuts every one of them, wherever it stands, and there will be no other."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._client = httpx.Client(
            verify=gateway.tls, timeout=PATIENCE, limits=ONE_WAY, trust_env=not gateway.loopback
        )
        self._client.headers.clear()
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._closed = False

    def send(self, call: UpstreamCall) -> AbstractContextManager[httpx.Response]:
        return self._client.stream(
            call.method,
            self._gateway.url + call.target,
            headers=self._gateway.headers(call),
            content=call.body,
            extensions={"trace": self._note},
        )

    def masked(self, text: bytes) -> bytes:
        """A gateway that repeats the key it refuses must not tell it to the agent."""
        return text.replace(self._gateway.key.encode(), b"***") if self._gateway.key else text

    def _note(self, event: str, info: Mapping[str, Any]) -> None:
        """Each socket as soon as it is there: a call that waits for its first byte must be shut, too."""
        if not event.endswith(("connect_tcp.complete", "start_tls.complete")):
            return
        found = info["return_value"].get_extra_info("socket")
        with self._lock:
            self._sockets = {each for each in self._sockets if each.fileno() >= 0} | {found}
            if self._closed:
                raise httpx.ConnectError("the step has ended")

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for each in self._sockets:
                with suppress(OSError):
                    socket.socket.shutdown(each, socket.SHUT_RDWR)  # SSLSocket's own would forget its reader

    def dispose(self) -> None:
        """When nobody uses it any more."""
        self._client.close()
