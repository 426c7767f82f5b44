"""The numbered stream: many write and commit out of order, one numbers, others follow; none missed, none twice."""

import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

import psycopg
import pytest

from damascus.store import stream
from damascus.store.db import Database
from tests.databases import empty_database
from tests.store.lane import Lane
from tests.waiting import eventually

WRITE = (
    "SELECT write_events(%s, NULL, jsonb_build_array(jsonb_build_array("
    "'repo.released', jsonb_build_object('repo', %s::int))))"
)
PUBLISHER = """
import sys
from damascus.store.db import Database
from damascus.store.stream import publish
db = Database(sys.argv[1])
print("publishes", flush=True)
while True:
    publish(db)
"""
Session = psycopg.Connection[Any]


@pytest.fixture
def lane(db: Database) -> Lane:
    return Lane(db)


def session(lane: Lane) -> Session:
    return psycopg.connect(lane.db.url, connect_timeout=10)


def write(c: Session, lane: Lane, n: int) -> None:
    c.execute(WRITE.encode(), (lane.project.id, n))


def wrote(lane: Lane, *numbers: int) -> None:
    for n in numbers:
        with session(lane) as c:
            write(c, lane, n)


def read(lane: Lane, after: int = 0) -> list[tuple[int, int]]:
    """(number, what the event says), as a follower finds them."""
    return [(row["seq"], row["body"]["repo"]) for row in lane.db.all("view_stream", after=after, limit=100_000)]


@pytest.mark.req("X11")
def test_what_commits_late_gets_a_later_number(lane: Lane) -> None:
    with session(lane) as slow:
        write(slow, lane, 1)
        wrote(lane, 2, 3)
        assert stream.publish(lane.db) == 2
        assert read(lane) == [(1, 2), (2, 3)]
        slow.commit()
    wrote(lane, 4)
    assert stream.publish(lane.db) == 2
    assert read(lane) == [(1, 2), (2, 3), (3, 1), (4, 4)]


@pytest.mark.req("X11")
def test_what_was_rolled_back_leaves_no_gap(lane: Lane) -> None:
    with session(lane) as c:
        write(c, lane, 1)
        c.rollback()
    wrote(lane, 2)
    assert stream.publish(lane.db) == 1
    assert read(lane) == [(1, 2)]
    assert stream.publish(lane.db) == 0


@pytest.mark.req("X11", "W16")
def test_open_transactions_stall_nobody(lane: Lane) -> None:
    """⚑ Neither one here that writes other things, nor one in another database of the cluster, nor one of an event."""
    with empty_database() as url, psycopg.connect(url) as other, session(lane) as here, session(lane) as slow:
        other.execute("CREATE TABLE t (id int)")
        here.execute("UPDATE projects SET name = name")
        write(slow, lane, 1)
        wrote(lane, 2)
        assert stream.publish(lane.db) == 1
        assert read(lane) == [(1, 2)]
        slow.commit()
        assert stream.publish(lane.db) == 1
        settled = lane.query("SELECT settled, mark FROM stream")
        assert settled == [{"settled": 2, "mark": 2}], "the two others were waited for"


@pytest.mark.req("X11")
def test_the_publisher_looks_back_no_further_than_the_oldest_writer(lane: Lane) -> None:
    with session(lane) as slow:
        write(slow, lane, 0)
        wrote(lane, *range(1, 6))
        stream.publish(lane.db)
        stream.publish(lane.db)
        assert lane.query("SELECT settled FROM stream") == [{"settled": 0}], "its event may still come"
    with session(lane) as next_one:
        write(next_one, lane, 6)
        stream.publish(lane.db)
        assert lane.query("SELECT settled FROM stream") == [{"settled": 6}], "of the mark, though somebody writes again"
    stream.publish(lane.db)
    assert lane.query("SELECT settled FROM stream") == [{"settled": 7}]
    assert [n for _, n in read(lane)] == [1, 2, 3, 4, 5, 0, 6]


@pytest.mark.req("X11")
def test_a_publisher_that_dies_inside_its_transaction_has_numbered_nothing(lane: Lane) -> None:
    wrote(lane, 1, 2)
    dying = session(lane)
    dying.execute("SELECT publish_events(100)")
    assert stream.publish(lane.db) == 0, "one at a time"
    lane.query("SELECT pg_terminate_backend(%s)", dying.info.backend_pid)
    eventually(lambda: stream.publish(lane.db) == 2, 10, "the lock of the dead one to be free")
    dying.close()
    assert read(lane) == [(1, 1), (2, 2)]


@pytest.mark.req("X11")
def test_listeners_are_woken_once_for_many_events(lane: Lane) -> None:
    with psycopg.connect(lane.db.url, autocommit=True) as ear:
        ear.execute(f"LISTEN {stream.CHANNEL}".encode())
        wrote(lane, *range(30))
        assert list(ear.notifies(timeout=0.1)) == [], "a writer wakes nobody: that would cost all writers"
        assert stream.publish(lane.db) == 30
        assert stream.publish(lane.db) == 0
        assert len(list(ear.notifies(timeout=0.3))) == 1


@pytest.mark.req("X11")
def test_a_long_past_is_numbered_in_pieces(lane: Lane) -> None:
    wrote(lane, 0)
    lane.execute(
        "INSERT INTO events_outbox (project_id, kind, body) SELECT %s, 'repo.released', jsonb_build_object('repo', n)"
        " FROM generate_series(1, %s) n", lane.project.id, 3 * stream.BATCH,
    )  # fmt: skip
    assert stream.publish(lane.db) == 3 * stream.BATCH + 1
    assert read(lane) == [(n + 1, n) for n in range(3 * stream.BATCH + 1)]
    assert [row["seq"] for row in islice(stream.follow(lane.db, 0), 3001)] == list(range(1, 3002))


@pytest.mark.req("X11")
def test_writers_of_events_pay_nothing(lane: Lane) -> None:
    """No trigger but the foreign keys' own, and no index beside the key, the one that `show` reads by, and partial
    ones of the few events by which attempts in a row are counted, and which tell what was caught."""
    indexes = lane.query("SELECT indexname AS name FROM pg_indexes WHERE tablename = 'events_outbox' ORDER BY 1")
    known = ["events_of_ends", "events_of_item", "events_of_rejections", "events_outbox_pkey"]
    assert [row["name"] for row in indexes] == known
    triggers = "SELECT 1 FROM pg_trigger WHERE tgrelid = 'events_outbox'::regclass AND NOT tgisinternal"
    assert lane.query(triggers) == []


@pytest.mark.req("X11")
def test_a_follower_publishes_itself_where_nobody_else_does(lane: Lane) -> None:
    wrote(lane, 7)
    [row] = islice(stream.follow(lane.db, 0, poll=0.05), 1)
    assert (row["seq"], row["body"], row["kind"]) == (1, {"repo": 7}, "repo.released")


@pytest.mark.req("X11")
def test_a_follower_goes_on_after_a_lost_connection(lane: Lane) -> None:
    follower = stream.follow(Database(lane.db.url, patience=20), 0, poll=0.2)
    wrote(lane, 1)
    assert next(follower)["body"] == {"repo": 1}
    lane.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid()"
    )
    wrote(lane, 2)
    assert next(follower)["body"] == {"repo": 2}


# ── all at once ───────────────────────────────────────────────────────────────────────────────────────


class Writers:
    """Threads that write one to three events a transaction, keep several transactions open at once, end them in any
    order, some by a rollback."""

    def __init__(self, lane: Lane, threads: int, transactions: int) -> None:
        self.lane = lane
        self.committed: set[int] = set()
        self.threads = [threading.Thread(target=self._write, args=(n, transactions)) for n in range(threads)]

    def run(self) -> None:
        for thread in self.threads:
            thread.start()
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()

    def _write(self, thread: int, transactions: int) -> None:
        chance = random.Random(thread)
        open_ones: list[tuple[Session, list[int]]] = []
        idle = [session(self.lane) for _ in range(3)]
        for n in range(transactions):
            c, numbers = idle.pop(), [thread * 1_000_000 + n * 10 + i for i in range(chance.randint(1, 3))]
            for number in numbers:
                write(c, self.lane, number)
            open_ones.append((c, numbers))
            if not idle:
                idle.append(self._end(chance, open_ones.pop(chance.randrange(3))))
        for each in open_ones:
            self._end(chance, each).close()

    def _end(self, chance: random.Random, ending: tuple[Session, list[int]]) -> Session:
        c, numbers = ending
        if chance.random() < 0.1:
            c.rollback()
        else:
            c.commit()
            self.committed |= set(numbers)
        return c


def publishers_that_die(lane: Lane, end: threading.Event) -> Iterator[int]:
    """One after the other is started and killed, wherever it is."""
    while not end.is_set():
        process = subprocess.Popen(
            [sys.executable, "-c", PUBLISHER, lane.db.url], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdout is not None
        process.stdout.readline()
        before = lane.query("SELECT last_seq FROM stream")[0]["last_seq"]
        with process:
            eventually(partial(_numbered_since, lane, before, end), 20, "more numbers")
            process.send_signal(signal.SIGKILL)
        yield 1


def _numbered_since(lane: Lane, before: int, end: threading.Event) -> bool:
    return end.is_set() or bool(lane.query("SELECT 1 FROM stream WHERE last_seq > %s", before))


@pytest.mark.req("X11", "D20")
def test_followers_see_every_event_once_and_in_order(lane: Lane) -> None:
    """Eight writers with three transactions each, two followers, publishers that are killed."""
    writers, end = Writers(lane, 8, 60), threading.Event()
    seen: list[list[tuple[int, int]]] = [[], []]

    def follow(into: list[tuple[int, int]]) -> None:
        for row in stream.follow(Database(lane.db.url), 0, poll=0.05):
            into.append((row["seq"], row["body"]["repo"]))
            if row["body"]["repo"] == -1:
                return

    followers = [threading.Thread(target=follow, args=(each,), daemon=True) for each in seen]
    killed: list[int] = []
    killer = threading.Thread(target=lambda: killed.extend(publishers_that_die(lane, end)), daemon=True)
    for thread in (*followers, killer):
        thread.start()
    writers.run()
    end.set()
    killer.join(30)
    wrote(lane, -1)
    for thread in followers:
        thread.join(20)
    assert killed and all(each and each[-1][1] == -1 for each in seen)
    for each in seen:
        assert [seq for seq, _ in each] == list(range(1, len(each) + 1))
        assert len(each) == len({n for _, n in each}), "an event came twice"
        assert {n for _, n in each} == writers.committed | {-1}
