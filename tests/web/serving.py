"""A real window of a yard, on a port of its own, and a program that asks it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from damascus.people import tokens
from damascus.people.acts import Actor
from damascus.web.options import Options
from damascus.web.server import Serving
from damascus.web.site import make_site
from tests.yard import Yard

ADA = Actor("Ada <ada@example.invalid>")


def token(yard: Yard, scope: str = "act", days: int | None = None) -> str:
    return tokens.new(yard.db, yard.project, scope, ADA, name="a test", days=days).token


@contextmanager
def window(yard: Yard, **options: Any) -> Iterator[str]:
    """Its address."""
    chosen = Options(port=0, **options)
    serving = Serving(make_site(yard.app, yard.project, chosen), chosen)
    try:
        yield serving.start()
    finally:
        serving.stop()


@contextmanager
def program(yard: Yard, scope: str = "act", **options: Any) -> Iterator[httpx.Client]:
    """A client of /api/v1 with a token."""
    with window(yard, **options) as url:
        headers = {"Authorization": f"Bearer {token(yard, scope)}"}
        with httpx.Client(base_url=f"{url}/api/v1", headers=headers, timeout=60, trust_env=False) as client:
            yield client
