"""The stream that keeps a page true: in order, none twice, none lost over a restart; a page that is behind is told."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from damascus.domain.errors import DamascusError
from damascus.domain.events import EventKind
from damascus.store import stream
from damascus.store.db import Connection, Row
from damascus.store.journal import write_events
from damascus.web.live import Hub
from tests.waiting import LONG, eventually
from tests.web.browser_like import Visitor, served
from tests.yard import Yard, story


class Listener:
    """One EventSource, in a thread: the numbers that it has seen and what else it was told."""

    def __init__(self, visitor: Visitor, after: int) -> None:
        self.numbers: list[int] = []
        self.told: list[tuple[str, str]] = []
        self.status = 0
        self._visitor = visitor
        self._thread = threading.Thread(target=self._listen, args=(after,), daemon=True)
        self._thread.start()

    def _listen(self, after: int) -> None:
        cookies = dict(self._visitor.http.cookies)
        try:
            with httpx.stream(
                "GET", f"{self._visitor.serving.url}/live", headers={"Last-Event-ID": str(after)}, cookies=cookies,
                timeout=httpx.Timeout(10, read=LONG),
            ) as answer:  # fmt: skip
                self.status = answer.status_code
                self._read(answer.iter_lines())
        except httpx.HTTPError:
            return

    def _read(self, lines: Iterator[str]) -> None:
        seen: dict[str, str] = {}
        for line in lines:
            name, _, value = line.partition(": ")
            if line:
                seen[name] = value
            else:
                self._take(seen)
                seen = {}

    def _take(self, seen: dict[str, str]) -> None:
        if "id" in seen:
            self.numbers.append(int(seen["id"]))
        if "event" in seen:
            self.told.append((seen["event"], seen["data"]))

    def ended(self) -> None:
        self._thread.join(LONG)
        assert not self._thread.is_alive()


def happen(yard: Yard, count: int) -> list[int]:
    """So many events of S-1, numbered; their numbers."""
    item, before = yard.item("S-1")["id"], _last(yard)

    def work(c: Connection) -> None:
        write_events(c, yard.row.id, item, ((EventKind.ITEM_WAITS, {"kind": "ci", "message": "x"}),) * count)

    yard.db.run(work)
    stream.publish(yard.db)
    return list(range(before + 1, before + count + 1))


def _last(yard: Yard) -> int:
    stream.publish(yard.db)
    return int(yard.query("SELECT last_seq FROM stream")[0]["last_seq"])


@contextmanager
def visited(yard: Yard) -> Iterator[Visitor]:
    with served(yard) as serving:
        yield Visitor(serving).enter()


@pytest.mark.req("X12")
def test_a_browser_is_told_of_everything_once_over_a_restart(yard: Yard) -> None:
    yard.add(story("S-1"))
    start = _last(yard)
    with visited(yard) as first:
        listener = Listener(first, start)
        eventually(lambda: listener.status == 200, LONG)
        known = happen(yard, 30)
        eventually(lambda: listener.numbers == known, LONG, "what happened while it listens")
    listener.ended()  # the window ends: its streams do, too
    missed = happen(yard, 20)
    with visited(yard) as second:
        again = Listener(second, listener.numbers[-1])
        eventually(lambda: again.numbers == missed, LONG, "what happened while no window was there")
        later = happen(yard, 3)
        eventually(lambda: again.numbers == missed + later, LONG, "what happens now")
    again.ended()
    assert json.loads(again.told[0][1]) == {"kind": "item.waits", "story": "S-1"}


@pytest.mark.req("X12")
def test_who_has_everything_is_told_of_nothing_old(yard: Yard) -> None:
    yard.add(story("S-1"))
    happen(yard, 5)
    with visited(yard) as visitor:
        page = visitor.get("/").text
        eventually(lambda: f'data-seq="{_last(yard)}"' in visitor.get("/").text, LONG, "the page's own number")
        listener = Listener(visitor, _last(yard))
        eventually(lambda: listener.status == 200, LONG)
        new = happen(yard, 1)
        eventually(lambda: listener.numbers == new, LONG)
    assert 'id="moving" data-live' in page


@pytest.mark.req("X12")
@pytest.mark.parametrize("number", ["-1", "x", "9" * 40, "999999999999999999", ""])
def test_a_number_that_is_none_is_taken_for_now(yard: Yard, number: str) -> None:
    yard.add(story("S-1"))
    with visited(yard) as visitor:
        with visitor.http.stream("GET", "/live", headers={"Last-Event-ID": number}, params={"after": number}) as answer:
            assert answer.status_code == 200 and next(answer.iter_lines()) == "retry: 2000"


@pytest.mark.req("X12")
def test_many_browsers_need_one_connection(yard: Yard) -> None:
    yard.add(story("S-1"))
    start = _last(yard)

    def connections() -> int:
        query = "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database()"
        return int(yard.query(query)[0]["n"])

    with visited(yard) as visitor:
        visitor.get("/")
        before = connections()
        listeners = [Listener(visitor, start) for _ in range(20)]
        eventually(lambda: all(each.status == 200 for each in listeners), LONG)
        known = happen(yard, 10)
        eventually(lambda: all(each.numbers == known for each in listeners), LONG)
        assert connections() <= before + 1


@pytest.mark.req("X12")
def test_who_was_away_for_long_is_told_also_when_the_database_fails_once(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    yard.add(story("S-1"))
    start, missed = _last(yard), happen(yard, 2)
    failures, read = ["gone"], Hub._read

    def sometimes(hub: Hub, last: int) -> list[Row]:
        if failures:
            raise DamascusError(failures.pop())
        return read(hub, last)

    monkeypatch.setattr(Hub, "_read", sometimes)
    with visited(yard) as visitor:
        listener = Listener(visitor, start)
        eventually(lambda: listener.numbers == missed, LONG, "what happened meanwhile")
    assert not failures


@pytest.mark.req("X12")
def test_a_page_is_told_that_the_database_is_gone_and_that_it_is_back(yard: Yard) -> None:
    yard.add(story("S-1"))
    start = _last(yard)  # while nobody else numbers events
    with visited(yard) as visitor:
        hub = visitor.serving.hub
        listener = Listener(visitor, start)
        eventually(lambda: listener.status == 200, LONG)
        url = hub.db.url
        hub.db.url = "postgresql://nobody@127.0.0.1:1/nothing"
        yard.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
                   "AND pid <> pg_backend_pid()")  # fmt: skip
        eventually(lambda: any(kind == "behind" for kind, _ in listener.told), LONG, "that it is behind")
        refused = visitor.get("/")
        assert refused.status_code == 503 and "be reached" in refused.text
        hub.db.url = url
        missed = happen(yard, 2)
        eventually(lambda: any(kind == "current" for kind, _ in listener.told), LONG, "that it is current")
        eventually(lambda: listener.numbers == missed, LONG, "what happened meanwhile")
        assert visitor.get("/").status_code == 200
