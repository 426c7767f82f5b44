"""Events: the numbered stream, older and newer."""

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from damascus.domain.events import EventKind
from damascus.people.event_pages import events_page
from damascus.telling.events import cells
from damascus.web.looking import Looking
from damascus.web.pages.stories import address
from damascus.web.render import render

router = APIRouter(include_in_schema=False)
FILTERS = ("story", "kind")


@router.get("/events")
def events(look: Looking) -> HTMLResponse:
    asked = dict(look.request.query_params)
    found = events_page(look.app, look.project, asked)
    page = found.page
    return render(
        "events.html",
        look,
        found=found,
        rows=[(row, cells(row)[3]) for row in page.rows],
        kinds=sorted(EventKind),
        asked={name: asked.get(name, "") for name in FILTERS},
        live="before" not in asked and "after" not in asked,
        older=address(look, FILTERS, before=page.older) if page.older else "",
        newer=address(look, FILTERS, after=page.newer) if page.newer else "",
    )
