"""/api/v1/events: the numbered history in pages, or as it happens."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from damascus.domain.storable import LARGEST_NUMBER
from damascus.people.given import NO_NUL
from damascus.people.history import history, published
from damascus.web.api.answers import ToldRoute, answered, refusals
from damascus.web.api.models import EventList
from damascus.web.looking import Looking

router = APIRouter(route_class=ToldRoute, tags=["events"])
MOST = 500
After = Annotated[int | None, Query(ge=0, lt=LARGEST_NUMBER, description="Only what comes after this number.")]
Of = Annotated[str | None, Query(max_length=200, pattern=NO_NUL, description="Only of this story.")]
Limit = Annotated[int, Query(ge=1, le=MOST, description="How many at most.")]


@router.get("/events", response_model=EventList, responses=refusals(404))
def list_events(look: Looking, after: After = None, story: Of = None, limit: Limit = 100) -> Response:
    """Events in order, after a number or the newest. Give `next` as `after` for what comes then."""
    past = history(look.app.database, look.project, story)
    page = past.page(after, limit)
    gone = past.gone_by_age(after, limit)
    told = {"events": [published(row) for row in page.rows], "next": page.following, "more": page.more, "gone": gone}
    return answered(look.request, EventList, told)
