"""Live: one thread follows the stream of events, any number of browsers are told, none misses one.

A browser says the last number that it has (`Last-Event-ID`); what came since is read from memory, or from the database
where that is too long ago. The page then asks for itself anew: nothing about stories is computed in the browser.
"""

import asyncio
import json
import threading
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime

import psycopg
from anyio.to_thread import run_sync

from damascus.domain.errors import DamascusError
from damascus.store import stream
from damascus.store.db import Database, Row

KEPT = 5000
"""Events in memory: a browser that was away for longer asks the database."""
SOON = 0.2
"""Seconds between two looks while somebody watches; nobody may be there to number what was written."""
SELDOM = 5.0
TOGETHER = 0.05
"""Seconds in which what happens is told together."""
AGAIN = 1.0
BEAT = 15.0


@dataclass(frozen=True)
class Behind:
    """Since when the stream can't be followed, and why."""

    since: datetime
    why: str


CURRENT = Behind(datetime.max, "")
"""The stream is followed again."""
Told = Row | Behind | None
"""An event, that the stream can't be followed at present or can again, or a beat: nothing has happened lately."""


class Hub:
    """Of one project. All but following, which is a thread of its own, belongs to the event loop."""

    def __init__(self, db: Database, project: int) -> None:
        self.db = db
        self.project = project
        self.last: int | None = None
        """The number of the latest event that was heard, of whatever project; None until the stream was found."""
        self.behind: Behind | None = None
        self._recent: deque[Row] = deque(maxlen=KEPT)
        self._floor = 0
        """Up to this number memory has gaps."""
        self._news = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watchers = 0
        self._heard: list[Row] = []
        self._coming = False
        self._guard = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="live", daemon=True)

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def end(self) -> None:
        """Every subscription ends; the thread within one look."""
        self._ended.set()
        self._tell()

    async def subscribe(self, after: int | None = None) -> AsyncIterator[Told]:
        """Every event of the project after that number (None: from now on), in order; it ends with the hub."""
        last: int | None = after
        said: Behind | None = None
        self._watchers += 1
        try:
            while not self._ended.is_set():
                news, behind, known = self._news, self.behind, self.last
                last = known if last is None else last
                if behind is not said:
                    yield behind or CURRENT
                said = behind
                found = await self._since(last, known) if last is not None and known is not None else []
                if found is None:
                    await asyncio.sleep(AGAIN)
                    continue
                for row in found:
                    yield row
                last = found[-1]["seq"] if found else max(last or 0, known) if known is not None else last
                if not found and not await _within(news, BEAT):
                    yield None
        finally:
            self._watchers -= 1

    async def _since(self, last: int, known: int) -> list[Row] | None:
        """None: the database can't be asked at this moment."""
        if last >= known:
            return []
        if last >= self._floor:
            return [row for row in self._recent if row["seq"] > last]
        try:
            return await run_sync(self._read, last)
        except (DamascusError, psycopg.Error):
            return None

    def _read(self, last: int) -> list[Row]:
        """The project's next ones from the database, passing over what is others'."""
        while True:
            rows = self.db.all("view_stream", after=last, limit=stream.BATCH)
            mine = [row for row in rows if row["project_id"] == self.project]
            if mine or len(rows) < stream.BATCH:
                return mine
            last = rows[-1]["seq"]

    def _wake(self) -> None:
        """In the loop: what was heard is known now, and whoever waits looks."""
        with self._guard:
            heard, self._heard, self._coming = self._heard, [], False
        for row in heard:
            if row["project_id"] == self.project:
                self._floor = self._recent[0]["seq"] if len(self._recent) == KEPT else self._floor
                self._recent.append(row)
            self.last = row["seq"]
        news, self._news = self._news, asyncio.Event()
        news.set()

    # ── the thread ────────────────────────────────────────────────────────────────────────────────────

    def _follow(self) -> None:
        after: int | None = None
        while not self._ended.is_set():
            try:
                if after is None:
                    self._floor = self.last = after = stream.tail(self.db, self.project, None, 0)
                for row in stream.follow(self.db, after, self._patience, until=self._ended.is_set):
                    after = row["seq"]
                    self._tell(row)
            except (DamascusError, psycopg.Error) as err:
                self.behind = self.behind or Behind(datetime.now(UTC), str(err))
                self._tell()
                self._ended.wait(AGAIN)

    def _patience(self) -> float:
        """Asked after each look that succeeded."""
        if self.behind is not None:
            self.behind = None
            self._tell()
        return SOON if self._watchers else SELDOM

    def _tell(self, row: Row | None = None) -> None:
        """What happens within a moment is told together."""
        with self._guard:
            self._heard += [row] if row is not None else []
            if self._coming or self._loop is None or self._loop.is_closed():
                return
            self._coming = True
        self._loop.call_soon_threadsafe(self._loop.call_later, 0 if self._ended.is_set() else TOGETHER, self._wake)


async def _within(news: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(news.wait(), seconds)
    except TimeoutError:
        return False
    return True


def as_message(told: Told) -> bytes:
    """As an EventSource takes it. A page needs to know that something happened, not what."""
    if told is None:
        return b": nothing new\n\n"
    if told is CURRENT:
        return b"event: current\ndata: {}\n\n"
    if isinstance(told, Behind):
        state = json.dumps({"since": told.since.isoformat(), "why": told.why})
        return f"event: behind\ndata: {state}\n\n".encode()
    data = json.dumps({"kind": told["kind"], "story": told["story_id"]})
    return f"id: {told['seq']}\nevent: change\ndata: {data}\n\n".encode()
