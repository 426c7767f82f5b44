"""The API for programs, below /api/v1 (docs/api.md): an application of its own, with its own description."""

from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException

from damascus import __version__
from damascus.web.api import events, inbox, project, stories
from damascus.web.api.answers import of_request
from damascus.web.api.models import Problem
from damascus.web.site_state import SiteState

PATH = "/api/v1"
ROUTERS = (stories.router, inbox.router, project.router, events.router)
ABOUT = (
    "Everything that the command line tells by --json, and what it does to stories. A token: damascus token new "
    "--scope read (or act), sent as Authorization: Bearer. Errors are application/problem+json; every GET has an ETag."
)


class PublicApi(FastAPI):
    """Its description says what is true: a wrong body is 400 here, as every wrong word is."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = _described(self)
        return self.openapi_schema


def make_api(state: SiteState) -> FastAPI:
    api = PublicApi(title="Damascus", version=__version__, docs_url=None, redoc_url=None)
    api.state.window = state
    for router in ROUTERS:
        api.include_router(router)
    api.add_exception_handler(HTTPException, _unrouted)
    return api


def _unrouted(request: Request, err: Exception) -> Response:
    assert isinstance(err, HTTPException)
    return of_request(err)


def _described(api: FastAPI) -> dict[str, Any]:
    made = get_openapi(
        title=api.title, version=api.version, description=ABOUT, routes=api.routes, servers=[{"url": PATH}]
    )  # fmt: skip
    parts = made["components"]
    parts["schemas"]["Problem"] = Problem.model_json_schema()
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    made["security"] = [{"token": []}]
    for path in made["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
    for name in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(name, None)
    return made
