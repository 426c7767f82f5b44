"""A supervised step: real commands, real daemons, real kills."""

import hashlib
import os
import select
import signal
import socket
import threading
import time
import tracemalloc
from typing import Any

import pytest

from damascus.domain.storable import OUTPUT_LIMIT
from damascus.system import process
from damascus.system.spawner import KeeperLine
from tests.system.steps import ENV, IGNORES_TERM, OF_LIBC, Steps
from tests.waiting import LONG

# ── how it ends ───────────────────────────────────────────────────────────────────────────────────────


def test_exit_code_output_and_time(steps: Steps) -> None:
    done = steps("echo out; echo err >&2; exit 3")
    assert (done.exit_code, done.timed_out, done.stopped) == (3, False, False)
    assert done.tail == "out\nerr\n" == steps.log.read_text()
    assert 0 < done.seconds < LONG


def test_exit_by_signal_is_negative(steps: Steps) -> None:
    assert steps("kill -SEGV $$").exit_code == -signal.SIGSEGV


def test_stderr_apart(steps: Steps) -> None:
    done = steps("echo out; echo err >&2", merge_stderr=False)
    assert steps.log.read_text() == "out\n"
    assert steps.log.with_name("step.log.stderr").read_text() == "err\n"
    assert sorted(done.tail.split()) == ["err", "out"]


def test_output_is_streamed_as_it_comes(steps: Steps) -> None:
    def release_once_logged() -> bool:
        if steps.log.exists() and "first" in steps.log.read_text():
            (steps.folder / "go").touch()
        return False

    done = steps("echo first; until test -e go; do sleep 0.02; done; echo second", stopping=release_once_logged)
    assert done.tail == "first\nsecond\n"


@pytest.mark.parametrize("closing", ["exec >&- 2>&-; sleep 0.1", "exec >/dev/null 2>&1; sleep 0.1"])
def test_closed_output_is_no_end(steps: Steps, closing: str) -> None:
    done = steps(f"{closing}; exit 4")
    assert done.exit_code == 4
    assert done.seconds >= 0.1


def test_the_normal_case_is_not_polled(steps: Steps) -> None:
    """Waiting in naps would cost every one of thousands of runs; a nap here is POLL (100 ms)."""
    steps("true")
    assert min(steps(["true"]).seconds for _ in range(30)) < process.POLL / 2


class SlowSocket(socket.socket):
    """A worker that was held up right after it had sent."""

    def sendmsg(self, *args: Any) -> int:
        sent = super().sendmsg(*args)
        select.select([self], [], [])
        return sent


def test_a_command_runs_once_however_fast_it_is() -> None:
    """It may end before the worker has so much as looked: that must not pass for a keeper that took nothing."""
    mine, theirs = socket.socketpair()

    def keeper() -> None:
        with theirs:
            theirs.recv(1000)
            theirs.sendall(b'{"status": 0, "sure": true}\n')
            theirs.shutdown(socket.SHUT_RDWR)

    thread = threading.Thread(target=keeper)
    thread.start()
    line = KeeperLine(SlowSocket(fileno=mine.detach()))
    with open(os.devnull) as nothing:
        line.give(b"{}\n", (nothing.fileno(),) * 3)
    thread.join()
    assert line.hear() == [{"status": 0, "sure": True}]
    line.close()


# ── what it is given ──────────────────────────────────────────────────────────────────────────────────


def test_environment_is_exactly_what_was_given(steps: Steps) -> None:
    names = {line.partition("=")[0] for line in steps(["env"], env=ENV | {"A": "1"}).tail.splitlines()}
    assert names == {"PATH", "A", process.TOKEN}


def test_no_descriptor_and_no_ignored_signal_is_inherited(steps: Steps) -> None:
    assert steps(["ls", "/proc/self/fd"]).tail.split() == ["0", "1", "2", "3"]  # 3: ls reading the folder
    status = steps(["cat", "/proc/self/status"]).tail
    masks = dict(line.split(":\t") for line in status.splitlines() if line.startswith("Sig") and ":\t" in line)
    assert [int(masks[name], 16) & ~OF_LIBC for name in ("SigIgn", "SigBlk", "SigCgt")] == [0, 0, 0]


def test_stdin_of_a_megabyte(steps: Steps) -> None:
    data = os.urandom(1_000_000)
    assert steps("sha256sum", stdin=data).tail.split()[0] == hashlib.sha256(data).hexdigest()


def test_stdin_that_nobody_reads(steps: Steps) -> None:
    assert steps("exec <&-; echo fine", stdin=b"x" * 1_000_000).tail == "fine\n"
    assert steps("head -c 3", stdin=b"abc" * 1_000_000).tail == "abc"


def test_no_stdin_is_an_empty_one(steps: Steps) -> None:
    assert steps("cat; echo end").tail == "end\n"


def test_undecodable_names_pass_through(steps: Steps) -> None:
    name = os.fsdecode(b"caf\xe9 \xff")
    assert steps(["touch", name]).exit_code == 0
    assert name in os.listdir(steps.folder)


# ── floods ────────────────────────────────────────────────────────────────────────────────────────────


def test_undecodable_bytes(steps: Steps) -> None:
    done = steps(r"printf 'a\377b\0c\303'")
    assert done.tail == "a�bc�"
    assert steps.log.read_bytes() == b"a\xffb\0c\xc3"


@pytest.mark.req("W22")
def test_a_flood_of_nuls_hides_nothing(steps: Steps) -> None:
    done = steps("echo begin; head -c 30000000 /dev/zero; echo end", log_limit=1_000_000)
    assert done.tail == "begin\nend\n"
    assert steps.log.stat().st_size <= 1_000_000
    assert steps.log.read_bytes().startswith(b"begin\n")
    assert steps.log.read_bytes().endswith(b"end\n")


def test_200_mb_fill_neither_disk_nor_memory(steps: Steps) -> None:
    tracemalloc.start()
    try:
        done = steps("yes 0123456789 | head -c 200000000; echo the end", log_limit=2_000_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert done.exit_code == 0
    assert peak < 5_000_000
    log = steps.log.read_text()
    assert len(log.encode()) <= 2_000_000
    assert "bytes left out" in log
    assert log.startswith("0123456789\n") and log.endswith("the end\n")
    assert done.tail.endswith("the end\n") and len(done.tail) <= OUTPUT_LIMIT


def test_a_log_just_over_its_limit_loses_nothing_it_can_hold(steps: Steps) -> None:
    done = steps("printf 0123456789", log_limit=8)
    assert done.tail == "0123456789"
    assert steps.log.read_bytes().startswith(b"0123\n")
    assert "6 bytes left out" in steps.log.read_text()
    steps("printf 0123456789", log_limit=1000)
    assert steps.log.read_bytes() == b"0123456789"


def test_the_tail_is_not_cut_inside_a_character(steps: Steps) -> None:
    done = steps("yes ö | head -c 99999")
    assert "�" not in done.tail


# ── limits ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_hang_ends_at_the_timeout(steps: Steps) -> None:
    done = steps("echo begun; sleep 300", timeout=0.3)
    assert (done.exit_code, done.timed_out, done.stopped) == (None, True, False)
    assert done.tail == "begun\n"
    assert 0.3 <= done.seconds < LONG


def test_sigterm_comes_first(steps: Steps) -> None:
    done = steps("trap 'echo saved; exit 0' TERM; while :; do sleep 0.05; done", timeout=0.3)
    assert (done.exit_code, done.timed_out) == (None, True)
    assert done.tail.endswith("saved\n")


def test_sigkill_for_what_ignores_sigterm(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 0.4)
    done = steps(IGNORES_TERM, timeout=0.3)
    assert (done.exit_code, done.timed_out) == (None, True)
    assert 0.7 <= done.seconds < LONG


def test_stopping(steps: Steps) -> None:
    done = steps("echo up > ready; sleep 300", stopping=lambda: steps.there("ready"))
    assert (done.exit_code, done.timed_out, done.stopped) == (None, False, True)
    assert done.seconds < LONG


def test_stopping_a_second_time_is_at_once(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 2 * LONG)
    answers = iter([0, 1, 1])
    done = steps(IGNORES_TERM, stopping=lambda: next(answers, 2) if steps.there("ready") else 0)
    assert (done.exit_code, done.stopped) == (None, True)
    assert done.seconds < LONG


def test_stopping_after_the_timeout_shortens_the_grace(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 2 * LONG)
    begun = time.monotonic()
    done = steps(IGNORES_TERM, timeout=0.5, stopping=lambda: time.monotonic() - begun > 1)
    assert (done.timed_out, done.stopped) == (True, False)
    assert done.seconds < LONG


def test_a_flood_is_stopped_too(steps: Steps) -> None:
    done = steps("cat /dev/zero", timeout=0.5, log_limit=10_000)
    assert done.timed_out and done.seconds < LONG
