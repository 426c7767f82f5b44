"""What the guard refuses: one sentence, as a page for people and as problem+json for programs."""

import json
from http import HTTPStatus

from starlette.responses import Response

from damascus.web.render import environment

FOR_PROGRAMS = ("/api/", "/metrics", "/mcp", "/live", "/healthz", "/readyz")


class RequestDenied(Exception):
    """Nothing was done; `status` says why in HTTP's own way, the sentence in ours."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def refusal(path: str, status: int, sentence: str) -> Response:
    title = HTTPStatus(status).phrase
    if path.startswith(FOR_PROGRAMS):
        body = {"type": "about:blank", "title": title, "status": status, "detail": sentence}
        return Response(json.dumps(body), status, media_type="application/problem+json")
    page = environment().get_template("refused.html").render(title=title, status=status, sentence=sentence)
    return Response(page, status, media_type="text/html; charset=utf-8")
