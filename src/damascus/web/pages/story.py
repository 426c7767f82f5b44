"""A story: why, evidence, what happened, what it changes, tries, transcripts, artifacts, cost, rescue."""

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from damascus.domain.errors import DamascusError
from damascus.people.places import repository_of
from damascus.people.story_page import story_page
from damascus.people.transcripts import logs_shown, one_log
from damascus.store import artifacts, views
from damascus.telling.phrases import size
from damascus.web.looking import Look, Looking
from damascus.web.refusals import RequestDenied
from damascus.web.render import render

router = APIRouter(include_in_schema=False)
MOST_TEXT = 200_000


@router.get("/stories/{story}")
def story(look: Looking, story: str) -> HTMLResponse:
    _known(look, story)
    project = repository_of(look.app, look.project, story)
    page = story_page(look.app, project, story)
    first, others = logs_shown(look.app, project, page.row)
    return render("story.html", look, page=page, row=page.row, logs=first, other_logs=others, size=size)


@router.get("/stories/{story}/artifacts/{name:path}")
def artifact(look: Looking, story: str, name: str, version: int = 0) -> HTMLResponse:
    row = _known(look, story)
    db = look.app.database
    found = artifacts.version_of(db, row.id, name, version) if version else artifacts.latest(db, row.id, name)
    if found is None:
        raise RequestDenied(404, f"{row.story_id} has left no such file.")
    text = found.content[:MOST_TEXT].decode("utf-8", errors="replace")
    left = max(len(found.content) - MOST_TEXT, 0)
    told = f"version {found.version}, by step {found.step} of run {found.run_no}"
    return render("text.html", look, story=row.story_id, name=found.name, told=told, text=text, left=left, digest=None)


@router.get("/stories/{story}/logs/{name:path}")
def log(look: Looking, story: str, name: str) -> HTMLResponse:
    row = _known(look, story)
    found = one_log(look.app, repository_of(look.app, look.project, story), row, name)
    assert found.digest is not None
    text = "\n".join(found.digest.lines)
    told = f"run {found.run}, {size(found.bytes)}" + (
        f", without its first {found.left_out:,} lines" * (found.left_out > 0)
    )
    return render(
        "text.html", look, story=row.story_id, name=found.name, told=told, text=text, left=0, digest=found.digest
    )


def _known(look: Look, story: str) -> views.StoryRow:
    try:
        return views.story_row(look.app.database, look.project.row, story)
    except DamascusError as err:
        raise RequestDenied(404, str(err)) from None
