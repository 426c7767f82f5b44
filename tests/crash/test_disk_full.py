"""The disk is full where the story is worked on: that is trouble outside it, waited for, at no cost (T1, T2)."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.conftest import Fields
from tests.crash.field import Field
from tests.crash.invariants import check_invariants, check_landed_once
from tests.waiting import eventually

BIG = "head -c 3000000 /dev/zero > $name.sh || exit 1"


@pytest.fixture
def field(fields: Fields) -> Iterator[Field]:
    """Its workspaces lie on a small disk of their own."""
    made = fields()
    disk = made.yard.project.worktrees
    disk.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip(f"needs root for: {' '.join(command)}")
    yield made
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk: Path) -> Path:
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            return ballast


def waits(field: Field) -> bool:
    return bool(field.yard.events("S-1", "phase.transient_retry"))


@pytest.mark.slow
@pytest.mark.req("T1", "T2", "D20")
def test_no_room_for_the_workspace(field: Field) -> None:
    ballast = fill(field.yard.project.worktrees)
    field.add("S-1")
    worker = field.start()

    eventually(lambda: waits(field), 30, "a transient failure")
    assert field.yard.item("S-1")["attempts"] == 0
    ballast.unlink()

    assert worker.end() == 0, worker.told()
    check_landed_once(field, "S-1")
    check_invariants(field)


@pytest.mark.slow
@pytest.mark.req("T1", "T2", "D20")
def test_an_agent_that_failed_because_its_disk_was_full_has_not_failed(field: Field) -> None:
    """Its exit code is no verdict on the story then. What it had written is kept."""
    field.add("S-1")
    worker = field.start(agent=field.make_agent(BIG, "greedy"))

    eventually(lambda: waits(field), 30, "a transient failure")
    assert field.yard.item("S-1")["attempts"] == 0
    disk = field.yard.project.worktrees
    subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)

    assert worker.end() == 0, worker.told()
    check_landed_once(field, "S-1")
    check_invariants(field)
