"""/api/v1 of the project as a whole: the merge queue, the figures, the workers."""

from fastapi import APIRouter, Response

from damascus.people.merge_queues import merge_queues
from damascus.people.published import worker_info
from damascus.people.workers import living
from damascus.store import views
from damascus.store.stats import stats as figures
from damascus.web.api.answers import ToldRoute, answered, refusals
from damascus.web.api.models import Queues, Stats, Workers
from damascus.web.looking import Looking

router = APIRouter(route_class=ToldRoute, tags=["project"])


@router.get("/queue", response_model=Queues, responses=refusals())
def get_queue(look: Looking) -> Response:
    """The merge queue: who is in line, on top of whom each is tested, and how that goes."""
    return answered(look.request, Queues, {"queues": merge_queues(look.app.database, look.project)})


@router.get("/stats", response_model=Stats, responses=refusals())
def get_stats(look: Looking) -> Response:
    """Lead time, tries per story, verdicts, files most touched, flaky tests, cost."""
    return answered(look.request, Stats, figures(look.app.database, look.project.row))


@router.get("/workers", response_model=Workers, responses=refusals())
def get_workers(look: Looking) -> Response:
    """The processes that claim, on every host."""
    alive = living(look.app, views.workers(look.app.database, look.project.row))
    return answered(look.request, Workers, {"workers": [worker_info(worker) for worker in alive]})
