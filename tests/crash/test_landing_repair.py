"""Killed while git writes 300 files into the person's checkout: the heir puts it right and lands (F13, F14).

tests/git/test_landing_killed.py knows every moment of it; here the whole way through the engine is proved.
"""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.crash.conftest import Fields
from tests.crash.field import Field, WorkerProcess
from tests.crash.invariants import check_invariants

FILES = [f"many/f{n:03}.txt" for n in range(300)]
WATCHED = FILES[120]
AGENT = """\
for n in $(seq -f %03g 0 299); do i=0; while [ $i -lt 200 ]; do echo "{name} $n"; i=$((i+1)); done > many/f$n.txt; done
mkdir -p tests
printf '# REQ-001\\ngrep -q "{name} 120" {watched}\\n' > tests/test_{name}.sh
"""
TRIES = 8


@pytest.mark.slow
@pytest.mark.req("D20", "F13", "F14")
def test_killed_in_the_middle_of_writing_main(fields: Fields) -> None:
    """Tried with story after story until the kill came while main's files were half new."""
    field = fields(files=dict.fromkeys(FILES, "old\n" * 200))
    field.yard.write({"notes.txt": "an unsaved thought\n"})

    for n in range(1, TRIES + 1):
        half = killed_half_way(field, f"S-{n}")
        field.finish(agent=agent(field, f"S-{n}"))
        assert field.yard.item(f"S-{n}")["phase"] == "done", field.yard.questions()
        assert (field.yard.repo / WATCHED).read_text().startswith(f"S-{n} 120\n")
        assert field.yard.item(f"S-{n}")["attempts"] == 0
        assert (field.yard.repo / "notes.txt").read_text() == "an unsaved thought\n"
        if half:
            break
    assert half, f"in {TRIES} tries no kill came in time"
    (field.yard.repo / "notes.txt").unlink()
    check_invariants(field)


def killed_half_way(field: Field, name: str) -> bool:
    """Kill the worker and its git as soon as one of the files is new. True: main was left half written."""
    scope = ["many/**", f"tests/test_{name}.sh"]
    field.add(name, scope=scope)
    old = field.yard.main()
    worker = field.start(agent=agent(field, name))
    wait_until_new(worker, field.yard.repo / WATCHED, name)
    working = children(worker.pid)  # git has a session of its own: a machine that goes down takes both
    for pid in (*working, worker.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert worker.end() == -signal.SIGKILL, worker.told()
    return field.yard.main() == old and (field.yard.repo / ".git/index.lock").exists()


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(word) for task in tasks for word in (task / "children").read_text().split()]


def wait_until_new(worker: WorkerProcess, file: Path, name: str) -> None:
    """As `eventually`, but with no pause: the moment lasts milliseconds."""
    deadline = time.monotonic() + 60
    while True:
        try:
            if file.read_bytes().startswith(name.encode()):
                return
        except FileNotFoundError:
            pass
        assert time.monotonic() < deadline, worker.told()


def agent(field: Field, name: str) -> str:
    path = field.folder / f"writes-{name}.sh"
    path.write_text(AGENT.format(name=name, watched=WATCHED))
    return f"sh {path}"
