"""What every page is given: the project, who looks, what they may do."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from damascus.app import App, Project
from damascus.people.acts import Actor
from damascus.web.callers import caller_of
from damascus.web.site_state import state_of


@dataclass(frozen=True)
class Look:
    """One request of somebody who may look."""

    app: App
    project: Project
    who: Actor | None
    may_act: bool
    csrf: str
    request: Request
    seq: int | None = None
    """The number of the latest event when the page was begun: what comes later is news to it."""
    notice: str = ""


def look(request: Request) -> Look:
    """The guard has let it pass: without a caller the path is open to everybody."""
    state, caller = state_of(request), caller_of(request.scope)
    return Look(
        state.app,
        state.project(),
        caller.who if caller else None,
        caller is not None and caller.may == "act",
        caller.csrf if caller else "",
        request,
        state.hub.last,
        state.notices.told(request.query_params.get("notice", "")),
    )


Looking = Annotated[Look, Depends(look)]
"""How a page asks for it: `def page(look: Looking) -> HTMLResponse`."""
