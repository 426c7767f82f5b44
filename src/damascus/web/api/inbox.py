"""/api/v1/inbox: the questions that only a person can answer, and their answers."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from damascus.domain.storable import LARGEST_NUMBER
from damascus.people import answering, questions
from damascus.people.published_acts import question_act
from damascus.web.api.acting import acting, caller_in
from damascus.web.api.answers import ToldRoute, answered, refusals
from damascus.web.api.models import Inbox, QuestionAnswered
from damascus.web.api.requests import AnswerGiven
from damascus.web.looking import Looking

router = APIRouter(route_class=ToldRoute, tags=["inbox"])
Number = Annotated[int, Path(ge=0, lt=LARGEST_NUMBER, description="The question's number.")]


@router.get("/inbox", response_model=Inbox, responses=refusals())
def list_inbox(look: Looking) -> Response:
    """The open questions, the most urgent first, each with its numbered answers and what they do."""
    found = questions.open_questions(look.app.database, look.project)
    return answered(look.request, Inbox, {"issues": [questions.published(issue) for issue in found]})


@router.post("/inbox/{number}/answer", response_model=QuestionAnswered, responses=refusals(403, 404, 409))
def answer_question(look: Looking, number: Number, body: AnswerGiven) -> Response:
    """As `damascus answer` takes it. One that was answered meanwhile is refused with 409."""
    with acting(look, "answer", str(number)) as outcome:
        asked = answering.question(look.app, look.project, number)
        done = answering.answer(look.app, asked, body.answer, caller_in(look).who)
        outcome.said = done.said
    return answered(look.request, QuestionAnswered, question_act(done))
