"""One documented table: which trouble is whose, and what is done about it (T1, W19).

Only errors of our own calls (git, forge, gateway, file system) and an agent's exit 75 are looked at. What a
test or an agent prints is never matched.
"""

import errno
import re
from dataclasses import dataclass
from typing import Self

from damascus.domain.described import Described
from damascus.domain.verdict import Verdict

AGENT_UNAVAILABLE = 75
"""The exit code by which an agent says that its provider is unavailable (EX_TEMPFAIL)."""


class FailureClass(Described):
    """How bad a failure is, and who acts."""

    TRANSIENT = "transient", "trouble outside the story: it is tried again, nothing is charged"
    RECOVERABLE = "recoverable", "the story's own: the next attempt is told what was wrong"
    BLOCKING = "blocking", "no attempt can help: a person is asked"
    PERMISSION = "permission", "something is refused that only a person can allow"
    FATAL = "fatal", "what was promised is broken: an alarm, and a person decides"


RETRY = "the call is tried 3 times (after 1 s, doubling, at most 60 s), then the story waits; nothing is charged"
REWORK = "an attempt is spent; the next one gets the feedback"
ASK = "blocked, with a question in the inbox"
STOP = "one question for the project; no agent is sent until it is answered or fixed; nothing is charged"


class FailureKind(Described):
    """What can go wrong: how it is seen (`means`), how bad it is, and what happens then."""

    severity: FailureClass
    action: str

    def __new__(
        cls, value: str, means: str = "", severity: FailureClass = FailureClass.BLOCKING, action: str = ASK
    ) -> Self:
        member = str.__new__(cls, value)
        member._value_ = str(value)
        member.means, member.severity, member.action = means, severity, action
        return member

    REPOSITORY_UNREACHABLE = (
        "repository not cloned or unreachable",
        "git: no such repository, could not read",
        FailureClass.TRANSIENT,
        RETRY,
    )
    CONNECTION_LOST = (
        "connection refused or reset",
        "ECONNREFUSED, ECONNRESET, EPIPE; git: connection",
        FailureClass.TRANSIENT,
        RETRY,
    )
    CALL_TIMED_OUT = "one of our calls timed out", "ETIMEDOUT, the call's own limit", FailureClass.TRANSIENT, RETRY
    SERVER_UNAVAILABLE = "502, 503, 504", "status of the forge's or gateway's answer", FailureClass.TRANSIENT, RETRY
    RATE_LIMIT = "rate limit reached", "status 429", FailureClass.TRANSIENT, RETRY
    NAME_RESOLUTION = "name resolution", "EAI_AGAIN; git: could not resolve host", FailureClass.TRANSIENT, RETRY
    DISK_OR_LOCK = (
        "disk full or lock contention",
        "ENOSPC, EDQUOT, EAGAIN, EBUSY; git: *.lock exists",
        FailureClass.TRANSIENT,
        RETRY,
    )
    PROVIDER_UNAVAILABLE = (
        "agent's provider unavailable",
        "the agent exits 75, its adapter says so, or more API errors in a row than time.api_errors",
        FailureClass.TRANSIENT,
        "the story waits, until the rate limit ends where it says when; nothing is charged",
    )
    BUDGET_RESERVED = (
        "the project's budget is reserved",
        "what is left, less what running steps have reserved",
        FailureClass.TRANSIENT,
        "the story waits 10 s and looks again; nothing is charged",
    )
    TESTS_FAILED = Verdict.TESTS_FAILED, "the Test Command on the candidate", FailureClass.RECOVERABLE, REWORK
    NOT_RED = Verdict.NOT_RED, "the Test Command on the base with the new tests", FailureClass.RECOVERABLE, REWORK
    NOTHING_CHANGED = (
        Verdict.NOTHING_CHANGED,
        "git: the candidate's tree is the base's",
        FailureClass.RECOVERABLE,
        REWORK,
    )
    SCOPE_VIOLATION = (
        Verdict.SCOPE_VIOLATION,
        "git: a changed path is not in the scope",
        FailureClass.RECOVERABLE,
        REWORK,
    )
    SECRET_FOUND = Verdict.SECRET_FOUND, "gate secrets, before anything is pushed", FailureClass.RECOVERABLE, REWORK
    TESTS_WEAKENED = Verdict.TESTS_WEAKENED, "gates weakened_tests and old_tests", FailureClass.RECOVERABLE, REWORK
    REQUIREMENT_UNTESTED = Verdict.REQUIREMENT_UNTESTED, "gate requirements", FailureClass.RECOVERABLE, REWORK
    CONTRACT_UNMET = (
        Verdict.CONTRACT_UNMET,
        "gate test_contracts, against the frozen spec",
        FailureClass.RECOVERABLE,
        REWORK,
    )
    REGRESSION = (
        Verdict.REGRESSION,
        "gate impact: tests of who owns a changed file, on the candidate and on the base",
        FailureClass.RECOVERABLE,
        REWORK,
    )
    PLAN_FAULTY = Verdict.PLAN_FAULTY, "`tasks check` on the graph of a plan", FailureClass.RECOVERABLE, REWORK
    COMMAND_FAILED = Verdict.COMMAND_FAILED, "a gate command (lint, types, build …)", FailureClass.RECOVERABLE, REWORK
    CONTRACT_BROKEN = (
        Verdict.CONTRACT_BROKEN,
        "gate contracts, against the base commit",
        FailureClass.RECOVERABLE,
        REWORK,
    )
    PAGE_NOT_ACCEPTED = (
        Verdict.PAGE_NOT_ACCEPTED,
        "gate visual: a browser's picture against the accepted one",
        FailureClass.RECOVERABLE,
        "blocked, with the pictures; where none could be taken an attempt is spent",
    )
    ACCEPTANCE_FAILED = Verdict.ACCEPTANCE_FAILED, "the held-out acceptance tests", FailureClass.RECOVERABLE, REWORK
    RUNNER_COMPROMISED = (
        Verdict.RUNNER_COMPROMISED,
        "a failing test of ours that the run does not show",
        FailureClass.RECOVERABLE,
        REWORK,
    )
    CODE_UNPROVED = (
        Verdict.CODE_UNPROVED,
        "mutants of the changed functions that no test notices",
        FailureClass.RECOVERABLE,
        REWORK,
    )
    MUTANT_SURVIVED = (
        Verdict.MUTANT_SURVIVED,
        "mutants of the changed lines that no test notices",
        FailureClass.RECOVERABLE,
        REWORK,
    )
    REVIEW_REJECTED = (
        Verdict.REVIEW_REJECTED,
        "the code-critic or the security-reviewer of the pull request",
        FailureClass.RECOVERABLE,
        REWORK,
    )
    UNCOVERED = (
        Verdict.UNCOVERED,
        "lines that a run of the tests did not reach",
        FailureClass.RECOVERABLE,
        REWORK,
    )
    CI_FAILED = (
        Verdict.CI_FAILED,
        "a CI job on the pushed commit that is not optional",
        FailureClass.RECOVERABLE,
        REWORK,
    )
    REBASE_CONFLICT = (
        Verdict.REBASE_CONFLICT,
        "git: the candidate does not apply on main",
        FailureClass.RECOVERABLE,
        REWORK,
    )
    NO_PR = Verdict.NO_PR, "the forge has no pull request for the story", FailureClass.RECOVERABLE, REWORK
    AGENT_FAILED = (
        Verdict.AGENT_FAILED,
        "the agent's exit code, or why it was ended: time, idle, no_write, tokens, turns, money, hook",
        FailureClass.RECOVERABLE,
        REWORK,
    )
    SPEC_AMBIGUOUS = Verdict.SPEC_AMBIGUOUS, "phase spec", FailureClass.BLOCKING, ASK
    SPEC_WRONG = Verdict.SPEC_WRONG, "phase spec, or a frozen spec that does not parse", FailureClass.BLOCKING, ASK
    WORKER_CRASH = Verdict.WORKER_CRASH, "twelve rescues in a row inside one step", FailureClass.BLOCKING, ASK
    TRANSIENT_FOR_A_DAY = "transient for over 24 h", "the series' start", FailureClass.BLOCKING, ASK
    BUDGET_SPENT = (
        "a budget is spent",
        "what the story or the project has used, before an agent is sent and while it runs",
        FailureClass.BLOCKING,
        "blocked; a person raises it or cancels",
    )
    GATEWAY_REFUSES_KEY_OR_MODEL = (
        "the gateway refuses the key or the model",
        "status 401, 403 or 404, or 400 for the model's name, of the ping or as an agent's last answer",
        FailureClass.PERMISSION,
        STOP,
    )
    GATEWAY_REFUSES_REQUEST = (
        "the gateway refuses a request",
        "another status 4xx but 408 and 429, more in a row than time.api_errors",
        FailureClass.PERMISSION,
        ASK,
    )
    AGENT_CANNOT_START = (
        "the agent's program can't be started",
        "it is not there or not executable, or exits 126 or 127",
        FailureClass.PERMISSION,
        STOP,
    )
    TOOL_DENIED_TWICE = (
        "a tool denied twice in a row",
        "the agent's permission system or the sandbox, as its adapter sees it",
        FailureClass.PERMISSION,
        "the agent is ended, its work saved; a person fixes the permission, gives other instructions, or takes over",
    )
    FORGE_DENIES = (
        "permission denied by the forge",
        "status 401 or 403, EACCES on our own files",
        FailureClass.PERMISSION,
        ASK,
    )
    SECRET_PUSHED = (
        "secret on a pushed commit",
        "not looked for: gate secrets refuses it before the push",
        FailureClass.FATAL,
        "by hand: damascus hold stops the repository and its chain",
    )
    MAIN_LOST_A_COMMIT = (
        "main lost a landed commit",
        "maintenance/landed: done but not on main",
        FailureClass.FATAL,
        "an alarm and a question in the inbox; the story stays done, nothing else is held",
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
