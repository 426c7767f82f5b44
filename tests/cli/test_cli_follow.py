"""`damascus events --follow`: every event with its number, as it happens; and which hosts work, in `status --json`."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from damascus.store import stream
from tests.cli.conftest import Cli
from tests.yard import HONEST, Yard, story


@pytest.fixture
def follower(yard: Yard) -> Iterator["Follower"]:
    made = Follower(yard)
    yield made
    made.close()


class Follower:
    """The real command in a process of its own."""

    def __init__(self, yard: Yard) -> None:
        self.yard = yard
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "damascus.cli.main", "events", "--follow", *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, cwd=self.yard.repo, env=self.yard.environ, text=True, **pipes)
        self.processes.append(process)
        return process

    def read(self, process: subprocess.Popen[str], kind: str) -> list[dict[str, Any]]:
        """Up to the first of that kind."""
        assert process.stdout is not None
        found = []
        for line in process.stdout:
            found.append(json.loads(line))
            if found[-1]["kind"] == kind:
                return found
        raise AssertionError(f"it ended: {process.communicate()[1]}")

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()


@pytest.mark.req("X11", "D11")
def test_events_are_followed_while_a_story_is_worked(yard: Yard, follower: Follower) -> None:
    process = follower.start("--json")
    yard.add(story("S-1"))
    first = follower.read(process, "story.added")
    yard.work(yard.agent(HONEST))
    rest = follower.read(process, "story.landed")
    seen = first + rest
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    assert [event["kind"] for event in seen] == [event["kind"] for event in yard.events("S-1")][: len(seen)]
    assert set(seen[0]) == {"seq", "id", "at", "story_id", "kind", "body"}
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130


@pytest.mark.req("X11")
def test_who_stops_goes_on_after_the_number_it_had(yard: Yard, follower: Follower) -> None:
    yard.add(story("S-1"), story("S-2"))
    [one, two] = follower.read(follower.start("--json", "--after", "0"), "story.added") + follower.read(
        follower.start("--json", "--after", "1"), "story.added"
    )
    assert (one["seq"], one["story_id"], two["seq"], two["story_id"]) == (1, "S-1", 2, "S-2")


@pytest.mark.req("X11")
def test_one_story_is_followed_alone_in_words_for_people(yard: Yard, follower: Follower) -> None:
    yard.add(story("S-1"), story("S-2"))
    process = follower.start("S-2")
    assert process.stdout is not None
    number, _, rest = process.stdout.readline().strip().partition("  ")
    assert number == "2" and "S-2" in rest and "story.added" in rest


@pytest.mark.req("X11")
def test_a_number_without_follow_is_refused(cli: Cli) -> None:
    ran = cli("events", "--after", "3")
    assert ran.code == 2 and "--after goes with --follow" in ran.error


@pytest.mark.req("X11")
def test_a_worker_numbers_what_happens_while_it_works(yard: Yard) -> None:
    yard.add(story("S-1"))
    yard.work(yard.agent(HONEST))
    [told] = yard.query("SELECT last_seq FROM stream")
    assert told["last_seq"] > 0, "its housekeeping publishes"
    stream.publish(yard.db)
    counts = [yard.query(f"SELECT count(*) AS n FROM {table}") for table in ("event_numbers", "events_outbox")]
    assert counts[0] == counts[1]


@pytest.mark.req("X11")
def test_status_tells_which_hosts_work(yard: Yard, cli: Cli) -> None:
    from damascus.system.hostid import host_name

    assert cli("status", "--json").json["workers"] == []
    worker = yard.worker(yard.agent(HONEST), slots=3)
    worker._register()
    [told] = cli("status", "--json").json["workers"]
    assert (told["id"], told["host"], told["slots"], told["busy"]) == (worker.id, host_name(), 3, 0)
