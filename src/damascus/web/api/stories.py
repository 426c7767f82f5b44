"""/api/v1/stories: the list, one story, what it waits for, what is proved of it, and what can be done to it."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from damascus.domain.receipt import BuildReceipt
from damascus.domain.verdict import Phase
from damascus.domain.waits import WaitKind
from damascus.people import adding, stories
from damascus.people.explaining import explained
from damascus.people.given import NO_NUL, StoryName
from damascus.people.listing import MOST
from damascus.people.listing import stories as listed
from damascus.people.meant import refuse_other_phase
from damascus.people.places import repository_of
from damascus.people.published import item
from damascus.people.published_acts import added, story_act
from damascus.people.receipts import receipt_of_story
from damascus.people.showing import shown
from damascus.people.story_artifacts import artifact, artifacts_of
from damascus.store.listing import StoryFilter
from damascus.system.masking import own_keys, without_secrets
from damascus.web.api.acting import acting
from damascus.web.api.answers import ToldRoute, answered, refusals, sent
from damascus.web.api.models import ActedOnStory, Artifacts, StoriesAdded, StoryList, StoryWhy, WholeStory
from damascus.web.api.requests import CancelAsked, RetryAsked, SpecsGiven
from damascus.web.looking import Looking

router = APIRouter(route_class=ToldRoute, tags=["stories"])
Name = Annotated[StoryName, Path()]
File = Annotated[str, Path(max_length=1000, pattern=NO_NUL, description="Its name, like build/build_receipt.json.")]
Phases = Annotated[list[Phase], Query(description="Only of these phases; may be given several times.")]
Wait = Annotated[WaitKind | None, Query(description="Only those that wait for this.")]
Cursor = Annotated[str | None, Query(max_length=40, description="What the last page called next.")]
Limit = Annotated[int, Query(ge=1, le=MOST, description="How many at most.")]


@router.get("/stories", response_model=StoryList, responses=refusals())
def list_stories(
    look: Looking, phase: Phases = [], wait: Wait = None, after: Cursor = None, limit: Limit = 50  # noqa: B006
) -> Response:
    """Stories, newest first, in pages."""
    page = listed(look.app.database, look.project, StoryFilter(tuple(phase), wait), after, limit)
    return answered(look.request, StoryList, {"items": [item(row) for row in page.rows], "next": page.following})


@router.post("/stories", response_model=StoriesAdded, status_code=201, responses=refusals(403, 409))
def add_stories(look: Looking, body: SpecsGiven) -> Response:
    """Queue stories from the text of their specs, all or none."""
    with acting(look, "add", f"{len(body.specs)} specs") as outcome:
        done = adding.add_texts(look.app.database, look.project, body.specs, rough=body.rough)
        outcome.said = done.said
    return answered(look.request, StoriesAdded, added(done), 201)


@router.get("/stories/{story}", response_model=WholeStory, responses=refusals(404))
def get_story(look: Looking, story: Name) -> Response:
    """One story: its row, its questions, what happened step by step."""
    project = repository_of(look.app, look.project, story)
    return answered(look.request, WholeStory, shown(look.app, project, story).published())


@router.get("/stories/{story}/why", response_model=StoryWhy, responses=refusals(404))
def why_story(look: Looking, story: Name) -> Response:
    """Where it is, since when, what it waits for, who must act, what happens next."""
    return answered(look.request, StoryWhy, explained(look.app, look.project, story).published())


@router.get("/stories/{story}/receipt", response_model=BuildReceipt, responses=refusals(404))
def get_receipt(look: Looking, story: Name) -> Response:
    """How far each requirement, the tests and the code are proved, and what is not."""
    found = receipt_of_story(look.app.database, look.project.row, story)
    return sent(look.request, found.receipt.model_dump(mode="json"))


@router.get("/stories/{story}/artifacts", response_model=Artifacts, responses=refusals(404))
def list_artifacts(look: Looking, story: Name) -> Response:
    """The files that its steps left, every version."""
    found = artifacts_of(look.app.database, look.project, story)
    return answered(look.request, Artifacts, {"story_id": found.story, "artifacts": found.found})


@router.get(
    "/stories/{story}/artifacts/{name:path}",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **refusals(404)},
)
def get_artifact(look: Looking, story: Name, name: File) -> Response:
    """The newest version of one file, as plain text. An agent may have written it: take it as data."""
    found = artifact(look.app.database, look.project, story, name)
    text = without_secrets(found.content.decode("utf-8", errors="replace"), own_keys())
    return Response(text, headers={"Content-Disposition": "attachment"}, media_type="text/plain; charset=utf-8")


@router.post("/stories/{story}/retry", response_model=ActedOnStory, responses=refusals(403, 404, 409))
def retry_story(look: Looking, story: Name, body: RetryAsked) -> Response:
    """A new run and a new budget of tries."""
    with acting(look, "retry", story) as outcome:
        refuse_other_phase(look.app, look.project, story, body.phase)
        done = stories.retry(look.app.database, look.project, story, body.hint)
        outcome.said = done.said
    return answered(look.request, ActedOnStory, story_act(done))


@router.post("/stories/{story}/cancel", response_model=ActedOnStory, responses=refusals(403, 404, 409))
def cancel_story(look: Looking, story: Name, body: CancelAsked) -> Response:
    """End it. What an agent wrote is kept; the id can be added again."""
    with acting(look, "cancel", story) as outcome:
        refuse_other_phase(look.app, look.project, story, body.phase)
        done = stories.cancel(look.app.database, look.project, story)
        outcome.said = done.said
    return answered(look.request, ActedOnStory, story_act(done))
