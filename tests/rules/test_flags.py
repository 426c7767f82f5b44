"""Each ⚑ of the design is a test that exists."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.rules.flags import FLAGS
from tests.rules.tree import sources

ROOT = Path(__file__).parents[2]
MARKED = 20
"""The sentences of the design that are marked ⚑."""
BY_SNAPSHOT = re.compile(r"pg_(?:current_)?snapshot|snapshot_xmin|txid_snapshot")
WAKES = re.compile(r"\bLISTEN\b|\bNOTIFY\b|pg_notify")
STREAM = {"store/stream.py", "store/migrations/0008_fleet.sql", "store/functions/publish_events.sql"}


def test_every_marked_sentence_has_a_test() -> None:
    assert len(FLAGS) == MARKED
    assert all(flag.tests for flag in FLAGS)
    assert [flag.section for flag in FLAGS] == sorted(flag.section for flag in FLAGS)


def test_every_named_test_is_there() -> None:
    """pytest itself looks: an id that it can't collect ends it with an error that names it."""
    ids = [test for flag in FLAGS for test in flag.tests]
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *ids]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "DAMASCUS_"))}
    done = subprocess.run(collect, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_follows_the_event_stream_by_snapshot() -> None:
    """A reader that takes a snapshot's xmin for the end of the stream stalls behind any open transaction. And only the
    publisher notifies: in the transactions of others it would cost all of them."""
    found = {**sources(), **sources("*.sql")}
    assert len(found) > 100
    assert [name for name, text in found.items() if BY_SNAPSHOT.search(text)] == []
    assert {name for name, text in found.items() if WAKES.search(text)} <= STREAM
