"""A webhook only shortens a wait: what is signed names a commit, everything else is harmless."""

import hmac
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from damascus.domain.config import ForgeConfig
from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.ids import Sha
from damascus.domain.outcome import Wait
from damascus.forges import webhooks
from damascus.forges.webhooks import QUIET, Waker, WebhookReceiver
from damascus.store.db import Database
from damascus.store.waking import CI_WAITS, wake_ci
from tests.store.lane import Lane
from tests.waiting import eventually

SECRET = "a secret of the test"
COMMIT = Sha("3484a3fb816e0859fd6e1cea078d76385ff50625")
HEAD = b"POST / HTTP/1.1\r\nHost: x\r\n"
OTHER = Sha("bffeb74224043ba2feb48d137756c8a9331c449a")


def signature(body: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), body, "sha256").hexdigest()


@dataclass
class Door:
    """A receiver, who was woken by it, and a sender."""

    port: int
    woken: list[Sha] = field(default_factory=list)
    trouble: Exception | None = None

    def wake(self, commit: Sha) -> None:
        if self.trouble:
            raise self.trouble
        self.woken.append(commit)

    def send(self, body: bytes, headers: dict[str, str] | None = None, method: str = "POST") -> int:
        given = {"X-Gitea-Signature": signature(body)} if headers is None else headers
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, "/", body, {"Content-Type": "application/json", **given})
            return connection.getresponse().status
        finally:
            connection.close()

    def told(self, **what: object) -> int:
        return self.send(json.dumps(what).encode())

    def raw(self, data: bytes) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        connection.sendall(data)
        return connection


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def config(port: int) -> ForgeConfig:
    return ForgeConfig.model_validate({"webhook_port": port, "webhook_secret_env": "HOOK"})


@pytest.fixture
def door() -> Iterator[Door]:
    door = Door(free_port())
    receiver = WebhookReceiver.start(config(door.port), {"HOOK": SECRET}, door.wake)
    assert receiver is not None and receiver.port == door.port
    yield door
    receiver.stop()


# ── what is read ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W6")
@pytest.mark.parametrize(
    "body",
    [
        {"ref": "refs/heads/main", "before": "0" * 40, "after": COMMIT, "commits": [{"id": OTHER}]},
        {"sha": COMMIT, "state": "success", "context": "ci / test (push)", "commit": {"id": OTHER}},
        {"action": "completed", "workflow_run": {"head_sha": COMMIT, "conclusion": "success"}},
        {"action": "queued", "workflow_job": {"head_sha": COMMIT, "run_id": 7}},
        {"action": "completed", "check_run": {"head_sha": COMMIT, "check_suite": {"head_sha": OTHER}}},
        {"action": "synchronize", "pull_request": {"head": {"sha": COMMIT}, "merge_commit_sha": None}},
    ],
    ids=["push", "status", "workflow_run", "workflow_job", "check_run", "pull_request"],
)
def test_a_signed_delivery_wakes_the_commit_it_is_about(door: Door, body: dict[str, object]) -> None:
    assert door.told(**body) == 204
    assert door.woken == [COMMIT]


@pytest.mark.req("W6")
@pytest.mark.parametrize(
    ("name", "prefix"), [("X-Gitea-Signature", ""), ("X-Forgejo-Signature", ""), ("X-Hub-Signature-256", "sha256=")]
)
def test_each_forges_signature_is_known(door: Door, name: str, prefix: str) -> None:
    body = json.dumps({"sha": COMMIT}).encode()
    assert door.send(body, {name: prefix + signature(body)}) == 204
    assert door.woken == [COMMIT]


@pytest.mark.req("W6")
@pytest.mark.parametrize(
    "body",
    [
        b"", b"not json", b"\xff\xfe", b"[]", b'"sha"', b"[" * 100_000, b'{"sha": 7}', b'{"sha": "3484a3f"}',
        b'{"sha": ""}', b'{"pull_request": []}', b'{"workflow_run": {"head_sha": ["3484"]}}', b'{"zen": "hello"}',
        json.dumps({"sha": COMMIT.upper()}).encode(),
    ],
)  # fmt: skip
def test_a_signed_delivery_that_names_no_full_commit_wakes_nobody(door: Door, body: bytes) -> None:
    assert door.send(body) == 204
    assert door.told(sha=OTHER) == 204
    assert door.woken == [OTHER]


# ── who is refused ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W6")
def test_what_is_not_signed_wakes_nobody(door: Door) -> None:
    body = json.dumps({"sha": COMMIT}).encode()
    good = signature(body)
    for headers in (
        {},
        {"X-Gitea-Signature": ""},
        {"X-Gitea-Signature": signature(body, "another secret")},
        {"X-Gitea-Signature": signature(body + b" ")},
        {"X-Gitea-Signature": good[:-1]},
        {"X-Gitea-Signature": "sha256=" + good},
        {"X-Gitea-Signature": "é" * 64},
        {"X-Hub-Signature-256": good},
        {"X-Hub-Signature-256": "sha1=" + good},
        {"X-Hub-Signature": "sha256=" + good},
    ):
        assert door.send(body, headers) == 403, headers
    assert door.send(body, method="PUT") == 501
    assert door.woken == []


@pytest.mark.req("W6")
def test_without_a_secret_nothing_is_received(door: Door) -> None:
    for environ in ({}, {"HOOK": ""}, {"HOOK": "  \n"}, {"DAMASCUS_WEBHOOK_SECRET": SECRET}):
        with pytest.raises(UsageError, match="HOOK holds no secret"):
            WebhookReceiver.start(config(free_port()), environ, door.wake)


def test_no_port_no_receiver(door: Door) -> None:
    assert WebhookReceiver.start(config(0), {"HOOK": SECRET}, door.wake) is None


@pytest.mark.req("X11")
def test_the_second_worker_of_a_host_leaves_the_port_to_the_first(door: Door) -> None:
    assert WebhookReceiver.start(config(door.port), {"HOOK": SECRET}, door.wake) is None
    assert door.told(sha=COMMIT) == 204


def test_an_address_that_is_not_ours_is_named() -> None:
    elsewhere = config(free_port()).model_copy(update={"webhook_host": "192.0.2.7"})
    with pytest.raises(DamascusError, match=r"can't be received on 192\.0\.2\.7"):
        WebhookReceiver.start(elsewhere, {"HOOK": SECRET}, print)


def test_a_stopped_receiver_frees_its_port(door: Door) -> None:
    port = free_port()
    for _ in range(2):
        receiver = WebhookReceiver.start(config(port), {"HOOK": SECRET}, door.wake)
        assert receiver is not None
        receiver.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


# ── floods ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W6")
@pytest.mark.parametrize(
    ("head", "status"),
    [
        (HEAD + b"Content-Length: 5000001\r\n\r\n", b"413"),
        (HEAD + b"Content-Length: 99999999999999999999\r\n\r\n", b"413"),
        (HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", b"400"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"411"),
        (HEAD + b"Content-Length: -1\r\n\r\n", b"400"),
        (b"POST /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"431"),
        (HEAD + b"A: " + b"a" * 70_000 + b"\r\n\r\n", b"431"),
        (HEAD + b"A: b\r\n" * 200 + b"\r\n", b"431"),
        (HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", b"400"),
        (HEAD + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n", b"400"),
    ],
    ids=[
        "too long", "much too long", "absurd", "no length", "negative", "long line", "long header", "many headers",
        "two lengths", "length twice", "no host",
    ],
)  # fmt: skip
def test_what_is_too_big_is_refused_before_it_is_read(door: Door, head: bytes, status: bytes) -> None:
    with door.raw(head) as sender:
        assert status in sender.recv(200).split(b"\r\n")[0]
    assert door.told(sha=COMMIT) == 204


@pytest.mark.req("W6")
def test_slow_senders_hold_up_nobody_for_long(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "SENDER_LIMIT", 0.2)
    head = HEAD + b"Content-Length: "
    silent = [door.raw(b""), door.raw(b"POST / HT"), door.raw(head + b"9\r\n\r\n{")]
    dripping, done = door.raw(head + b"4000000\r\n\r\n"), threading.Event()

    def drip() -> None:
        try:
            while not done.wait(0.02):
                dripping.sendall(b" ")
        except OSError:
            done.set()

    dripper = threading.Thread(target=drip)
    dripper.start()
    try:
        assert door.told(sha=COMMIT) == 204
        assert done.wait(20), "the one that drips was never cut off"
    finally:
        done.set()
        dripper.join()
        for sender in (*silent, dripping):
            sender.close()
    assert door.woken == [COMMIT]


@pytest.mark.req("W6")
def test_a_sender_that_breaks_off_harms_nobody(door: Door) -> None:
    for head in (
        b"",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
        b"\x16\x03\x01\x00\x00",
        b"\0" * 100,
    ):
        door.raw(head).close()
    assert door.told(sha=COMMIT) == 204


@pytest.mark.req("W6")
def test_a_replayed_delivery_wakes_once(door: Door) -> None:
    assert [door.told(sha=COMMIT) for _ in range(30)] == [204] * 30
    assert door.woken == [COMMIT]


@pytest.mark.req("W6")
def test_who_is_named_again_is_woken_again_after_a_while_and_once() -> None:
    now: list[float] = [0.0]
    woken: list[tuple[float, Sha]] = []
    waker = Waker(lambda commit: woken.append((now[0], commit)), lambda: now[0])
    for tenth in range(20):
        now[0] = tenth / 10
        waker.named([COMMIT])
        waker.due()
    assert woken == [(0.0, COMMIT)]
    for moment in (QUIET - 0.1, QUIET, QUIET + 0.1, 3 * QUIET):
        now[0] = moment
        waker.due()
    assert woken == [(0.0, COMMIT), (QUIET, COMMIT)]
    waker.named([OTHER])
    assert woken[2:] == [(3 * QUIET, OTHER)]


@pytest.mark.req("W6")
def test_many_commits_cost_bounded_memory() -> None:
    waker = Waker(lambda commit: None)
    waker.named(Sha(f"{n:040x}") for n in range(5000))
    assert len(waker._woken) == webhooks.MOST_REMEMBERED and not waker._late


@pytest.mark.req("T1")
def test_trouble_while_waking_is_tried_again_and_ends_nothing(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "QUIET", 0.05)
    door.trouble = DamascusError("the database is away")
    assert door.told(sha=COMMIT) == 503
    door.trouble = None
    eventually(lambda: door.woken == [COMMIT], what="the second try")
    assert door.told(sha=OTHER) == 204


class Heard:
    """A log that remembers."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, int, str]] = []

    def info(self, event: str, **facts: Any) -> None:
        self.lines.append((event, facts["failures"], ""))

    def error(self, event: str, **facts: Any) -> None:
        assert facts["service"] == "webhooks" and isinstance(facts["exc_info"], Exception)
        self.lines.append((event, facts["failures"], facts["cause"]))


@pytest.mark.req("T1")
def test_trouble_while_waking_is_logged_with_its_cause(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "QUIET", 0.05)
    heard, door.port = Heard(), free_port()
    receiver = WebhookReceiver.start(config(door.port), {"HOOK": SECRET}, door.wake, heard)
    assert receiver is not None
    try:
        door.trouble = ZeroDivisionError("a bug")
        assert door.told(sha=COMMIT) == 503
        assert heard.lines == [("service failed", 1, "ZeroDivisionError: a bug")]
        door.trouble = None
        eventually(lambda: door.woken == [COMMIT], what="the second try")
        eventually(lambda: [line[0] for line in heard.lines[1:]] == ["service recovered"], what="the line")
        assert door.told(sha=OTHER) == 204, "the thread lives"
    finally:
        receiver.stop()


def test_what_goes_on_failing_is_logged_seldom() -> None:
    now, heard = [0.0], Heard()
    troubles = webhooks.Troubles(heard, lambda: now[0])
    for second in range(130):
        now[0] = float(second)
        troubles.failed(DamascusError("the database is away"))
    assert [failures for _, failures, _ in heard.lines] == [1, 61, 121]


@pytest.mark.req("T1")
def test_a_log_that_fails_ends_nothing(door: Door) -> None:
    class Broken(Heard):
        def error(self, event: str, **facts: Any) -> None:
            raise OSError("no space left on device")

    door.port = free_port()
    receiver = WebhookReceiver.start(config(door.port), {"HOOK": SECRET}, door.wake, Broken())
    assert receiver is not None
    try:
        door.trouble = DamascusError("the database is away")
        assert door.told(sha=COMMIT) == 503
        door.trouble = None
        assert door.told(sha=OTHER) == 204
    finally:
        receiver.stop()


# ── what waits in the queue ───────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W5", "W6")
def test_only_waits_for_this_commits_ci_end(db: Database) -> None:
    lane = Lane(db)
    waits = {f"W-{n}": Wait(kind, COMMIT, timedelta(hours=1)) for n, kind in enumerate(CI_WAITS)}
    kept = {"K-1": Wait("ci", OTHER, timedelta(hours=1)), "K-2": Wait("budget", COMMIT, timedelta(hours=1))}
    lane.add(*waits, *kept)
    for item in lane.claim(10):
        lane.settle(item, (waits | kept)[item.story_id])
    door = Door(free_port())
    receiver = WebhookReceiver.start(config(door.port), {"HOOK": SECRET}, lambda commit: wake_ci(db, commit))
    assert receiver is not None
    try:
        assert door.told(workflow_run={"head_sha": COMMIT, "conclusion": "success"}) == 204
    finally:
        receiver.stop()
    assert lane.states() == dict.fromkeys(waits, "ready") | {"K-1": "ci", "K-2": "budget"}
    assert wake_ci(db, COMMIT) == 0 and wake_ci(db, OTHER) == 1
