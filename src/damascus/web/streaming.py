"""GET /live: the stream of one browser."""

from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from starlette.responses import StreamingResponse

from damascus.web.live import Hub, as_message
from damascus.web.site_state import state_of

router = APIRouter(include_in_schema=False)
LONG_AGO = 10_000
"""Events: a page that missed more than these asks for itself anew in any case, and needs none of them."""
MOST_DIGITS = 18


@router.get("/live")
async def live(request: Request, after: str = "") -> StreamingResponse:
    """From the number that the browser has: `Last-Event-ID`, or the page's own before its first event."""
    hub = state_of(request).hub
    had = _number(request.headers.get("last-event-id", "")) or _number(after)
    return StreamingResponse(_messages(hub, _recent(hub, had)), media_type="text/event-stream")


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else None


def _recent(hub: Hub, had: int | None) -> int | None:
    return had if had is None or hub.last is None else max(min(had, hub.last), hub.last - LONG_AGO)


async def _messages(hub: Hub, after: int | None) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n: here\n\n"
    async for told in hub.subscribe(after):
        yield as_message(told)
