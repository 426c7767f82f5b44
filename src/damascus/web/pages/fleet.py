"""Fleet: hosts, workers, what they hold, what is in trouble."""

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from damascus.people.fleet import fleet as seen
from damascus.telling.phrases import size
from damascus.telling.phrases import worker as worker_told
from damascus.web.looking import Looking
from damascus.web.render import render

router = APIRouter(include_in_schema=False)


@router.get("/fleet")
def fleet(look: Looking) -> HTMLResponse:
    return render("fleet.html", look, fleet=seen(look.app, look.project), size=size, worker_told=worker_told)
