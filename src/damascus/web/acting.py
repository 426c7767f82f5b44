"""POST /act/VERB: asked once more where it can't be undone, done, written down, and told on the page it came from.

A form is all that it takes: no script. GET of the same address shows what will be asked, for a link.
"""

from typing import Annotated
from urllib.parse import parse_qsl, urlencode, urlsplit

from fastapi import APIRouter, Depends, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from damascus.domain.errors import DamascusError
from damascus.people.audit import audited
from damascus.web.acts import ACTS, Act, Fields
from damascus.web.callers import caller_of
from damascus.web.entering import own_path
from damascus.web.guard import fields_of
from damascus.web.looking import Look, Looking
from damascus.web.refusals import RequestDenied
from damascus.web.render import render
from damascus.web.site_state import state_of

router = APIRouter(include_in_schema=False)
LONGEST = 20_000
SURE = "sure"
OURS = ("csrf", "back", SURE)


async def _form(request: Request) -> dict[str, str]:
    return {name: text[:LONGEST] for name, text in fields_of(await request.body()).items()}


@router.post("/act/{verb}")
def act(look: Looking, verb: str, fields: Annotated[dict[str, str], Depends(_form)]) -> Response:
    found = _known(verb)
    try:
        asked = found.asks(look, fields) if fields.get(SURE) != "yes" else None
        if asked is not None:
            return _asking(look, verb, fields, asked)
        return _back(look, fields, _done(look, verb, found, fields))
    except DamascusError as err:
        return render("conflict.html", look, 409, sentence=str(err), back=own_path(fields.get("back", "/")))


@router.get("/act/{verb}")
def before(look: Looking, verb: str) -> Response:
    """What would be asked; nothing is done by looking."""
    fields = {name: text[:LONGEST] for name, text in look.request.query_params.items()}
    asked = _known(verb).asks(look, fields)
    if asked is None:
        return RedirectResponse(own_path(fields.get("back", "/")), 303)
    return _asking(look, verb, fields, asked)


def _known(verb: str) -> Act:
    found = ACTS.get(verb)
    if found is None:
        raise RequestDenied(404, "There is nothing of that name to do.")
    return found


def _asking(look: Look, verb: str, fields: Fields, asked: object) -> HTMLResponse:
    kept = {name: text for name, text in fields.items() if name not in OURS}
    back = own_path(fields.get("back", "/"))
    return render("asked.html", look, verb=verb, asked=asked, fields=kept, back=back)


def _done(look: Look, verb: str, found: Act, fields: Fields) -> str:
    """In words, with what to do next."""
    caller = caller_of(look.request.scope)
    assert caller is not None
    target = fields.get("story") or fields.get("question") or fields.get("repo") or look.project.row.name
    with audited(look.app.database, look.project, caller.who, (verb, target), caller.where) as outcome:
        done = found.do(look, fields)
        outcome.said = done.said
    return f"{done.said} Next: {done.following}"


def _back(look: Look, fields: Fields, said: str) -> RedirectResponse:
    """To the page that it came from, which shows what was done once."""
    parts = urlsplit(own_path(fields.get("back", "/")))
    kept = [(name, text) for name, text in parse_qsl(parts.query) if name != "notice"]
    notice = state_of(look.request).notices.keep(said)
    return RedirectResponse(f"{parts.path}?{urlencode([*kept, ('notice', notice)])}", 303)
