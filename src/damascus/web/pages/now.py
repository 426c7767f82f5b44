"""Now: what needs you, what moves, what waits for what."""

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from damascus.people import overview
from damascus.telling import now as words
from damascus.web.looking import Looking
from damascus.web.render import render

router = APIRouter(include_in_schema=False)


@router.get("/")
def now(look: Looking) -> HTMLResponse:
    snapshot = overview.look(look.app, look.project)
    rows = overview.goes_on_first(snapshot.rows)
    return render("now.html", look, rows=[(row, words.now(row), words.tries(row), words.since(row)) for row in rows])
