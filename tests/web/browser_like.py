"""A window that is served, and somebody who looks into it over HTTP as a browser does."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from damascus.people.acts import Actor
from damascus.web.options import BROWSER, Options
from damascus.web.server import Serving
from damascus.web.site import make_site
from tests.yard import Yard

ADA = Actor("Ada <ada@example.invalid>", BROWSER)


class Visitor:
    """One browser: its cookies, its forms."""

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self.http = httpx.Client(base_url=serving.url, timeout=30)

    def enter(self) -> "Visitor":
        assert self.http.get(self.serving.one_time_link()).status_code == 200
        return self

    def get(self, path: str, **how: Any) -> httpx.Response:
        return self.http.get(path, **how)

    def csrf(self) -> str:
        """As every form of this browser's has it (test_window_acts.py looks)."""
        known = self.serving.sessions.known(next(iter(self.http.cookies.values())))
        assert known is not None
        return known.csrf

    def act(self, verb: str, headers: dict[str, str] | None = None, **fields: str) -> httpx.Response:
        sent = {"csrf": self.csrf(), **fields} if "csrf" not in fields else fields
        told = {"Origin": self.serving.url} | (headers or {})
        return self.http.post(f"/act/{verb}", data=sent, headers={k: v for k, v in told.items() if v})

    def notice(self, answer: httpx.Response) -> str:
        """What the page says after an act."""
        assert answer.status_code == 303, answer.text
        found = re.search(r'class="notice"[^>]*>(.*?)</p>', self.get(answer.headers["location"]).text, re.DOTALL)
        assert found, "nothing was told"
        return found[1]


@contextmanager
def served(yard: Yard, **options: Any) -> Iterator[Serving]:
    how = Options(**{"port": 0, "person": ADA, **options})
    serving = Serving(make_site(yard.app, yard.app.project(yard.repo), how), how)
    serving.start()
    try:
        yield serving
    finally:
        serving.stop()
