"""One table says which trouble is whose; only our own calls are looked at, never what a test or an agent prints."""

import errno

import pytest

from damascus.domain.failures import (
    AGENT_UNAVAILABLE,
    CallRetry,
    FailureClass,
    FailureKind,
    transient_git_output,
    transient_os_error,
    transient_status,
)
from damascus.domain.policy import BACKOFF_FIRST, BACKOFF_MOST
from damascus.domain.verdict import Verdict


@pytest.mark.req("W19", "T1")
def test_every_verdict_has_exactly_one_row() -> None:
    members = [str(kind) for kind in FailureKind]
    assert len(members) == len(FailureKind.__members__), "no two have the same words"
    assert [v for v in Verdict if v != Verdict.PASSED and members.count(v) != 1] == []
    assert {kind.severity for kind in FailureKind} == set(FailureClass)
    assert all(kind.means and kind.action for kind in FailureKind)


@pytest.mark.req("T1")
def test_no_verdict_is_transient() -> None:
    transient = {str(kind) for kind in FailureKind if kind.severity is FailureClass.TRANSIENT}
    assert not transient & set(Verdict)
    for word in (
        "not cloned",
        "refused or reset",
        "timed out",
        "502, 503, 504",
        "rate limit",
        "name resolution",
        "disk",
    ):
        assert any(word in member for member in transient), word


@pytest.mark.req("T1")
@pytest.mark.parametrize(
    "number",
    ["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "ENOSPC", "EDQUOT", "EAGAIN", "EBUSY", "EHOSTUNREACH"],
)
def test_our_own_calls_trouble_outside_is_transient(number: str) -> None:
    assert transient_os_error(OSError(getattr(errno, number), "x"))


@pytest.mark.req("T1")
@pytest.mark.parametrize("number", ["EACCES", "ENOENT", "EISDIR", "EINVAL", "EROFS"])
def test_what_waiting_does_not_cure_is_not_transient(number: str) -> None:
    assert not transient_os_error(OSError(getattr(errno, number), "x"))


@pytest.mark.req("T1")
def test_a_time_out_and_a_lost_connection_are_transient_without_a_number() -> None:
    assert transient_os_error(TimeoutError()) and transient_os_error(ConnectionResetError())


@pytest.mark.req("T1")
@pytest.mark.parametrize(
    ("status", "transient"),
    [(s, s in (429, 502, 503, 504)) for s in (200, 401, 403, 404, 409, 429, 500, 502, 503, 504)],
)
def test_status(status: int, transient: bool) -> None:
    assert transient_status(status) == transient


GIT = {
    "fatal: unable to access 'https://x/': Could not resolve host: x": True,
    "fatal: unable to connect: Connection refused": True,
    "error: RPC failed; curl 56 Connection reset by peer": True,
    "fatal: early EOF": True,
    "fatal: the remote end hung up unexpectedly": True,
    "fatal: Unable to create '/r/.git/index.lock': File exists.": True,
    "error: file write error: No space left on device": True,
    "fatal: '/gone' does not appear to be a git repository": True,
    "fatal: repository '/gone' does not exist": True,
    "error: The requested URL returned error: 503": True,
    "CONFLICT (content): Merge conflict in a.py": False,
    "fatal: bad revision 'x'": False,
    "error: 502 tests failed": False,
    "! [rejected] main -> main (non-fast-forward)": False,
}


@pytest.mark.req("T1")
@pytest.mark.parametrize("stderr", GIT)
def test_git_says_what_is_transient(stderr: str) -> None:
    assert transient_git_output(stderr) == GIT[stderr]


@pytest.mark.req("W19", "T2")
def test_the_published_numbers() -> None:
    retry = CallRetry()
    assert (retry.attempts, retry.first_seconds, retry.most_seconds) == (3, 1.0, 60.0)
    assert (BACKOFF_FIRST.total_seconds(), BACKOFF_MOST.total_seconds()) == (1, 300)
    assert AGENT_UNAVAILABLE == 75
