"""The site: every page mounted, the guard around it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files

from anyio import create_task_group
from anyio.to_thread import current_default_thread_limiter
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from damascus import __version__
from damascus.app import App, Project
from damascus.domain.errors import DamascusError, DatabaseUnreachable
from damascus.people import tokens
from damascus.people.acts import Actor
from damascus.web import acting, api, entering, health, icons, metrics, streaming
from damascus.web.callers import Caller
from damascus.web.extras import Extra, installed
from damascus.web.guard import Guard, Programs
from damascus.web.options import PROGRAM, Options
from damascus.web.pages import audit, config, events, fleet, graph, inbox, ledger, now, queue, stories, story
from damascus.web.refusals import RequestDenied, refusal
from damascus.web.site_state import SiteState

THREADS = 8
"""Requests that are worked at once; each thread has a connection of its own."""
ROUTERS: tuple[APIRouter, ...] = (
    entering.router,
    icons.router,
    health.router,
    metrics.router,
    streaming.router,
    acting.router,
    now.router,
    inbox.router,
    stories.router,
    story.router,
    queue.router,
    fleet.router,
    graph.router,
    ledger.router,
    events.router,
    config.router,
    audit.router,
)
"""Every page: a new one is a line here."""
PLAIN = {404: "There is no such page in this window.", 405: "That page is only for looking."}
EXTRAS = {"/mcp": ("mcp", "damascus.web.mcp_http")}
"""The package that each path needs, and the module that answers there."""


def make_site(app: App, project: Project, options: Options) -> FastAPI:
    state = SiteState(app, project, options)
    site = FastAPI(
        title="Damascus", version=__version__, docs_url=None, redoc_url=None, openapi_url=None, lifespan=_lifespan
    )
    site.state.window = state
    for router in ROUTERS:
        site.include_router(router)
    site.mount(api.PATH, api.make_api(state))
    extras = {path: Extra(module, state) for path, (package, module) in EXTRAS.items() if installed(package)}
    site.router.routes += [Route(path, endpoint=extra) for path, extra in extras.items()]
    site.state.extras = list(extras.values())
    site.mount("/static", StaticFiles(directory=str(files("damascus.web") / "static")), name="static")
    for kind in (DamascusError, RequestDenied, HTTPException, RequestValidationError):
        site.add_exception_handler(kind, _in_words)
    site.add_middleware(Guard, options=options, sessions=state.sessions, programs=_programs(state))
    return site


def _programs(state: SiteState) -> Programs:
    def known(presented: str) -> Caller | None:
        row = tokens.known(state.app.database, state.project(), presented)
        return Caller(Actor(f"{row.name} (token {row.id})", PROGRAM), row.scope) if row else None

    return known


@asynccontextmanager
async def _lifespan(site: FastAPI) -> AsyncIterator[None]:
    current_default_thread_limiter().total_tokens = THREADS
    state: SiteState = site.state.window
    state.hub.start()
    async with create_task_group() as extras:
        for extra in site.state.extras:
            extras.start_soon(extra.run)
        yield
        extras.cancel_scope.cancel()
    state.hub.end()


def _in_words(request: Request, err: Exception) -> Response:
    """What a person can cause, in its own words."""
    if isinstance(err, HTTPException):
        return refusal(request.url.path, err.status_code, PLAIN.get(err.status_code, str(err.detail)))
    if isinstance(err, RequestValidationError):
        return refusal(request.url.path, 422, "That address has a part that means nothing here.")
    if isinstance(err, RequestDenied):
        return refusal(request.url.path, err.status, str(err))
    return refusal(request.url.path, 503 if isinstance(err, DatabaseUnreachable) else 409, str(err))
