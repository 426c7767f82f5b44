"""/healthz: this process answers. /readyz: the database does, too. For whoever restarts or routes; nothing else is
told, since nobody has to say who they are here."""

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse

from damascus.domain.errors import DamascusError
from damascus.web.site_state import state_of

router = APIRouter(include_in_schema=False)
NOT_READY = "The database does not answer. Look at it: damascus db status"


@router.get("/healthz")
def alive() -> PlainTextResponse:
    return PlainTextResponse("ok\n")


@router.get("/readyz")
def ready(request: Request) -> PlainTextResponse:
    try:
        state_of(request).app.database.run(lambda c: c.execute("SELECT 1"), single=True)
    except DamascusError:
        return PlainTextResponse(f"{NOT_READY}\n", 503)
    return PlainTextResponse("ok\n")
