"""What an agent may ask of the model gateway; all else is refused here.

So the bridge is no way out to anything else that a gateway offers: its administration, another host by an absolute
URL, a tunnel. Paths are compared to the letter.
"""

import re
from collections.abc import Iterator

import h11

from damascus.system.http_incoming import IncomingHttp, RequestRefused

MODEL_CALLS = frozenset({"/v1/messages", "/v1/chat/completions", "/v1/responses"})
PROBES = frozenset({"/", "/api/hello"})
METHODS = {
    **dict.fromkeys((*MODEL_CALLS, "/v1/messages/count_tokens"), ("POST",)),
    "/v1/models": ("GET", "HEAD"),
    "/api/hello": ("GET", "HEAD"),
    "/": ("HEAD",),
}
QUERY = re.compile(r"[\w\-.~!$&'()*+,;=:@/?%]*", re.ASCII)
BODY_LIMIT = 64 * 2**20


class ModelRequest:
    """One request of the agent's that may pass, its body read piece by piece as the gateway takes it."""

    def __init__(self, head: h11.Request, incoming: IncomingHttp) -> None:
        self.method, self.target = head.method.decode(), head.target.decode()
        self.route, _, query = self.target.partition("?")
        if self.method not in METHODS.get(self.route, ()) or not QUERY.fullmatch(query):
            raise RequestRefused(403, "only the model's API can be reached from here")
        self.headers = _plain(head)
        self._incoming = incoming
        self.length = int(told) if (told := self.headers.get("content-length")) else None
        _refuse_large(self.length or 0)

    def pieces(self) -> Iterator[bytes] | None:
        """None where nothing follows the head."""
        if self.length or "transfer-encoding" in self.headers:
            return self._counted()
        for _ in self._incoming.body():
            """There is none, and now h11 knows that, too."""
        return None

    def _counted(self) -> Iterator[bytes]:
        total = 0
        for piece in self._incoming.body():
            total += len(piece)
            _refuse_large(total)
            yield piece


def _plain(head: h11.Request) -> dict[str, str]:
    """By their names in small letters; of one that is told twice the first."""
    try:
        return {name.decode("ascii"): value.decode("ascii") for name, value in reversed(head.headers)}
    except UnicodeDecodeError:
        raise RequestRefused(400, "a header has other letters than ASCII's") from None


def _refuse_large(size: int) -> None:
    if size > BODY_LIMIT:
        raise RequestRefused(413, f"a request may have at most {BODY_LIMIT} bytes")
