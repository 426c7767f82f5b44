"""HTTP/1.1 as others send it to us: h11 reads every line, header and chunk; no code of ours does.

h11 is lenient where a second reader could take the same bytes for something else (RFC 9112 lets it be). What an honest
client never sends is refused here, so that nobody can hide a request in another one's body: a line that ends without
CRLF, a header folded over lines, a length told twice, a length beside chunks, chunks in HTTP/1.0.
"""

import re
import socket
import time
from collections.abc import Iterator

import h11

PIECE = 64 * 2**10
HEAD_LIMIT = 64 * 2**10
"""Bytes of a request's line and headers together, of a chunk's line, of trailers."""
MOST_HEADERS = 100
VERSIONS = (b"1.0", b"1.1")
LOOSE = re.compile(rb"(?<!\r)\n|\r(?!\n)|\n[ \t]")
LENGTHS = re.compile(rb"^content-length:(.*)$", re.IGNORECASE | re.MULTILINE)
TOO_LARGE = 431


class RequestRefused(Exception):
    """What was sent is not acted upon; `status` says why in HTTP's own way."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class IncomingHttp:
    """One connection that somebody opened to us: a request, its body piece by piece, our answer, perhaps the next.

    Whatever arrives later than `until` (monotonic seconds) is a TimeoutError, however slowly it drips.
    """

    def __init__(self, connection: socket.socket, until: float | None = None) -> None:
        self._connection = connection
        self._until = until
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_LIMIT)

    def request(self) -> h11.Request | None:
        """The next one's head; None when the other side has ended."""
        event = self._event()
        if isinstance(event, h11.Request):
            _refuse_two_meanings(event)
            return event
        return None

    def body(self) -> Iterator[bytes]:
        """The request's body as it comes. Trailers mean nothing here."""
        if self._http.they_are_waiting_for_100_continue:
            self.send(h11.InformationalResponse(status_code=100, headers=[]))
        while isinstance(event := self._event(), h11.Data):
            yield bytes(event.data)

    def send(self, event: h11.InformationalResponse | h11.Response | h11.Data | h11.EndOfMessage) -> None:
        self._connection.sendall(self._http.send(event))

    @property
    def begun(self) -> bool:
        """The head of the answer is sent: what goes wrong now can only break it off."""
        return self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE)

    def goes_on(self) -> bool:
        """May another request follow? Only where both sides have said all of this one."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    def _event(self) -> object:
        """The next thing that h11 has read whole, from bytes that can be read in one way only."""
        while True:
            held = self._http.trailing_data[0]
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as err:
                raise self._unreadable(err) from None
            if event is not h11.NEED_DATA:
                if isinstance(event, (h11.Request, h11.EndOfMessage)):
                    _refuse_loose(held[: len(held) - len(self._http.trailing_data[0])])
                return event
            self._http.receive_data(self._received())

    def _received(self) -> bytes:
        if self._until is not None:
            left = self._until - time.monotonic()
            if left <= 0:
                raise TimeoutError("the sender is too slow")
            self._connection.settimeout(left)
        return self._connection.recv(PIECE)

    def _unreadable(self, err: h11.RemoteProtocolError) -> Exception:
        """h11's own words may hold a header, so they stay here."""
        if self._http.trailing_data[1]:
            return ConnectionError("the other side broke off")
        if err.error_status_hint == TOO_LARGE:
            return RequestRefused(TOO_LARGE, "the request's head is too large")
        return RequestRefused(400, "this is not an HTTP request that can be read")


def _refuse_loose(read: bytes) -> None:
    """`read` are the very bytes that h11 took for a head, or for trailers."""
    if len(read) > HEAD_LIMIT:
        raise RequestRefused(TOO_LARGE, "the request's head is too large")
    if LOOSE.search(read):
        raise RequestRefused(400, "a line of the request's head does not end as HTTP wants it")
    lengths = LENGTHS.findall(read)
    if len(lengths) > 1 or any(b"," in each for each in lengths):
        raise RequestRefused(400, "the request tells its length more than once")


def _refuse_two_meanings(request: h11.Request) -> None:
    names = {name for name, _ in request.headers}
    if request.http_version not in VERSIONS:
        raise RequestRefused(505, "this version of HTTP is not spoken here")
    if len(request.headers) > MOST_HEADERS:
        raise RequestRefused(TOO_LARGE, f"a request may have at most {MOST_HEADERS} headers")
    if b"transfer-encoding" in names and (b"content-length" in names or request.http_version != b"1.1"):
        raise RequestRefused(400, "the request tells its length in two ways")
