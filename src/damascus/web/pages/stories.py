"""Stories: a table with its filters in the address, changed last first."""

from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from damascus.domain.verdict import Phase, Verdict
from damascus.domain.waits import ItemState
from damascus.people.browsing import stories_page
from damascus.telling import now as words
from damascus.web.looking import Look, Looking
from damascus.web.render import render

router = APIRouter(include_in_schema=False)
FILTERS = ("q", "phase", "state", "verdict", "repo")


@router.get("/stories")
def stories(look: Looking) -> HTMLResponse:
    asked = dict(look.request.query_params)
    page = stories_page(look.app, look.project, asked)
    return render(
        "stories.html",
        look,
        page=page,
        asked={name: asked.get(name, "") for name in FILTERS},
        rows=[(row, words.now(row), words.tries(row)) for row in page.rows],
        choices={
            "phase": list(Phase),
            "state": list(ItemState),
            "verdict": [v for v in Verdict if v != Verdict.PASSED],
        },
        older=address(look, FILTERS, before=page.older) if page.older else "",
        first=address(look, FILTERS) if asked.get("before") else "",
    )


def address(look: Look, kept: tuple[str, ...], **more: object) -> str:
    """This page with the filters that it was asked for, and other values for the rest."""
    params = look.request.query_params
    given = {name: params[name] for name in kept if params.get(name)} | {k: str(v) for k, v in more.items()}
    return f"{look.request.url.path}?{urlencode(given)}" if given else look.request.url.path
