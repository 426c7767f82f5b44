"""Config: every key, its value, whence it is and by which commit."""

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from damascus.people.settings_shown import settings_shown
from damascus.web.looking import Looking
from damascus.web.render import render

router = APIRouter(include_in_schema=False)


@router.get("/config")
def config(look: Looking) -> HTMLResponse:
    found = settings_shown(look.app, look.project)
    everything = look.request.query_params.get("all") == "1"
    tables = [(name, [key for key in keys if everything or key.source != "default"]) for name, keys in found.tables]
    return render("config.html", look, found=found, tables=[pair for pair in tables if pair[1]], everything=everything)
