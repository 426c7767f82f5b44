"""Attempts to leave the sandbox, made from inside by real commands. Whether one succeeded is seen from outside."""

import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from damascus.system import landlock
from damascus.system.sandbox import Level
from tests.escape import on_files, on_sockets
from tests.escape.arena import Arena, keyctl
from tests.escape.attempt import Attempt
from tests.escape.cages import Row, bubblewraps, landlocks
from tests.escape.catalogue import ATTEMPTS, stopped_by_landlock
from tests.levels import need

each_attempt = pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.slug)


@pytest.fixture
def arena() -> Iterator[Callable[[int], Arena]]:
    made: list[Arena] = []

    def make(uid: int) -> Arena:
        made.append(Arena(uid))
        return made[-1]

    yield make
    for each in made:
        each.close()
    on_files.clean_up()


def seen(row: Row, attempt: Attempt, arena: Arena) -> bool:
    done = row.attempt(arena, attempt)
    assert done.exit_code is not None, f"it did not come to an end: {done.tail}"
    assert (arena.workspace / "m.py").exists(), "the cage has nothing of the workspace"
    return attempt.escaped(arena)


def test_there_are_enough() -> None:
    assert len(ATTEMPTS) >= 20
    assert len({attempt.slug for attempt in ATTEMPTS}) == len(ATTEMPTS)


@pytest.mark.req("D6", "W9")
@pytest.mark.parametrize("row", list(bubblewraps()) or [None], ids=lambda row: row.name if row else "none")
@each_attempt
def test_none_leaves_bubblewrap(row: Row | None, attempt: Attempt, arena: Callable[[int], Arena]) -> None:
    if row is None:
        need(Level.BUBBLEWRAP)
        return
    if attempt.own_uid and row.uid != os.geteuid():
        return
    assert not seen(row, attempt, arena(row.uid))


@pytest.mark.req("D6", "W9")
@pytest.mark.parametrize("row", landlocks() or [None], ids=lambda row: row.name if row else "none")
@each_attempt
def test_landlock_stops_what_the_page_says(row: Row | None, attempt: Attempt, arena: Callable[[int], Arena]) -> None:
    """In both directions: what it does not stop is listed, and what is listed is not stopped."""
    if row is None:
        need(Level.LANDLOCK)
        return
    if attempt.own_uid and row.uid != os.geteuid():
        return
    assert seen(row, attempt, arena(row.uid)) is not stopped_by_landlock(attempt, row.use, row.uid, landlock.abi())


def can_be_shown(attempt: Attempt) -> bool:
    if ("keyring" in attempt.does and keyctl(0, -3, 0) <= 0) or (attempt.does == on_sockets.HYPERVISOR and not vsock()):
        return False
    if attempt.escaped is Arena.slowed and os.getpriority(os.PRIO_PROCESS, 0) >= 19:
        return False
    if attempt.control in ("attributes", "processors"):
        return has_attributes() if attempt.control == "attributes" else len(os.sched_getaffinity(0)) > 1
    return attempt.control == "anybody" or (attempt.control == "root" and os.geteuid() == 0)


def has_attributes() -> bool:
    with tempfile.NamedTemporaryFile() as file:
        try:
            os.setxattr(file.name, "user.escape", b"x")
        except OSError:
            return False
        return True


def vsock() -> bool:
    try:
        socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
    except OSError:
        return False
    return True


@pytest.mark.req("D6")
@pytest.mark.parametrize("attempt", [*filter(can_be_shown, ATTEMPTS)], ids=lambda attempt: attempt.slug)
def test_control_without_a_cage_it_succeeds(attempt: Attempt, arena: Callable[[int], Arena]) -> None:
    """Each is a real way out, where that can be shown without touching the machine."""
    place = arena(os.geteuid())
    env = place.variables(attempt.text)
    subprocess.run(attempt.argv(env["PYTHON"]), cwd=place.workspace, env=env, capture_output=True)
    assert attempt.escaped(place)
    left = place.workspace / "daemon"
    if left.exists():
        os.kill(int(left.read_text()), signal.SIGKILL)


@pytest.mark.req("W9")
def test_what_belongs_to_the_work_is_there(arena: Callable[[int], Arena]) -> None:
    """A cage that holds everything back would pass all the others."""
    work = Attempt(
        "works",
        """
set -e
echo x > new.py; mkdir folder; mv new.py folder/; ln -s folder link; rm m.py; touch m.py; mkfifo pipe
touch "$HOME/kept"; test -s "$MIRROR/objects/aa/aa"; test -e "$BRIEF"
git init -q . && git status > /dev/null; "$PYTHON" -c 'import json, ssl'; echo to nobody > /dev/null
sleep 60 & kill $!; echo fine > loot
""",
        Arena.looted,
    )
    rows = [*bubblewraps(), *landlocks()]
    for row in rows:
        place = arena(row.uid)
        done = row.attempt(place, work)
        assert (done.exit_code, place.looted()) == (0, True), f"{row.name}: {done.tail}"
        assert {"kept"} <= {path.name for path in Path(place.home).iterdir()}
