"""In front of everything: which host was asked for, who asks, whether a write was meant by a page of ours.

Nothing behind it is reached without a session or a token, but for what `OPEN` names. A browser's write needs three
things that another site cannot bring: the cookie (SameSite=Strict), an Origin that is this window, and the form's own
mark. Programs bring a token and no cookie.
"""

import hmac
import re
import traceback
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from anyio.to_thread import run_sync
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from damascus.people.acts import Actor
from damascus.people.bug_reports import saved_traceback
from damascus.web.callers import KEY, Caller
from damascus.web.options import BROWSER, LOOPBACKS, Options
from damascus.web.refusals import RequestDenied, refusal
from damascus.web.sessions import Sessions

OPEN = re.compile(r"/(static/[\w.-]+|enter/[\w-]+|healthz|readyz|icon\.svg)")
"""Paths that need nobody: nothing of a project is told there."""
READING = ("GET", "HEAD", "OPTIONS")
BY_ITSELF = ("/mcp",)
"""Paths that are written to in order to read; what may be done is asked where it is done."""
LARGEST = 2 * 2**20
MOST_BUGS = 20
LARGEST_FORM = 256 * 2**10
MOST_FIELDS = 50
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "object-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
KEPT_BY_BROWSERS = {"Cache-Control": "no-cache"}
"""Kept, and asked about each time."""
ENTER = (
    "This window opens with the link that was printed where it was started: it works once, and this browser is known "
    "from then on. For another link, where the window runs: damascus web --link"
)
ONE_THAT_ACTS = "One that may act: damascus token new --scope act"
Programs = Callable[[str], Caller | None]
"""Who presents a token: None for one that nobody knows, or that is over."""


class Guard:
    """ASGI, around the whole site."""

    def __init__(self, app: ASGIApp, options: Options, sessions: Sessions, programs: Programs) -> None:
        self.app = app
        self.options = options
        self.sessions = sessions
        self.programs = programs
        self._bugs: dict[str, Path] = {}
        named = (*LOOPBACKS, options.listen, *options.hosts)
        self.hosts = {f"[{name}]" if name.count(":") > 1 else host_only(name) for name in named}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        answer = _with_headers(send, HEADERS | (KEPT_BY_BROWSERS if scope["path"].startswith("/static/") else {}))
        try:
            receive = await self._admitted(scope, receive)
        except RequestDenied as err:
            await refusal(scope["path"], err.status, str(err))(scope, receive, answer)
            return
        await self._answered(scope, receive, answer)

    async def _answered(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What goes wrong inside is a bug of ours: told by its name, kept in a file, and the window goes on."""
        begun = False

        async def sent(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, sent)
        except Exception as err:
            told = self._bug(err)
            if not begun:
                await refusal(scope["path"], 500, told)(scope, receive, send)

    def _bug(self, err: Exception) -> str:
        """Each kept once: a page that looks again every second must not fill the disk."""
        kind = f"{type(err).__name__}: {traceback.extract_tb(err.__traceback__)[-1:]}"
        if kind not in self._bugs and len(self._bugs) < MOST_BUGS:
            self._bugs[kind] = saved_traceback()
        return f"This is a bug in Damascus: {type(err).__name__}. Details: {self._bugs.get(kind, 'not kept')}"

    async def _admitted(self, scope: Scope, receive: Receive) -> Receive:
        """The request as it may go on, its caller known."""
        headers = Headers(scope=scope)
        self._refuse_host(headers)
        _refuse_length(headers)
        if OPEN.fullmatch(scope["path"]) and scope["method"] in READING:
            return receive
        scope[KEY] = caller = await self._caller(scope, headers)
        if scope["method"] in READING:
            return _limited(receive, LARGEST)
        self._refuse_foreign(headers)
        if scope["path"].startswith(BY_ITSELF):
            return _limited(receive, LARGEST)
        self._refuse_write(caller)
        return await _from_our_form(headers, receive, caller) if caller.csrf else _limited(receive, LARGEST)

    def _refuse_host(self, headers: Headers) -> None:
        """A name of another site's that leads here (DNS rebinding) is not one of ours."""
        asked = headers.getlist("host")
        if len(asked) != 1 or host_only(asked[0]) not in self.hosts:
            raise RequestDenied(421, "This window does not answer to that name. Ask for the address that it printed.")

    async def _caller(self, scope: Scope, headers: Headers) -> Caller:
        where = str((scope.get("client") or ("unknown",))[0])
        presented = headers.get("authorization", "")
        if presented:
            scheme, _, token = presented.partition(" ")
            found = await run_sync(self.programs, token.strip()) if scheme.lower() == "bearer" else None
            if found is None:
                raise RequestDenied(401, "That token is unknown, expired or revoked. Make one: damascus token new")
            return Caller(found.who, "read" if self.options.read_only else found.may, "", where)
        session = self.sessions.known(_cookie(headers, self.sessions.cookie))
        if session is None:
            raise RequestDenied(401, ENTER)
        who = Actor(session.name, BROWSER) if session.name else self.options.person
        return Caller(who, "read" if self.options.read_only else "act", session.csrf, where)

    def _refuse_foreign(self, headers: Headers) -> None:
        """A browser says where a write comes from; a program has no such place."""
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != headers["host"].lower():
            raise RequestDenied(403, "That was sent by a page of another site. Nothing was done.")
        if origin is None and headers.get("cookie") and not headers.get("authorization"):
            raise RequestDenied(403, "That does not say which page it comes from. Nothing was done.")

    def _refuse_write(self, caller: Caller) -> None:
        if self.options.read_only:
            raise RequestDenied(403, "This window is read-only. Nothing was done. To act, use the command line.")
        if caller.may != "act":
            raise RequestDenied(403, f"That token may only read. Nothing was done. {ONE_THAT_ACTS}")


def host_only(name: str) -> str:
    """Without the port: another one may lead here (a tunnel), another name may not."""
    return re.sub(r":\d{1,5}$", "", name.strip().lower()) if not name.endswith("]") else name.lower()


def _cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")[:8192]).get(name)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _refuse_length(headers: Headers) -> None:
    told = headers.get("content-length", "0")
    if not told.isdecimal() or len(told) > 12 or int(told) > LARGEST:
        raise RequestDenied(413, "That is more than is taken at once. Nothing was done.")


def _limited(receive: Receive, most: int) -> Receive:
    """A body without a length told is counted as it comes."""
    got = 0

    async def counted() -> Message:
        nonlocal got
        message = await receive()
        got += len(message.get("body", b""))
        if got > most:
            return {"type": "http.disconnect"}
        return message

    return counted


async def _from_our_form(headers: Headers, receive: Receive, caller: Caller) -> Receive:
    """The whole body, read once; refused without the mark that only a page of ours has."""
    body = await _whole(receive)
    mark = headers.get("x-csrf", "")
    if not mark and headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        mark = fields_of(body).get("csrf", "")
    if not hmac.compare_digest(mark.encode(), caller.csrf.encode()):
        raise RequestDenied(403, "That form is too old, or not of this window. Nothing was done. Load the page again.")
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _whole(receive: Receive) -> bytes:
    """What is too much is read to its end where that is near: who is cut off in the middle hears no reason."""
    body, read = bytearray(), 0
    while True:
        message = await receive()
        part: bytes = message.get("body", b"")
        read += len(part)
        body += part if read <= LARGEST_FORM else b""
        ended = message["type"] == "http.disconnect" or not message.get("more_body")
        if read > LARGEST or (ended and read > LARGEST_FORM):
            raise RequestDenied(413, "That is more than is taken at once. Nothing was done.")
        if ended:
            return bytes(body)


def fields_of(body: bytes) -> dict[str, str]:
    """A form's fields, the last of a name; what is no form has none."""
    try:
        found = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except (UnicodeDecodeError, ValueError):
        return {}
    return {name: values[-1] for name, values in found.items()}


def _with_headers(send: Send, added: dict[str, str]) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in added.items():
                headers.setdefault(name, value)
        await send(message)

    return sent
