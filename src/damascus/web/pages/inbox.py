"""Inbox: the questions that only a person can answer, the most urgent first, each with what its answers do."""

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from damascus.people.questions import open_questions
from damascus.telling import inbox as wording
from damascus.web.looking import Looking
from damascus.web.render import render

router = APIRouter(include_in_schema=False)


@router.get("/inbox")
def inbox(look: Looking) -> HTMLResponse:
    found = open_questions(look.app.database, look.project)
    return render("inbox.html", look, questions=[wording.told(issue) for issue in found])
