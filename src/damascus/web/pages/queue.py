"""Queue: the train, who comes next, who was sent back."""

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from damascus.people.train import trains
from damascus.telling import now as words
from damascus.telling.phrases import pull
from damascus.web.looking import Looking
from damascus.web.render import render

router = APIRouter(include_in_schema=False)


@router.get("/queue")
def queue(look: Looking) -> HTMLResponse:
    found = trains(look.app, look.project)
    behind = [(row, words.now(row), words.tries(row)) for row in found.behind]
    return render("queue.html", look, found=found, behind=behind, pull=pull)
