"""How the API answers: JSON with an ETag, or problem+json with the sentence that the command line says."""

import hashlib
from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any

import psycopg
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from damascus.domain.errors import DamascusError, DatabaseUnreachable, GitError, NotThere, TransientError, UsageError
from damascus.people.bounded import masked
from damascus.people.bug_reports import saved_traceback
from damascus.system.masking import own_keys
from damascus.telling.json_text import compact
from damascus.telling.phrases import one_line
from damascus.web.api.models import Problem, Published

PROBLEM = "application/problem+json"
LONGEST_DETAIL = 2000
BUG = "This is a bug in Damascus. Its traceback is in the logs folder of the data folder."
REASONS = {
    400: "a word, a number or the body is wrong",
    401: "no token, or one that is unknown, expired or revoked",
    403: "the token may only read, or the window is read-only",
    404: "nothing of that name is there",
    409: "its state does not allow it any more",
    503: "the database does not answer",
}
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For the description: which problems a path may answer with, beside those that every one may."""
    told = {"content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    return {status: {"description": REASONS[status], **told} for status in sorted({400, 401, 503, *statuses})}


def answered(request: Request, schema: type[Published], value: Mapping[str, Any], status: int = 200) -> Response:
    """The value as its schema has it, keys masked; 304 where the client has it already."""
    return sent(request, schema.model_validate(masked(value, own_keys())).model_dump(mode="json"), status)


def sent(request: Request, value: Mapping[str, Any], status: int = 200) -> Response:
    """The value as it is."""
    body = compact(value).encode()
    if request.method not in ("GET", "HEAD"):
        return Response(body, status, media_type="application/json")
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if _has(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=headers)
    return Response(body, status, headers, "application/json")


def _has(told: str, tag: str) -> bool:
    known = [one.strip().removeprefix("W/") for one in told[:4096].split(",")]
    return tag in known or known == ["*"]


def problem(status: int, detail: str) -> Response:
    told = Problem(
        type="about:blank", title=HTTPStatus(status).phrase, status=status, detail=detail[:LONGEST_DETAIL]
    )  # fmt: skip
    return Response(compact(masked(told.model_dump(), own_keys())), status, media_type=PROBLEM)


class ToldRoute(APIRoute):
    """Whatever goes wrong behind it is a problem in one sentence; a bug of ours is kept in a file."""

    def get_route_handler(self) -> Handler:
        inner = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await inner(request)
            except (HTTPException, RequestValidationError) as err:
                return of_request(err)
            except Exception as err:
                return of_error(err)

        return handler


def of_request(err: HTTPException | RequestValidationError) -> Response:
    if isinstance(err, HTTPException):
        return problem(err.status_code, str(err.detail))
    first = err.errors()[0] if err.errors() else {}
    place = ".".join(str(part) for part in first.get("loc", ()))
    return problem(400, f"{one_line(place)}: {one_line(first.get('msg', 'wrong'))}. Nothing was done.")


def of_error(err: Exception) -> Response:
    """By kind: what is wrong with the words, what is not there, what the state forbids, what may be tried again."""
    status = next((code for kind, code in KINDS.items() if isinstance(err, kind)), 500)
    if status == 500:
        saved_traceback()
        return problem(500, BUG)
    return problem(status, one_line(str(err)))


KINDS: dict[type[Exception], int] = {
    NotThere: 404,
    DatabaseUnreachable: 503,
    UsageError: 400,
    DamascusError: 409,
    TransientError: 503,
    GitError: 503,
    psycopg.OperationalError: 503,
}
"""The first that fits."""
