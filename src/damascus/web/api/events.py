"""/api/v1/events: the numbered history in pages, or as it happens."""

from collections.abc import AsyncIterator
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Header, Query, Response
from starlette.responses import StreamingResponse

from damascus.domain.storable import LARGEST_NUMBER
from damascus.people.bounded import masked
from damascus.people.given import NO_NUL
from damascus.people.history import History, history, published
from damascus.store.db import Row
from damascus.system.masking import own_keys
from damascus.telling.json_text import compact
from damascus.web.api.answers import ToldRoute, answered, refusals
from damascus.web.api.models import EventList
from damascus.web.live import Behind, Hub
from damascus.web.looking import Look, Looking
from damascus.web.site_state import state_of

router = APIRouter(route_class=ToldRoute, tags=["events"])
MOST = 500
STREAM = "text/event-stream"
After = Annotated[int | None, Query(ge=0, lt=LARGEST_NUMBER, description="Only what comes after this number.")]
Of = Annotated[str | None, Query(max_length=200, pattern=NO_NUL, description="Only of this story.")]
Limit = Annotated[int, Query(ge=1, le=MOST, description="How many at most; a stream has no end.")]
Last = Annotated[int | None, Header(alias="Last-Event-ID", ge=0, lt=LARGEST_NUMBER, include_in_schema=False)]


@router.get("/events", response_model=EventList, responses=refusals(404))
async def list_events(
    look: Looking, after: After = None, story: Of = None, limit: Limit = 100, last: Last = None
) -> Response:
    """Events in order, after a number or the newest. Give `next` as `after` for what comes then. With Accept:
    text/event-stream each event as it happens."""
    past = await run_sync(history, look.app.database, look.project, story)
    if STREAM in look.request.headers.get("accept", ""):
        begins = last if last is not None else after
        return StreamingResponse(_stream(state_of(look.request).hub, past, begins), media_type=STREAM)
    return await run_sync(_page, look, past, after, limit)


def _page(look: Look, past: History, after: int | None, limit: int) -> Response:
    page = past.page(after, limit)
    gone = past.gone_by_age(after, limit)
    told = {"events": [published(row) for row in page.rows], "next": page.following, "more": page.more, "gone": gone}
    return answered(look.request, EventList, told)


async def _stream(hub: Hub, past: History, after: int | None) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n: here\n\n"
    async for told in hub.subscribe(after):
        if told is None:
            yield b": nothing new\n\n"
        elif isinstance(told, Behind):
            yield f"event: behind\ndata: {compact({'since': told.since, 'why': told.why})}\n\n".encode()
        elif past.item in (None, told["item_id"]):
            yield _message(told)


def _message(row: Row) -> bytes:
    """JSON has no line break in it, so it is one line of data whatever an agent wrote."""
    data = compact(masked(published(row), own_keys()))
    return f"id: {row['seq']}\nevent: {row['kind']}\ndata: {data}\n\n".encode()
