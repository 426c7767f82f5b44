"""Background services: no error ends their thread, the others go on, and a person is told why."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from damascus.domain.errors import DamascusError, GitError, Stopping, TransientError
from damascus.engine import maintenance, services
from damascus.engine.heartbeat import Heartbeat
from damascus.engine.maintenance import Housekeeping
from damascus.engine.services import LONGEST, Reports, Service, Standing, Supervisor, cause
from damascus.engine.tools import Tools
from damascus.people.checkup import _services
from damascus.people.workers import living
from damascus.store import leases, views
from damascus.system.hostid import WorkerLock, new_worker_id
from damascus.telling.troubles import told
from tests.engine.shell_stories import FILES, shell_story
from tests.waiting import eventually
from tests.yard import Yard

LEASE = timedelta(seconds=30)
UNEXPECTED = (
    GitError(("gc", "--quiet"), 128, "fatal: unable to read tree"),
    OSError(5, "Input/output error"),
    psycopg.OperationalError("server closed the connection unexpectedly"),
    ZeroDivisionError("division by zero"),
)
each_error = pytest.mark.parametrize("err", UNEXPECTED, ids=lambda err: type(err).__name__)


class Heard:
    """A log that is read."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def info(self, event: str, **facts: Any) -> None:
        self.lines.append({"event": event, "level": "info", **facts})

    def error(self, event: str, **facts: Any) -> None:
        self.lines.append({"event": event, "level": "error", **facts})

    def failures(self, service: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event"] == "service failed" and line["service"] == service]


class Broken:
    """Raises until it is mended."""

    def __init__(self, err: BaseException) -> None:
        self.err: BaseException | None = err
        self.calls = 0

    def __call__(self, *_: object) -> None:
        self.calls += 1
        if self.err is not None:
            raise self.err


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    return Yard(tmp_path, database_url, files=FILES)


def listening(yard: Yard) -> tuple[Tools, Heard]:
    heard = Heard()
    return replace(yard.tools(), log=heard), heard


# ── the threads of a worker ───────────────────────────────────────────────────────────────────────────


@pytest.mark.req("X11")
@each_error
def test_what_a_service_raises_ends_neither_its_thread_nor_the_rescue(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, err: Exception
) -> None:
    broken = Broken(err)
    monkeypatch.setattr(maintenance, "prune", broken)
    yard.add(shell_story("one"))
    tools, heard = listening(yard)
    housekeeping = Housekeeping([tools], new_worker_id(), LEASE)
    housekeeping.start()
    try:
        eventually(lambda: broken.calls, what="the first failure")
        lost = dead_process_with_a_claim(yard)
        eventually(lambda: yard.item("one")["rescues"], what="the rescue")
        assert lost and all(thread.lives() for thread in housekeeping.threads)
    finally:
        housekeeping.stop()
    [line] = heard.failures("pruner")
    assert (line["level"], line["failures"], line["exc_info"]) == ("error", 1, err)
    assert line["cause"].startswith(f"{type(err).__name__}: ")


def dead_process_with_a_claim(yard: Yard) -> str:
    """A worker of this host that ended without a word while it held a story."""
    host, boot, pid, _ = new_worker_id().split(":")
    gone = f"{host}:{boot}:{pid}:1"
    lock = WorkerLock.hold(yard.app.home / "workers", gone)
    kept = lock.path.read_bytes()
    lock.release()
    lock.path.write_bytes(kept)
    [item] = leases.claim(yard.db, yard.row.id, gone, 1, LEASE)
    assert item.story_id == "one"
    return gone


@pytest.mark.req("X11")
@each_error
def test_leases_are_renewed_whatever_else_the_heartbeat_meets(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, err: Exception
) -> None:
    tools, heard = listening(yard)
    yard.add(shell_story("one"))
    me = new_worker_id()
    [item] = leases.claim(yard.db, yard.row.id, me, 1, LEASE)
    monkeypatch.setattr(Heartbeat, "_tell", broken := Broken(err))
    heart = Heartbeat(yard.db, LEASE, timedelta(milliseconds=20), Reports(yard.db, tools.home, me, heard))
    heart.hold(item.id, item.fence)
    heart.start()
    try:
        eventually(lambda: broken.calls >= 2, what="the second failure")
        before = expiry(yard)
        eventually(lambda: expiry(yard) > before, what="a renewal")
        assert heart.thread.lives()
    finally:
        heart.stop()
    assert [line["failures"] for line in heard.failures("steps")][:2] == [1, 2]


@pytest.mark.req("X11")
@each_error
def test_renewing_that_failed_is_tried_again_no_later_than_usual(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, err: Exception
) -> None:
    tools, heard = listening(yard)
    yard.add(shell_story("one"))
    me = new_worker_id()
    [item] = leases.claim(yard.db, yard.row.id, me, 1, LEASE)
    before = expiry(yard)
    real, errors = leases.heartbeat, [err] * 12

    def renew(*args: Any) -> set[int]:
        if errors:
            raise errors.pop()
        return real(*args)

    monkeypatch.setattr(leases, "heartbeat", renew)
    every = timedelta(milliseconds=20)
    heart = Heartbeat(yard.db, LEASE, every, Reports(yard.db, tools.home, me, heard))
    renewing = heart.thread.services[0].service
    assert all(renewing.pause(failures) <= every.total_seconds() for failures in range(50))
    heart.hold(item.id, item.fence)
    heart.start()
    try:
        eventually(lambda: expiry(yard) > before, what="a renewal after twelve failures")
    finally:
        heart.stop()
    assert heart.held() == [item.id] and not errors


def expiry(yard: Yard) -> datetime:
    [row] = yard.query("SELECT expires_at FROM leases")
    moment: datetime = row["expires_at"]
    return moment


def test_a_usual_heartbeat_tries_a_failed_renewal_again_at_once(yard: Yard) -> None:
    reports = Reports(yard.db, yard.app.home, "me", Heard())
    heart = Heartbeat(yard.db, LEASE, timedelta(seconds=10), reports)
    renewing = heart.thread.services[0].service
    assert (renewing.pause(0), renewing.pause(1), renewing.pause(9)) == (10.0, 0.5, 0.5)


def test_what_ails_one_repository_is_not_the_others(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    tools, heard = listening(yard)
    other = replace(tools, project=replace(tools.project, repo="other"))
    pruned: list[str] = []

    def prune(which: Tools) -> None:
        if which is tools:
            raise UNEXPECTED[0]
        pruned.append(which.project.repo)

    monkeypatch.setattr(maintenance, "prune", prune)
    housekeeping = Housekeeping([tools, other], new_worker_id(), LEASE)
    housekeeping.start()
    try:
        assert eventually(lambda: pruned, what="the other's turn") == ["other"]
    finally:
        housekeeping.stop()
    assert [line["service"] for line in heard.lines if line["event"] == "service failed"] == [
        f"pruner of {tools.project.repo}"
    ]


# ── one service ───────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def reports(yard: Yard) -> Iterator[tuple[Reports, Heard]]:
    heard, me = Heard(), new_worker_id()
    lock = WorkerLock.hold(yard.app.home / "workers", me)
    row = {"id": me, "host": "here", "pid": 1, "slots": 1, "confinement": "bubblewrap"}
    yard.db.do("register_worker", project=yard.row.id, **row)
    yield Reports(yard.db, yard.app.home, me, heard), heard
    lock.release()


def test_the_pause_doubles_from_the_interval_and_ends_at_five_minutes() -> None:
    service = Service("x", 2.0, lambda: None)
    assert [service.pause(n) for n in range(6)] == [2.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    assert service.pause(9) == service.pause(10_000) == LONGEST == 300.0
    assert Service("x", 900.0, lambda: None).pause(5) == 900.0, "nothing fails its way into more work"


@pytest.mark.parametrize("quiet", [TransientError("the forge is away"), DamascusError("no main"), Stopping()], ids=str)
def test_trouble_outside_is_news_only_when_it_repeats(reports: tuple[Reports, Heard], quiet: Exception) -> None:
    told_to, heard = reports
    standing = Standing(Service("place", 2.0, Broken(quiet)), told_to)
    standing.attempt()
    assert heard.lines == []
    standing.attempt()
    assert [line["failures"] for line in heard.failures("place")] == [2]


def test_a_success_ends_the_row_and_the_next_error_is_the_first_again(reports: tuple[Reports, Heard]) -> None:
    told_to, heard = reports
    broken = Broken(ZeroDivisionError())
    standing = Standing(Service("place", 2.0, broken), told_to)
    standing.attempt()
    standing.attempt()
    err, broken.err = broken.err, None
    standing.attempt()
    assert standing.failures == 0 and heard.lines[-1]["event"] == "service recovered"
    broken.err = err
    standing.attempt()
    assert [line["failures"] for line in heard.failures("place")] == [1, 2, 1]


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_process_is_not_swallowed(reports: tuple[Reports, Heard], end: type[BaseException]) -> None:
    told_to, heard = reports
    with pytest.raises(end):
        Standing(Service("place", 2.0, Broken(end())), told_to).attempt()
    assert heard.lines == []


def test_neither_a_log_nor_a_database_that_fails_ends_the_thread(yard: Yard) -> None:
    class Full(Heard):
        def error(self, event: str, **facts: Any) -> None:
            raise OSError(28, "No space left on device")

    class Away:
        def do(self, *_: object, **__: object) -> None:
            raise psycopg.OperationalError("gone")

    for log, db in ((Full(), yard.db), (Heard(), Away())):
        broken = Broken(ZeroDivisionError())
        reports = Reports(db, yard.app.home, "me", log)  # type: ignore[arg-type]
        thread = Supervisor("x", [Service("x", 0.001, broken, longest=0.001)], reports, 0.001)
        thread.start()
        try:
            eventually(lambda broken=broken: broken.calls > 5, what="further tries")
            assert thread.lives()
        finally:
            thread.stop()


def test_what_goes_on_failing_is_told_once_a_minute(
    yard: Yard, reports: tuple[Reports, Heard], monkeypatch: pytest.MonkeyPatch
) -> None:
    told_to, heard = reports
    broken = Broken(ZeroDivisionError())
    standing = Standing(Service("place", 2.0, broken), told_to)
    for _ in range(40):
        standing.attempt()
    assert [line["failures"] for line in heard.failures("place")] == [1, 2, 3]
    monkeypatch.setattr(services, "SELDOM", 0.0)  # as if a minute had gone by
    broken.err = UNEXPECTED[0]
    standing.attempt()
    assert heard.failures("place")[-1]["failures"] == 41
    assert "(41 times in a row): GitError" in seen(yard)[0], "the cause and the count of now"


def test_a_thread_is_ended_while_a_service_works(reports: tuple[Reports, Heard]) -> None:
    told_to, _ = reports
    begun, go_on = threading.Event(), threading.Event()
    later = Broken(ZeroDivisionError())

    def slow() -> None:
        begun.set()
        go_on.wait(10)

    thread = Supervisor("x", [Service("slow", 1.0, slow), Service("later", 1.0, later)], told_to, 0.001)
    thread.start()
    begun.wait(10)
    thread.end()
    go_on.set()
    thread.stop()
    assert not thread.lives() and later.calls == 0, "nothing new is begun"


# ── what people see ───────────────────────────────────────────────────────────────────────────────────


def seen(yard: Yard) -> list[str]:
    return told(living(yard.app, views.workers(yard.db, yard.row)))


@each_error
def test_the_third_failure_in_a_row_is_shown_and_goes_with_the_first_success(
    yard: Yard, reports: tuple[Reports, Heard], err: Exception
) -> None:
    told_to, _ = reports
    broken = Broken(err)
    standing = Standing(Service("pruner", 900.0, broken), told_to)
    before = datetime.now(UTC)
    for _ in range(2):
        standing.attempt()
    assert seen(yard) == []
    standing.attempt()
    [line] = seen(yard)
    host, _, pid, _ = told_to.worker_id.split(":")
    assert line.startswith(f"pruner of process {pid} on {host} has been failing since ")
    assert "(3 times in a row)" in line and cause(err).rstrip(".") in line and line.endswith(str(told_to.file))
    [check] = _services(yard.app, yard.project)
    assert (check.name, check.state, check.says) == ("services", "fail", line)
    [worker] = views.workers(yard.db, yard.row)
    assert abs(worker.troubles[0].since - before) < timedelta(minutes=1)
    broken.err = None
    standing.attempt()
    assert seen(yard) == [] and list(_services(yard.app, yard.project)) == []
    assert views.workers(yard.db, yard.row)[0].trouble is None


def test_two_services_are_two_lines_and_each_goes_alone(yard: Yard, reports: tuple[Reports, Heard]) -> None:
    told_to, _ = reports
    first, second = Broken(UNEXPECTED[0]), Broken(UNEXPECTED[3])
    each = [Standing(Service(name, 1.0, work), told_to) for name, work in (("landed", first), ("place", second))]
    for _ in range(3):
        for standing in each:
            standing.attempt()
    assert sorted(line.split()[0] for line in seen(yard)) == ["landed", "place"]
    first.err = None
    each[0].attempt()
    assert [line.split()[0] for line in seen(yard)] == ["place"]


def test_a_worker_that_starts_anew_has_no_trouble(yard: Yard, reports: tuple[Reports, Heard]) -> None:
    told_to, _ = reports
    standing = Standing(Service("place", 1.0, Broken(UNEXPECTED[0])), told_to)
    for _ in range(3):
        standing.attempt()
    assert seen(yard)
    row = {"id": told_to.worker_id, "host": "here", "pid": 1, "slots": 1, "confinement": "bubblewrap"}
    yard.db.do("register_worker", project=yard.row.id, **row)
    assert seen(yard) == []


def test_a_cause_is_one_short_sentence_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORGE_TOKEN", "0123456789abcdef")
    words = "push to https://ada:pass-word@forge.invalid/x\nrefused for 0123456789abcdef " + "x " * 900
    said = cause(ValueError(words))
    assert said.startswith("ValueError: push to https://") and "\n" not in said and len(said) <= 300
    assert "pass-word" not in said and "0123456789abcdef" not in said
    assert cause(TransientError("the forge is away")) == "the forge is away", "written for people as it is"
    assert cause(KeyError()) == "KeyError"
