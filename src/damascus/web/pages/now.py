"""Now: what needs you, what moves, the train, what waits for what, what was caught."""

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from damascus.people.moment import moment
from damascus.people.standing import standing
from damascus.web.looking import Looking
from damascus.web.render import render

router = APIRouter(include_in_schema=False)


@router.get("/")
def now(look: Looking) -> HTMLResponse:
    strip = standing(look.app, look.project)
    return render("now.html", look, strip=strip, now=moment(look.app, look.project, list(strip.workers)))
