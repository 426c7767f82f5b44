"""A real Chromium, from `make browser`: there, or a skip that says how to get it. On CI a skip fails (conftest)."""

from datetime import UTC, datetime

import pytest

from damascus.domain.config import parse_config
from damascus.domain.ports import AcceptedPicture, Pictures, ShownPicture
from damascus.gates.visual.needs import lacking

INSTALL = "make browser (Debian's chromium, as root), and .venv by make setup"


def need_browser() -> None:
    if why := lacking(parse_config("").visual):
        pytest.skip(f"{why}: {INSTALL}")


class RememberedPictures(Pictures):
    """As store/screenshots.py, for a gate alone: one story after the other, and `accept` is the person."""

    def __init__(self) -> None:
        self.shown: list[ShownPicture] = []
        self.known: dict[tuple[str, str], AcceptedPicture] = {}

    def accepted(self, story: str, page: str, viewport: str) -> list[AcceptedPicture]:
        found = self.known.get((page, viewport))
        return [found] if found else []

    def show(self, story: str, picture: ShownPicture) -> None:
        self.shown.append(picture)

    def accept(self) -> None:
        for one in self.shown:
            at = datetime(2026, 1, 2, tzinfo=UTC)
            self.known[one.page, one.viewport] = AcceptedPicture(one.png, "S-0", "ann", at, one.browser)
        self.shown = []
