"""No request hides in another one: what two readers could take for different things is refused, and nothing goes out.

Every case carries `HIDDEN`, a call that would be answered with 200 if somebody took it for a request.
"""

import socket
from pathlib import Path

import pytest

from damascus.gateway.bridge import GatewayBridge, WayOut
from damascus.system import http_incoming
from damascus.system.http_incoming import IncomingHttp, RequestRefused
from tests.agents.bridged import KEY, MESSAGES
from tests.agents.upstream import Gateway

HIDDEN = b"POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"
LINE = b"POST /v1/messages HTTP/1.1\r\n"
HEAD = LINE + b"host: x\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
SIZE = b"%x" % len(HIDDEN)

HEADS = {
    "a length beside chunks": HEAD + b"content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks beside a length": HEAD + b"transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n",
    "two lengths": HEAD + b"content-length: 0\r\ncontent-length: 57\r\n\r\n",
    "one length twice": HEAD + b"content-length: 0\r\nContent-Length: 0\r\n\r\n",
    "a list of lengths": HEAD + b"content-length: 0, 0\r\n\r\n",
    "a list of two lengths": HEAD + b"content-length: 0, 57\r\n\r\n",
    "a length with a sign": HEAD + b"content-length: +0\r\n\r\n",
    "a negative length": HEAD + b"content-length: -1\r\n\r\n",
    "a length in hexadecimal": HEAD + b"content-length: 0x0\r\n\r\n",
    "a length with an underscore": HEAD + b"content-length: 1_0\r\n\r\n",
    "an empty length": HEAD + b"content-length:\r\n\r\n",
    "a length in other digits": HEAD + "content-length: \u0660\r\n\r\n".encode(),
    "a blank before the colon": HEAD + b"content-length : 57\r\n\r\n",
    "a tab before the colon": HEAD + b"transfer-encoding\t: chunked\r\n\r\n0\r\n\r\n",
    "a blank before the name": LINE + b" host: x\r\n\r\n",
    "two encodings": HEAD + b"transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n",
    "the same encoding twice": HEAD + b"transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "a list of encodings": HEAD + b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "an unknown encoding": HEAD + b"transfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
    "an encoding in quotes": HEAD + b'transfer-encoding: "chunked"\r\n\r\n0\r\n\r\n',
    "an encoding after a vertical tab": HEAD + b"transfer-encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": b"POST /v1/messages HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "a folded header": HEAD + b"x: y\r\n content-length: 57\r\n\r\n",
    "a header folded with a tab": HEAD + b"transfer-encoding:\r\n\tchunked\r\n\r\n0\r\n\r\n",
    "a bare LF between headers": HEAD + b"x: y\ncontent-length: 57\r\n\r\n",
    "a bare LF as the blank line": HEAD + b"x: y\r\n\n",
    "bare LFs only": b"POST /v1/messages HTTP/1.1\nhost: x\n\n",
    "a bare CR in a header": HEAD + b"x: y\rcontent-length: 57\r\n\r\n",
    "a bare CR in the request line": b"POST /v1/messages HTTP/1.1\rx: y\r\nhost: x\r\n\r\n",
    "a NUL in a header": HEAD + b"x: y\x00z\r\n\r\n",
    "no host": LINE + b"content-length: 0\r\n\r\n",
    "two hosts": HEAD + b"host: y\r\n\r\n",
    "a header without a name": HEAD + b": y\r\n\r\n",
    "a header without a colon": HEAD + b"chunked\r\n\r\n",
    "a name with a colon's look": HEAD + "content-length\uff1a 57\r\n\r\n".encode(),
    "a tab in the request line": b"POST\t/v1/messages HTTP/1.1\r\nhost: x\r\n\r\n",
    "two blanks in the request line": b"POST  /v1/messages HTTP/1.1\r\nhost: x\r\n\r\n",
    "a request line without a version": b"POST /v1/messages\r\nhost: x\r\n\r\n",
    "a letter that is not ASCII in the path": b"POST /v1/messages?a=\xe9 HTTP/1.1\r\nhost: x\r\n\r\n",
    "an empty line before the request": b"\r\n" + HEAD + b"\r\n",
}
FOREIGN = {"a letter that is not ASCII in a header": HEAD + b"x-app: \xe9\r\n\r\n"}
"""HTTP allows it; no agent needs it, and the gateway would not get it."""
VERSIONS = {name: b"POST /v1/messages %b\r\nhost: x\r\n\r\n" % name.encode() for name in ("HTTP/2.0", "HTTP/0.9")}
BODIES = {
    "a size with a sign": CHUNKED + b"+%b\r\n%b\r\n0\r\n\r\n" % (SIZE, HIDDEN),
    "a size with a prefix": CHUNKED + b"0x%b\r\n%b\r\n0\r\n\r\n" % (SIZE, HIDDEN),
    "a blank before the size": CHUNKED + b" %b\r\n%b\r\n0\r\n\r\n" % (SIZE, HIDDEN),
    "a size without end": CHUNKED + b"f" * 30 + b"\r\n" + HIDDEN,
    "a size that is none": CHUNKED + b"zz\r\n" + HIDDEN,
    "an empty size": CHUNKED + b"\r\n" + HIDDEN,
    "a size ended by a bare LF": CHUNKED + b"%b\n%b\r\n0\r\n\r\n" % (SIZE, HIDDEN),
    "a size ended by a bare CR": CHUNKED + b"%b\r%b\r\n0\r\n\r\n" % (SIZE, HIDDEN),
    "an extension that hides a line": CHUNKED + b"0;x=\n\r\n\r\n" + HIDDEN,
    "a chunk longer than told": CHUNKED + b"3\r\nabcd\r\n0\r\n\r\n" + HIDDEN,
    "a chunk not ended by CRLF": CHUNKED + b"3\r\nabc\n\n0\r\n\r\n" + HIDDEN,
    "a trailer ended by a bare LF": CHUNKED + b"0\r\nx: y\n\r\n" + HIDDEN,
    "a folded trailer": CHUNKED + b"0\r\nx: y\r\n z\r\n\r\n" + HIDDEN,
    "a trailer that is no header": CHUNKED + b"0\r\nPOST / HTTP/1.1\r\n\r\n" + HIDDEN,
    "a line without end": CHUNKED + b"1;" + b"x" * 200_000,
}


def said_to(way: WayOut, data: bytes) -> bytes:
    """All that comes back before the bridge ends the connection, which it must do by itself."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(20)
        line.connect(str(way.socket))
        try:
            line.sendall(data)
        except OSError:
            """It has heard enough."""
        got = b""
        try:
            while piece := line.recv(65536):
                got += piece
        except ConnectionResetError:
            """It left bytes unread."""
        return got


@pytest.mark.req("W9")
@pytest.mark.parametrize("name", [*HEADS, *FOREIGN])
def test_a_head_with_two_meanings_is_refused_and_nothing_behind_it_is_heard(tmp_path: Path, name: str) -> None:
    with Gateway() as gateway, GatewayBridge(gateway.url, KEY).open(tmp_path) as way:
        said = said_to(way, (HEADS | FOREIGN)[name] + HIDDEN)
        assert said.startswith(b"HTTP/1.1 400") and said.count(b"HTTP/1.1") == 1
        assert gateway.asked == []
        assert (way.facts().refused, way.facts().requests) == (1, 0)


@pytest.mark.req("W9")
@pytest.mark.parametrize("version", VERSIONS)
def test_another_version_is_not_spoken(tmp_path: Path, version: str) -> None:
    with Gateway() as gateway, GatewayBridge(gateway.url, KEY).open(tmp_path) as way:
        said = said_to(way, VERSIONS[version] + HIDDEN)
        assert said.startswith(b"HTTP/1.1 505") and said.count(b"HTTP/1.1") == 1
        assert gateway.asked == []


@pytest.mark.req("W9")
@pytest.mark.parametrize("name", BODIES)
def test_chunks_with_two_meanings_end_the_connection(tmp_path: Path, name: str) -> None:
    """The call was begun, as its head was good. What is wrong behind it ends it, and is no call of its own."""
    with Gateway() as gateway, GatewayBridge(gateway.url, KEY).open(tmp_path) as way:
        said = said_to(way, BODIES[name])
        assert said.count(b"HTTP/1.1") == 1 and said.startswith((b"HTTP/1.1 400", b"HTTP/1.1 431"))
        assert gateway.asked == []
        assert way.facts().refused == 1


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    ("head", "status"),
    [
        (LINE + b"host: x\r\n" + b"a: b\r\n" * 101 + b"\r\n", b"431"),
        (LINE + b"host: x\r\na: " + b"b" * 70_000 + b"\r\n\r\n", b"431"),
        (b"POST /" + b"a" * 70_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n", b"431"),
        (HEAD + b"content-length: 99999999999999999999\r\n\r\n", b"413"),
    ],
    ids=["many headers", "a long header", "a long line", "a long body"],
)
def test_what_is_too_large_is_refused_before_it_is_read(tmp_path: Path, head: bytes, status: bytes) -> None:
    with Gateway() as gateway, GatewayBridge(gateway.url, KEY).open(tmp_path) as way:
        said = said_to(way, head + HIDDEN)
        assert said.startswith(b"HTTP/1.1 " + status) and said.count(b"HTTP/1.1") == 1
        assert gateway.asked == []


@pytest.mark.req("W9")
def test_honest_requests_follow_each_other_on_one_connection(tmp_path: Path) -> None:
    """What is refused above is not refused for its neighbours: chunks, extensions, trailers, a body with such bytes."""
    honest = [
        CHUNKED + b"%b;name=value\r\n%b\r\n0\r\n\r\n" % (SIZE, HIDDEN),
        CHUNKED + b"%b\r\n%b\r\n0\r\nx-sum: 7\r\n\r\n" % (SIZE.upper(), HIDDEN),
        HEAD + b"content-length: %d\r\n\r\n%b" % (len(HIDDEN), HIDDEN),
        HEAD + b"Content-Length:4  \r\n\r\n\n\n\r\r",
        HEAD + b"x: content-length: 7\r\nx-content-length: 8\r\n\r\n",
    ]
    with Gateway() as gateway, GatewayBridge(gateway.url, KEY).open(tmp_path) as way:
        said = said_to(way, b"".join(honest) + HEAD + b"connection: close\r\n\r\n")
        assert said.count(b"HTTP/1.1 200") == 6
        assert [asked.target for asked in gateway.asked] == [MESSAGES] * 6
        assert [asked.body for asked in gateway.asked] == [HIDDEN, HIDDEN, HIDDEN, b"\n\n\r\r", b"", b""]
        assert way.facts().refused == 0


@pytest.mark.req("W9")
@pytest.mark.parametrize("data", [*HEADS.values(), *BODIES.values()], ids=[*HEADS, *BODIES])
def test_byte_by_byte_it_is_read_the_same(data: bytes) -> None:
    """However the bytes are cut on their way, the reader comes to the same end."""
    assert read_in(data + HIDDEN, 1, 20_000) == read_in(data + HIDDEN, http_incoming.PIECE, 20_000) != "a request"


def read_in(data: bytes, size: int, most: int) -> str:
    """What the first request in `data` came to, cut into pieces of `size`."""
    ours, theirs = socket.socketpair()
    data = data[:most]
    with ours, theirs:
        ours.settimeout(5)
        http = IncomingHttp(_Cut(ours, size))
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        try:
            if http.request() is None:
                return "nothing"
            for _ in http.body():
                """It is read to its end."""
        except RequestRefused as err:
            return str(err)
        except ConnectionError:
            return "broken off"
        return "a request"


class _Cut(socket.socket):
    """A connection that gives at most so many bytes at a time."""

    def __init__(self, whole: socket.socket, size: int) -> None:
        super().__init__(fileno=whole.detach())
        self._size = size

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        return super().recv(min(bufsize, self._size), flags)
