"""The one-time link: this browser is known from then on."""

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from damascus.web.refusals import refusal
from damascus.web.render import environment
from damascus.web.sessions import LASTS
from damascus.web.site_state import state_of

router = APIRouter()
USED = (
    "That link was used already, or is older than a day. For another one, where the window runs: damascus web --link"
)


@router.get("/enter/{secret}", include_in_schema=False)
def enter(request: Request, secret: str, to: str = "/") -> Response:
    """A page that leads on, not a redirect: a browser that came from elsewhere would not send the new cookie along."""
    sessions = state_of(request).sessions
    cookie = sessions.enter(secret)
    if cookie is None:
        return refusal(request.url.path, 403, USED)
    page = HTMLResponse(environment().get_template("entered.html").render(to=own_path(to)))
    page.set_cookie(sessions.cookie, cookie, max_age=LASTS, httponly=True, samesite="strict", secure=_by_tls(request))
    return page


def _by_tls(request: Request) -> bool:
    """A proxy's word; who lies only gets a cookie that is sent less often."""
    return request.headers.get("x-forwarded-proto", "") == "https"


def own_path(path: str) -> str:
    """A path of this window, else its first page."""
    plain = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() and "\\" not in path
    return path if plain else "/"
