"""What an agent may ask of the model gateway; all else is refused here.

So the bridge is no way out to anything else that a gateway offers: its administration, another host by an absolute
URL, a tunnel. Paths are compared to the letter (the standard library reduces leading slashes to one, no more).
"""

import re
from collections.abc import Iterator
from email.message import Message
from io import BufferedIOBase

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
PIECE = 64 * 2**10


class Refused(Exception):
    """The agent's request is not passed on."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def refuse_other_paths(method: str, target: str) -> None:
    route, _, query = target.partition("?")
    if method not in METHODS.get(route, ()) or not QUERY.fullmatch(query):
        raise Refused(403, "only the model's API can be reached from here")


class Body:
    """The request's body, read piece by piece as the gateway takes it. `whole` once nothing of it is left to read."""

    def __init__(self, headers: Message, source: BufferedIOBase) -> None:
        self._source = source
        self.length = _length(headers)
        self._chunked = "transfer-encoding" in headers
        self.whole = not self._chunked and not self.length

    def pieces(self) -> Iterator[bytes] | None:
        return None if self.whole else self._read()

    def _read(self) -> Iterator[bytes]:
        yield from self._chunks() if self._chunked else self._plain(self.length or 0)
        self.whole = True

    def _plain(self, left: int) -> Iterator[bytes]:
        while left:
            piece = self._source.read1(min(left, PIECE))
            if not piece:
                raise ConnectionError("the agent broke off")
            left -= len(piece)
            yield piece

    def _chunks(self) -> Iterator[bytes]:
        total = 0
        while size := self._chunk_size():
            total += size
            _refuse_large(total)
            yield from self._plain(size)
            self._source.readline(8)
        while self._source.readline(PIECE).strip():
            """Trailers mean nothing here."""

    def _chunk_size(self) -> int:
        told = self._source.readline(1024).partition(b";")[0].strip()
        if not re.fullmatch(rb"[0-9a-fA-F]{1,8}", told):
            raise Refused(400, "the request's chunks can't be read")
        return int(told, 16)


def _length(headers: Message) -> int | None:
    told = headers.get_all("content-length", [])
    encodings = headers.get_all("transfer-encoding", [])
    if encodings and (told or [each.lower() for each in encodings] != ["chunked"]):
        raise Refused(400, "the request tells its length in two ways")
    if not told:
        return None
    if len(told) > 1 or not re.fullmatch(r"[0-9]{1,12}", told[0]):
        raise Refused(400, "the request's content-length is not a number")
    _refuse_large(int(told[0]))
    return int(told[0])


def _refuse_large(size: int) -> None:
    if size > BODY_LIMIT:
        raise Refused(413, f"a request may have at most {BODY_LIMIT} bytes")
