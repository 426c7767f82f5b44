"""Who did what by the window or by a token, the latest first."""

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from damascus.people.audit import newest
from damascus.web.looking import Looking
from damascus.web.render import render

router = APIRouter(include_in_schema=False)


@router.get("/audit")
def audit(look: Looking) -> HTMLResponse:
    return render("audit.html", look, lines=newest(look.app.database, look.project))
