"""One documented table: which trouble is whose, and what is done about it (T1, W19).

Only errors of our own calls (git, forge, gateway, file system) and an agent's exit 75 are looked at. What a
test or an agent prints is never matched.
"""

import errno
import re
from dataclasses import dataclass
from enum import StrEnum

AGENT_UNAVAILABLE = 75
"""The exit code by which an agent says that its provider is unavailable (EX_TEMPFAIL)."""


class FailureClass(StrEnum):
    """How bad a failure is, and who acts."""

    TRANSIENT = "transient"
    RECOVERABLE = "recoverable"
    BLOCKING = "blocking"
    PERMISSION = "permission"
    FATAL = "fatal"


@dataclass(frozen=True)
class Row:
    """One line of the table in docs/VERIFICATION.md."""

    member: str
    cls: FailureClass
    detector: str
    action: str


RETRY = "retry the call 3 times (1 s, doubling, at most 60 s), then wait as T2; nothing is charged"
REWORK = "an attempt is spent; the next one gets the feedback"
ASK = "blocked, with a question in the inbox"
STOP = "one question for the project; no agent is sent until it is answered or mended; nothing is charged"
HALT = "hold on the repository, every worker in its chain stops, a person decides, a revert is suggested"

TABLE: tuple[Row, ...] = (
    Row(
        "repository not cloned or unreachable",
        FailureClass.TRANSIENT,
        "git: no such repository, could not read",
        RETRY,
    ),
    Row(
        "connection refused or reset",
        FailureClass.TRANSIENT,
        "ECONNREFUSED, ECONNRESET, EPIPE; git: connection",
        RETRY,
    ),
    Row("time-out of a call of ours", FailureClass.TRANSIENT, "ETIMEDOUT, the call's own limit", RETRY),
    Row("502, 503, 504", FailureClass.TRANSIENT, "status of the forge's or gateway's answer", RETRY),
    Row("rate limit", FailureClass.TRANSIENT, "status 429", RETRY),
    Row("name resolution", FailureClass.TRANSIENT, "EAI_AGAIN; git: could not resolve host", RETRY),
    Row(
        "disk full or lock contention",
        FailureClass.TRANSIENT,
        "ENOSPC, EDQUOT, EAGAIN, EBUSY; git: *.lock exists",
        RETRY,
    ),
    Row(
        "agent's provider unavailable",
        FailureClass.TRANSIENT,
        "the agent exits 75, its adapter says so, or more API errors in a row than time.api_errors",
        "wait as T2, or until the rate limit ends where it says when; nothing is charged",
    ),
    Row(
        "the project's budget is reserved",
        FailureClass.TRANSIENT,
        "what is left, less what steps that run have reserved",
        "wait 10 s and look again; nothing is charged",
    ),
    Row("tests_failed", FailureClass.RECOVERABLE, "the Test Command on the candidate", REWORK),
    Row("not_red", FailureClass.RECOVERABLE, "the Test Command on the base with the new tests", REWORK),
    Row("nothing_changed", FailureClass.RECOVERABLE, "git: the candidate's tree is the base's", REWORK),
    Row("scope_violation", FailureClass.RECOVERABLE, "git: a changed path is not in the scope", REWORK),
    Row("secret_found", FailureClass.RECOVERABLE, "gate secrets, before anything is pushed", REWORK),
    Row("tests_weakened", FailureClass.RECOVERABLE, "gates weakened_tests and old_tests", REWORK),
    Row("requirement_untested", FailureClass.RECOVERABLE, "gate requirements", REWORK),
    Row("command_failed", FailureClass.RECOVERABLE, "a command of [gates.commands]", REWORK),
    Row("acceptance_failed", FailureClass.RECOVERABLE, "the held-out acceptance tests", REWORK),
    Row("runner_compromised", FailureClass.RECOVERABLE, "a failing test of ours that the run does not show", REWORK),
    Row("code_unproved", FailureClass.RECOVERABLE, "mutants of the changed functions that no test notices", REWORK),
    Row("ci_failed", FailureClass.RECOVERABLE, "a CI job on the pushed commit that is not optional", REWORK),
    Row("rebase_conflict", FailureClass.RECOVERABLE, "git: the candidate does not apply on main", REWORK),
    Row("no_pr", FailureClass.RECOVERABLE, "the forge has no pull request for the story", REWORK),
    Row(
        "agent_failed",
        FailureClass.RECOVERABLE,
        "the agent's exit code, or why it was ended: time, idle, no_write, tokens, turns, money, hook",
        REWORK,
    ),
    Row("spec_ambiguous", FailureClass.BLOCKING, "phase spec", ASK),
    Row("spec_wrong", FailureClass.BLOCKING, "phase spec, or a frozen spec that does not parse", ASK),
    Row("worker_crash", FailureClass.BLOCKING, "twelve rescues in a row inside one step", ASK),
    Row("transient for over 24 h", FailureClass.BLOCKING, "the series' start", ASK),
    Row(
        "a budget is spent",
        FailureClass.BLOCKING,
        "what the story or the project has used, before an agent is sent and while it runs",
        "blocked; a person raises it or cancels",
    ),
    Row(
        "the gateway refuses the key or the model",
        FailureClass.PERMISSION,
        "status 401, 403 or 404, or 400 for the model's name, of the ping or as an agent's last answer",
        STOP,
    ),
    Row(
        "the gateway refuses a request",
        FailureClass.PERMISSION,
        "another status 4xx but 408 and 429, more in a row than time.api_errors",
        ASK,
    ),
    Row(
        "the agent's program can't be started",
        FailureClass.PERMISSION,
        "it is not there or not executable, or exits 126 or 127",
        STOP,
    ),
    Row(
        "a tool denied twice in a row",
        FailureClass.PERMISSION,
        "the agent's permission system or the sandbox, as its adapter sees it",
        "the agent is ended, its work saved; fix the permission, respawn with other instructions, or hand to a person",
    ),
    Row(
        "permission denied by the forge",
        FailureClass.PERMISSION,
        "status 401 or 403, EACCES on our own files",
        ASK,
    ),
    Row(
        "secret on a pushed commit",
        FailureClass.FATAL,
        "gate secrets on a commit that the forge already has",
        HALT,
    ),
    Row("main lost a landed commit", FailureClass.FATAL, "maintenance/landed: done but not on main", ASK),
)

TRANSIENT_ERRNO = {
    errno.ECONNREFUSED,
    errno.ECONNRESET,
    errno.EPIPE,
    errno.ETIMEDOUT,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EAGAIN,
    errno.EBUSY,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
}
TRANSIENT_STATUS = {429, 502, 503, 504}
REFUSING_STATUS = {401, 403, 404}
"""Of a model gateway: its key, its model or its address is wrong, for every story alike."""
CANNOT_START = (126, 127)
"""What a shell, and we, say of a program that is not there or not executable."""
TRANSIENT_GIT = re.compile(
    r"could not resolve host|connection (refused|reset|timed out)|early EOF|the remote end hung up|"
    r"unable to create '.*\.lock'|another git process|cannot lock ref .*: unable to create|"
    r"no space left on device|disk quota exceeded|does not appear to be a git repository|"
    r"could not read from remote repository|repository .* (not found|does not exist)|"
    r"(requested url returned error:?|http) (429|502|503|504)|cannot fork|resource temporarily unavailable|"
    r"unable to write (file|loose object)|file write error",
    re.IGNORECASE,
)


def transient_os_error(err: OSError) -> bool:
    return isinstance(err, TimeoutError | ConnectionError) or err.errno in TRANSIENT_ERRNO


def transient_git_output(stderr: str) -> bool:
    """Git's own stderr, from a call of ours. Never an agent's or a test's output."""
    return TRANSIENT_GIT.search(stderr) is not None


def transient_status(status: int) -> bool:
    return status in TRANSIENT_STATUS


@dataclass(frozen=True)
class CallRetry:
    """How one call of ours is retried before the story waits (W19)."""

    attempts: int = 3
    first_seconds: float = 1.0
    most_seconds: float = 60.0
