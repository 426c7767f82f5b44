"""Messages to people: of what [notify] names, at least once, in one message for what came together, masked and cut."""

import hashlib
import hmac
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.config import parse_config
from damascus.domain.config_notify import NotifyConfig
from damascus.domain.errors import UsageError
from damascus.domain.events import EventKind
from damascus.engine.maintenance.notifier import GIVE_UP, Notifier, pause
from damascus.people.notify_checks import examine
from damascus.store import notices
from damascus.store.journal import write_events
from damascus.store.stream import publish
from tests.engine.receiver import Receiver, receiving
from tests.engine.shell_stories import FILES, Watched, config, good, shell_story
from tests.waiting import eventually
from tests.yard import Yard

NOON = datetime(2026, 11, 18, 12, 0)
URL = "DAMASCUS_TEST_HOOK"
SECRET = {"DAMASCUS_NOTIFY_SECRET": "whisper-it-low"}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def yard_of(tmp_path: Path, database_url: str, **keys: Any) -> Yard:
    listed = {"webhook_env": URL, "batch_seconds": 0.0, **keys}
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in listed.items())
    return Yard(tmp_path, database_url, files=FILES, config=config(f"[notify]\n{lines}"))


def notifier(yard: Yard, receiver: Receiver | None, now: datetime = NOON, **environ: str) -> Notifier:
    address = {URL: f"{receiver.url}/hook"} if receiver else {}
    made = Notifier(yard.tools(), {"PATH": os.environ["PATH"], **address, **environ}, lambda: now)
    made.look()  # its cursor stands at the stream's end
    return made


def happens(yard: Yard, what: EventKind, story: str | None = None, **body: object) -> None:
    item = yard.item(story)["id"] if story else None
    yard.db.run(lambda c: write_events(c, yard.row.id, item, ((what, body),)))
    publish(yard.db)


def asks(yard: Yard, question: str, story: str | None = None) -> int:
    item = yard.item(story)["id"] if story else None
    [row] = yard.query(
        "INSERT INTO human_issues (project_id, item_id, question) VALUES (%s, %s, %s) RETURNING id",
        yard.row.id, item, question,
    )  # fmt: skip
    happens(yard, EventKind.ISSUE_OPENED, story, question=question)
    return int(row["id"])


def texts(receiver: Receiver) -> list[str]:
    return [json.loads(each.body)["text"] for each in receiver.got]


# ── what is told, and how ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("X18")
def test_a_worker_tells_that_a_story_is_done_and_another_needs_a_person(
    tmp_path: Path, database_url: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the worker itself: its last look sends what it would else have waited for."""
    yard = yard_of(tmp_path, database_url, batch_seconds=600.0)
    monkeypatch.setenv(URL, f"{receiver.url}/hook")
    yard.add(shell_story("one"), shell_story("two"))
    yard.worker(Watched(yard, {"one": [good("one")], "two": [{"exit": 3}]})).run(lambda: None)
    [text] = texts(receiver)
    title, *lines = text.splitlines()
    assert title == f"{yard.row.name}: needs you, done"
    assert any(line.startswith("done: one: Story one is on main") for line in lines)
    assert any(line.startswith("needs you: two: ") and "(damascus answer 1)" in line for line in lines)
    assert yard.query("SELECT 1 FROM notices WHERE sent_at IS NULL") == []


@pytest.mark.req("X18")
def test_a_message_is_signed_has_a_key_and_calls_nobody(tmp_path: Path, database_url: str, receiver: Receiver) -> None:
    yard = yard_of(tmp_path, database_url)
    teller = notifier(yard, receiver, **SECRET)
    asks(yard, "which <!channel> of a & b?")
    teller.look()
    [got] = receiver.got
    assert json.loads(got.body).keys() == {"text"} and "&lt;!channel&gt; of a &amp; b" in json.loads(got.body)["text"]
    signed = got.headers["x-damascus-timestamp"].encode() + b"." + got.body
    expected = hmac.new(b"whisper-it-low", signed, hashlib.sha256).hexdigest()
    assert got.headers["x-damascus-signature"] == f"sha256={expected}"
    assert got.headers["idempotency-key"] == got.headers["x-damascus-key"] != ""


@pytest.mark.req("X18")
def test_what_comes_within_the_time_of_a_batch_is_one_message(
    tmp_path: Path, database_url: str, receiver: Receiver
) -> None:
    yard = yard_of(tmp_path, database_url, batch_seconds=600.0)
    teller = notifier(yard, receiver)
    for n in range(30):
        happens(yard, EventKind.STORY_NOT_ON_MAIN, message=f"lost {n}")
    assert teller.look() == 0 and texts(receiver) == []
    yard.query("UPDATE events_outbox SET created_at = created_at - interval '20 min' RETURNING id")
    happens(yard, EventKind.BUILDER_HALTED, reason="ship", message="the last one")
    assert teller.look() == 1 and teller.look() == 0
    [text] = texts(receiver)
    lines = text.splitlines()
    assert lines[0] == f"{yard.row.name}: 31 halted"
    assert len(lines) == 22 and lines[-1] == "and 11 more: damascus status"


@pytest.mark.req("X18")
def test_only_what_is_asked_for_is_told(tmp_path: Path, database_url: str, receiver: Receiver) -> None:
    yard = yard_of(tmp_path, database_url, on=["budget"])
    yard.add(shell_story("one"))
    teller = notifier(yard, receiver)
    happens(yard, EventKind.PHASE_TRANSITIONED, "one", **{"from": "merge", "to": "done"})
    asks(yard, "which?", "one")
    happens(yard, EventKind.ITEM_WAITS, "one", kind="ci", key="1")
    assert teller.look() == 0
    happens(yard, EventKind.ITEM_WAITS, "one", kind="budget", key="project", message="5 dollars are spent")
    assert teller.look() == 1
    assert texts(receiver) == [f"{yard.row.name}: budget\nbudget: one: 5 dollars are spent"]


@pytest.mark.req("X18")
def test_a_spent_budget_is_told_once_and_an_answered_question_not_at_all(
    tmp_path: Path, database_url: str, receiver: Receiver
) -> None:
    yard = yard_of(tmp_path, database_url)
    yard.add(shell_story("one"))
    teller = notifier(yard, receiver)
    happens(yard, EventKind.BLOCKED_BUDGET, "one", question="raise it?")
    asks(yard, "raise it?", "one")
    asks(yard, "answered meanwhile")
    yard.query("UPDATE human_issues SET closed_at = now(), answer = 'yes' WHERE item_id IS NULL RETURNING id")
    teller.look()
    assert texts(receiver) == [f"{yard.row.name}: budget\nbudget: one: raise it?"]


@pytest.mark.req("X18")
def test_keys_are_masked_and_what_nobody_sees_is_left_out(
    tmp_path: Path, database_url: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret-1")
    yard = yard_of(tmp_path, database_url)
    teller = notifier(yard, receiver)
    asks(yard, "is sk-very-secret-1 \x1b[31mright\u202e?\n" + "x" * 100_000)
    teller.look()
    [text] = texts(receiver)
    assert "sk-very-secret-1" not in text and "•••" in text
    assert not set(text) & {"\x1b", "\u202e"} and len(text) < 700 and len(text.splitlines()) == 2


# ── when ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("X18")
def test_quiet_hours_are_kept_and_told_of_afterwards(tmp_path: Path, database_url: str, receiver: Receiver) -> None:
    yard = yard_of(tmp_path, database_url, quiet="22:00-07:00")
    assert notifier(yard, receiver).look() == 0
    for hour in (22, 23, 0, 6):
        happens(yard, EventKind.STORY_NOT_ON_MAIN, message=f"at {hour}")
        assert notifier(yard, receiver, NOON.replace(hour=hour, minute=59)).look() == 0
    assert receiver.got == []
    Notifier(yard.tools(), {URL: receiver.url}, lambda: NOON.replace(hour=7)).look()
    assert [text.count("halted: at") for text in texts(receiver)] == [4]


@pytest.mark.req("X18")
def test_history_is_no_news(tmp_path: Path, database_url: str, receiver: Receiver) -> None:
    yard = yard_of(tmp_path, database_url)
    happens(yard, EventKind.STORY_NOT_ON_MAIN, message="long ago")
    notifier(yard, receiver).look()
    assert receiver.got == []


# ── at least once, and never in anybody's way ─────────────────────────────────────────────────────────


@pytest.mark.req("X18")
def test_a_target_that_fails_is_tried_later_with_the_same_key_and_doctor_tells(
    tmp_path: Path, database_url: str, receiver: Receiver
) -> None:
    yard = yard_of(tmp_path, database_url)
    receiver.answers[:] = [500]
    teller = notifier(yard, receiver)
    happens(yard, EventKind.STORY_NOT_ON_MAIN, message="lost")
    assert teller.look() == 0 and teller.look() == 0 and len(receiver.got) == 1
    yard.app.environ[URL] = receiver.url
    [check] = [each for each in examine(yard.app, yard.project) if each.state == "fail"]
    assert "webhook" in check.says and "HTTP 500" in check.says and "damascus notify test" in check.says
    yard.query("UPDATE notices SET not_before = now() RETURNING id")
    assert teller.look() == 1
    first, second = receiver.got
    assert first.headers["x-damascus-key"] == second.headers["x-damascus-key"] and first.body == second.body
    assert [each.state for each in examine(yard.app, yard.project)] == ["warn"]  # not signed


@pytest.mark.req("X18")
def test_messages_keep_their_order_behind_one_that_fails_and_one_is_given_up_in_the_end(
    tmp_path: Path, database_url: str, receiver: Receiver
) -> None:
    yard = yard_of(tmp_path, database_url)
    receiver.answers[:] = [500, 500]
    teller = notifier(yard, receiver)
    for n in range(2):
        happens(yard, EventKind.STORY_NOT_ON_MAIN, message=f"lost {n}")
        teller.look()
    assert len(receiver.got) == 1, "the second waits behind the first"
    yard.query(
        "UPDATE notices SET made_at = now() - make_interval(secs => %s), not_before = now() RETURNING id", GIVE_UP + 60
    )
    assert teller.look() == 1 and "lost 1" in texts(receiver)[-1]
    [gone] = yard.query("SELECT error FROM notices WHERE given_up_at IS NOT NULL")
    assert gone["error"] == "the webhook answered HTTP 500"
    assert [pause(tries) for tries in (1, 2, 3, 50)] == [5.0, 10.0, 20.0, 3600.0]


@pytest.mark.req("X18")
def test_of_several_workers_one_sends(tmp_path: Path, database_url: str, receiver: Receiver) -> None:
    yard = yard_of(tmp_path, database_url)
    tellers = [notifier(yard, receiver) for _ in range(4)]
    for n in range(5):
        happens(yard, EventKind.STORY_NOT_ON_MAIN, message=f"lost {n}")
        together = threading.Barrier(4)

        def look(teller: Notifier, meet: threading.Barrier = together) -> None:
            meet.wait()
            teller.look()

        threads = [threading.Thread(target=look, args=(teller,)) for teller in tellers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    tellers[0].look()
    keys = [each.headers["x-damascus-key"] for each in receiver.got]
    assert len(keys) == len(set(keys))
    assert sorted(line for text in texts(receiver) for line in text.splitlines()[1:]) == [
        f"halted: lost {n}" for n in range(5)
    ]


@pytest.mark.req("X18")
def test_what_one_worker_is_sending_no_other_sends(tmp_path: Path, database_url: str, receiver: Receiver) -> None:
    yard = yard_of(tmp_path, database_url)
    first, second = notifier(yard, receiver), notifier(yard, receiver)
    happens(yard, EventKind.STORY_NOT_ON_MAIN, message="lost")
    receiver.answering.clear()
    sending = threading.Thread(target=first.look)
    sending.start()
    try:
        eventually(lambda: receiver.got, what="the message")
        assert notices.take(yard.db, yard.row, ["webhook"]) is None, "it is taken"
    finally:
        receiver.answering.set()
        sending.join()
    assert second.look() == 0 and len(receiver.got) == 1


KILLED = """
import os, signal, sys
from pathlib import Path
from damascus.engine.maintenance import notifier
from damascus.store import notices
from tests.yard import Yard
yard = Yard(Path(sys.argv[1]), sys.argv[2])
point = sys.argv[3]
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
if point == "before": notices._add = die
if point == "between": notices.take = die
if point == "after": notices.sent = die
notifier.Notifier(yard.tools(), dict(os.environ)).look()
"""


@pytest.mark.req("X18")
@pytest.mark.parametrize(("point", "times"), [("before", 1), ("between", 1), ("after", 2)])
def test_a_worker_that_is_killed_loses_no_message(
    tmp_path: Path, database_url: str, receiver: Receiver, point: str, times: int
) -> None:
    """Before the message is a row, before it is sent, and after it was sent and before that is known."""
    yard = yard_of(tmp_path, database_url)
    teller = notifier(yard, receiver)
    happens(yard, EventKind.STORY_NOT_ON_MAIN, message="lost")
    environ = {**os.environ, URL: receiver.url, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", KILLED, str(yard.folder), database_url, point]
    died = subprocess.run(words, env=environ, capture_output=True, text=True, start_new_session=True)
    assert died.returncode == -signal.SIGKILL, died.stderr
    yard.query("UPDATE notices SET taken_until = now() - interval '1 s' RETURNING id")  # its time is over
    assert teller.look() == 1
    assert len({each.headers["x-damascus-key"] for each in receiver.got}) == 1 and len(receiver.got) == times


# ── the other targets ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("X18")
def test_a_command_gets_the_text_on_stdin_and_the_key_in_a_variable(tmp_path: Path, database_url: str) -> None:
    script = '#!/bin/sh\n{ echo "$DAMASCUS_NOTICE_KEY"; cat; } >> told.txt\n'
    yard = yard_of(tmp_path, database_url, webhook_env="", command="./tell.sh")
    (yard.repo / "tell.sh").write_text(script)
    (yard.repo / "tell.sh").chmod(0o755)
    teller = notifier(yard, None)
    happens(yard, EventKind.BUILDER_HALTED, reason="ship", message="SHIP was declared; `touch gone` $(touch gone)")
    assert teller.look() == 1
    key, title, line = (yard.repo / "told.txt").read_text().splitlines()
    assert key.startswith(str(yard.row.uuid)) and title == f"{yard.row.name}: halted"
    assert line == "halted: SHIP was declared; `touch gone` $(touch gone)" and not (yard.repo / "gone").exists()


@pytest.mark.req("X18")
def test_a_command_that_fails_or_is_not_there_is_told(tmp_path: Path, database_url: str) -> None:
    yard = yard_of(tmp_path, database_url, webhook_env="", command="sh -c 'echo no such room; exit 4'")
    teller = notifier(yard, None)
    happens(yard, EventKind.STORY_NOT_ON_MAIN, message="lost")
    assert teller.look() == 0
    [check] = examine(yard.app, yard.project)
    assert check.state == "fail" and "exit code 4: no such room" in check.says
    missing = replace(yard.project, settings=replace(yard.project.settings, text='[notify]\ncommand = "nobody-home"\n'))
    assert "nobody-home" in next(iter(examine(yard.app, missing))).says


@pytest.mark.req("X18")
def test_the_desktop_is_asked_by_its_own_program(tmp_path: Path, database_url: str) -> None:
    """A stand-in for notify-send: no test may show anything on anybody's screen."""
    yard = yard_of(tmp_path, database_url, webhook_env="", desktop=True)
    program = tmp_path / "bin" / "notify-send"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nprintf "%s|" "$@" > {tmp_path}/shown\n')
    program.chmod(0o755)
    teller = notifier(yard, None, PATH=f"{program.parent}:{os.environ['PATH']}")
    happens(yard, EventKind.STORY_NOT_ON_MAIN, message="--urgency=low")
    assert teller.look() == 1
    expected = f"--app-name=damascus|--|{yard.row.name}: halted|halted: --urgency=low|"
    assert (tmp_path / "shown").read_text() == expected


# ── settings, and nothing where nothing is set ────────────────────────────────────────────────────────


@pytest.mark.req("X18")
@pytest.mark.parametrize(
    "line",
    [
        'webhook_env = "https://hooks.example.invalid/T0"',
        'quiet = "22-7"',
        'on = ["everything"]',
        "batch_seconds = -1.0",
    ],
)
def test_an_address_in_the_file_and_other_mistakes_are_refused(line: str) -> None:
    with pytest.raises(UsageError, match="notify"):
        parse_config(f"[notify]\n{line}\n")


@pytest.mark.req("X18")
def test_where_nobody_is_to_be_told_nothing_is_read_or_loaded(tmp_path: Path, database_url: str) -> None:
    assert NotifyConfig().targets == () and NotifyConfig(command="x", on=[]).targets == ()  # type: ignore[call-arg]
    lookup = (
        "import sys, damascus.assembly, damascus.engine.maintenance as m; "
        "print(sorted(n for n in sys.modules if n.split('.')[0] in ('httpx', 'opentelemetry', 'prometheus_client')"
        " or n.startswith(('damascus.engine.notices', 'damascus.engine.maintenance.notifier'))))"
    )
    words = [sys.executable, "-c", lookup]
    assert subprocess.run(words, capture_output=True, text=True, start_new_session=True).stdout.strip() == "[]"
    yard = Yard(tmp_path, database_url, files=FILES)
    assert "notifier" not in {thread.services[0].service.name for thread in yard.worker("true").housekeeping.threads}
