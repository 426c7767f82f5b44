"""Pictures of a candidate's pages: its server in one sandbox, a Chromium in another, a file of ours for each page."""

import json
import shlex
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from damascus.domain.config import VisualConfig
from damascus.domain.errors import DamascusError
from damascus.domain.ports import Candidate, EvidenceRunner, TestRun
from damascus.domain.storable import clean
from damascus.gates.served import Asker, run_server, why_not
from damascus.gates.visual.masks import selectors
from damascus.system.plain_file import read_plain

HERE = Path(__file__).parent
PAGE_SECONDS = 60.0
MOST = (4096, 8192)
"""Of a picture, in pixels. What lies beyond is not taken, and listed as not verified."""
LARGEST = 20_000_000
"""Bytes of one picture."""
REPORT_LIMIT = 1_000_000
STATIC = f'exec {shlex.quote(sys.executable)} -I -S -m http.server --bind 127.0.0.1 "$DAMASCUS_PORT"'
"""Serves the clean checkout where the project has no server of its own: no line of the project's is run for it."""


class PageReport(BaseModel):
    """What photographing.py says of a page. A hostile page may have taken its sandbox over: nothing is believed but
    the kinds of values."""

    problem: str = Field(default="", max_length=1000)
    mask: str = ""
    """A selector that is none."""
    covered: float = Field(default=0.0, ge=0, le=1)
    rested: bool = True
    foreign: list[str] = Field(default_factory=list, max_length=100)
    browser: str = Field(default="", max_length=100)
    width: int = 0
    height: int = 0


REPORT = TypeAdapter(list[PageReport])


@dataclass(frozen=True)
class Taken:
    """What came of one page: its picture, or why there is none."""

    page: str
    png: bytes = b""
    problem: str = ""
    unverified: list[str] = field(default_factory=list)
    covered: float = 0.0
    """The share of the page that selectors of `masks` hide."""
    browser: str = ""


class Photographs(Asker):
    """photographing.py, and what it left."""

    def __init__(self, config: VisualConfig, browser: str) -> None:
        super().__init__(config.seconds)
        self._config = config
        self._job = {
            "browser": browser,
            "pages": [address(page) for page in config.pages],
            "viewport": config.size,
            "hidden": selectors(config.masks),
            "page_seconds": min(PAGE_SECONDS, config.seconds),
            "most": MOST,
        }
        self._report: list[PageReport] = []
        self._pictures: list[bytes] = []

    def ask(self, own: Path, socket: Path) -> None:
        shutil.copyfile(HERE / "devtools.py", own / "devtools.py")
        (own / "job.json").write_text(json.dumps(self._job))
        self.run_asker(own, socket, HERE / "photographing.py")
        self._report = _read(own / "report.json")
        self._pictures = [read_plain(own / f"{n}.png", LARGEST) or b"" for n in range(len(self._config.pages))]

    def taken(self, why: str) -> list[Taken]:
        """`why`: of those that nothing is known of."""
        whole = len(self._report) == len(self._config.pages)
        told = self._report if whole else [PageReport(problem=why)] * len(self._config.pages)
        pictures = self._pictures if whole else [b""] * len(told)
        return [_taken(page, said, png) for page, said, png in zip(self._config.pages, told, pictures, strict=True)]


def take(runner: EvidenceRunner, candidate: Candidate, browser: str) -> tuple[list[Taken], TestRun]:
    config = candidate.config.visual
    photographs = Photographs(config, browser)
    run = run_server(runner, candidate, candidate.tree, config.serve or STATIC, photographs, label="visual-serve")
    return photographs.taken(why_not(photographs, run, "[visual] seconds") or "the browser came to no end"), run


def address(page: str) -> str:
    return page if page.startswith("/") else f"/{page}"


def _taken(page: str, said: PageReport, png: bytes) -> Taken:
    if said.mask:
        raise DamascusError(f"[visual] masks: {said.mask!r} is no CSS selector. Correct damascus.toml on main.")
    problem = said.problem or ("" if png else "the browser left no picture")
    if len(png) > LARGEST:
        problem = f"its picture has over {LARGEST:,} bytes"
    if problem:
        return Taken(page, problem=clean(problem))
    return Taken(page, png, "", _not_seen(page, said), said.covered, clean(said.browser))


def _not_seen(page: str, said: PageReport) -> list[str]:
    found = [f"visual: {page}: {clean(url, 300)} is not loaded, since there is no network" for url in said.foreign]
    if said.width > MOST[0] or said.height > MOST[1]:
        found.append(f"visual: {page}: it has {said.width}x{said.height} pixels, seen are {MOST[0]}x{MOST[1]}")
    if not said.rested:
        found.append(f"visual: {page}: it never came to rest")
    return found


def _read(path: Path) -> list[PageReport]:
    try:
        return REPORT.validate_json(read_plain(path, REPORT_LIMIT) or b"")
    except ValidationError:
        return []
