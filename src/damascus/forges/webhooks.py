"""Webhooks shorten a wait and decide nothing: a signed delivery names a commit, and whoever waits for it looks at once.

Polling by SHA stays the truth, so a delivery that is lost, forged, repeated or late changes no result. Of a signed body
only commit ids are read. One thread serves one sender at a time, each for a bounded time and size, and a commit is
woken at most once in `QUIET` seconds, so that a flood costs neither memory nor questions to the forge.
"""

import errno
import hmac
import json
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

import h11

from damascus.domain.config import ForgeConfig
from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.ids import SHA_PATTERN, Sha
from damascus.domain.ports import Log, NoLog
from damascus.system.http_incoming import IncomingHttp, RequestRefused

Wake = Callable[[Sha], object]

BODY_LIMIT = 5_000_000
SENDER_LIMIT = 5.0
"""Seconds that one sender has for its whole delivery; the next one waits meanwhile."""
QUIET = 5.0
MOST_REMEMBERED = 1000
POLL = 0.2
SELDOM = 60.0
"""Seconds between two lines of the log about what goes on failing."""
NO_CONTENT = 204
SIGNATURES = (("x-hub-signature-256", "sha256="), ("x-gitea-signature", ""), ("x-forgejo-signature", ""))
NAMED_BY = (
    ("after",),  # push
    ("sha",),  # status
    ("workflow_run", "head_sha"),
    ("workflow_job", "head_sha"),
    ("check_run", "head_sha"),
    ("check_suite", "head_sha"),
    ("pull_request", "head", "sha"),
    ("pull_request", "merge_commit_sha"),
)
"""Where a delivery says which commit it is about. Its event's name is in a header, which is not signed: not read."""


class WebhookReceiver:
    """A listener in a daemon thread of the worker."""

    def __init__(self, listener: "_Listener") -> None:
        self._listener = listener
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="webhooks", daemon=True)
        self._thread.start()

    @classmethod
    def start(
        cls, config: ForgeConfig, environ: Mapping[str, str], wake: Wake, log: Log | None = None
    ) -> "WebhookReceiver | None":
        """None where no port is set, or where another worker of this host has it: that one wakes for all."""
        if not config.webhook_port:
            return None
        secret = environ.get(config.webhook_secret_env, "").strip()
        if not secret:
            raise UsageError(
                f"[forge] webhook_port is {config.webhook_port}, but {config.webhook_secret_env} holds no secret to "
                "check the webhooks by. Put the webhook's secret into that variable, or set webhook_port = 0."
            )
        troubles = Troubles(log or NoLog())
        address = (config.webhook_host, config.webhook_port)
        try:
            return cls(_Listener(address, secret.encode(), Waker(troubles.watched(wake)), troubles))
        except OSError as err:
            if err.errno == errno.EADDRINUSE:
                return None
            where = f"{config.webhook_host} port {config.webhook_port}"
            raise DamascusError(
                f"webhooks can't be received on {where}: {err.strerror or err}. "
                "Correct [forge] webhook_host and webhook_port, or set webhook_port = 0."
            ) from None

    @property
    def port(self) -> int:
        port: int = self._listener.server_address[1]
        return port

    def stop(self) -> None:
        """Not later than its last sender; a database that is away holds up nobody."""
        self._stopped.set()
        self._thread.join(SENDER_LIMIT)
        self._listener.server_close()

    def _serve(self) -> None:
        """Whatever goes wrong is logged and tried again: nothing ends this thread but `stop`."""
        while not self._stopped.is_set():
            try:
                self._listener.handle_request()
                self._listener.waker.due()
            except Exception as err:
                self._listener.troubles.failed(err)
                self._stopped.wait(POLL)


class Troubles:
    """What keeps us from waking, in the worker's log: at once, then seldom while it goes on."""

    def __init__(self, log: Log, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._failures = 0
        self._logged = 0.0

    def failed(self, err: BaseException) -> None:
        self._failures += 1
        if self._failures > 1 and self._clock() - self._logged < SELDOM:
            return
        self._logged = self._clock()
        told = {"service": "webhooks", "failures": self._failures, "cause": f"{type(err).__name__}: {err}".rstrip(": ")}
        with suppress(Exception):  # a log that can't be written must not end what it tells of
            self._log.error("service failed", **told, exc_info=err)

    def watched(self, wake: Wake) -> Wake:
        """The same, and a commit that was woken says that the trouble is over."""

        def wake_one(commit: Sha) -> None:
            wake(commit)
            failures, self._failures = self._failures, 0
            if failures:
                with suppress(Exception):
                    self._log.info("service recovered", service="webhooks", failures=failures)

        return wake_one


class Waker:
    """Wakes a commit at once, and again no sooner than `QUIET` seconds later, however often it is named."""

    def __init__(self, wake: Wake, clock: Callable[[], float] = time.monotonic) -> None:
        self._wake = wake
        self._clock = clock
        self._woken: dict[Sha, float] = {}
        self._late: set[Sha] = set()

    def named(self, commits: Iterable[Sha]) -> None:
        for commit in commits:
            if self._clock() - self._woken.get(commit, -QUIET) < QUIET:
                self._late.add(commit)
            else:
                self._now(commit)

    def due(self) -> None:
        """Wake whoever was named again in the meantime."""
        now = self._clock()
        for commit in [commit for commit in self._late if now - self._woken.get(commit, -QUIET) >= QUIET]:
            self._now(commit)

    def _now(self, commit: Sha) -> None:
        """Should it fail, it is late and comes again."""
        self._late.add(commit)
        self._woken.pop(commit, None)
        self._woken[commit] = self._clock()
        while len(self._woken) > MOST_REMEMBERED:
            self._woken.pop(next(iter(self._woken)))
        self._wake(commit)
        self._late.discard(commit)


def commits_of(body: bytes) -> list[Sha]:
    """Every commit that a delivery names; none if it is not JSON or about something else."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return []
    found = [_at(told, path) for path in NAMED_BY]
    return [Sha(text) for text in dict.fromkeys(found) if isinstance(text, str) and SHA_PATTERN.fullmatch(text)]


def _at(told: object, path: tuple[str, ...]) -> str | None:
    for name in path:
        told = told.get(name) if isinstance(told, dict) else None
    return told if isinstance(told, str) else None


def signed(body: bytes, headers: Mapping[str, str], secret: bytes) -> bool:
    """Whether one of the forges' signature headers (by its name in small letters) is the HMAC-SHA256 of this body."""
    wanted = hmac.new(secret, body, "sha256").hexdigest().encode()
    given = [(headers.get(name) or "", prefix) for name, prefix in SIGNATURES]
    return any(
        hmac.compare_digest(text.removeprefix(prefix).encode(errors="replace"), wanted)
        for text, prefix in given
        if text.startswith(prefix)
    )


class _Delivery(socketserver.BaseRequestHandler):
    """One sender, one request, then the connection is closed. A stranger's header or body has no place in a log."""

    server: "_Listener"
    request: socket.socket

    def handle(self) -> None:
        http = IncomingHttp(self.request, time.monotonic() + SENDER_LIMIT)
        try:
            head = http.request()
            if head is None:
                return
            status = self._taken(head, http)
        except RequestRefused as err:
            status = err.status
        self.request.settimeout(SENDER_LIMIT)
        length = [] if status == NO_CONTENT else [("content-length", "0")]
        http.send(h11.Response(status_code=status, headers=[*length, ("connection", "close")]))
        http.send(h11.EndOfMessage())

    def _taken(self, head: h11.Request, http: IncomingHttp) -> int:
        headers = {name.decode(): value.decode("latin-1") for name, value in reversed(head.headers)}
        if head.method != b"POST":
            return 501
        if "content-length" not in headers:
            return 411
        if int(headers["content-length"]) > BODY_LIMIT:
            return 413
        body = b"".join(http.body())
        if not signed(body, headers, self.server.secret):
            return 403
        try:
            self.server.waker.named(commits_of(body))
        except Exception as err:  # whatever keeps us from waking: it is tried again, and polled for anyway
            self.server.troubles.failed(err)
            return 503
        return NO_CONTENT


class _Listener(socketserver.TCPServer):
    """Not HTTPServer: that one asks the network for our own name."""

    allow_reuse_address = True
    request_queue_size = 64
    timeout = POLL

    def __init__(self, address: tuple[str, int], secret: bytes, waker: "Waker", troubles: Troubles) -> None:
        self.secret = secret
        self.waker = waker
        self.troubles = troubles
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Delivery)

    def handle_error(self, request: object, client_address: object) -> None:
        """A sender that broke off is nobody's trouble; all else is a fault of ours."""
        err = sys.exc_info()[1]
        if err is not None and not isinstance(err, OSError):
            self.troubles.failed(err)
