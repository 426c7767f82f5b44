"""What an attempt came to, and the phases and milestones it moves through."""

from enum import StrEnum


class Phase(StrEnum):
    """Where a work item is. See the diagram in engine/lifecycle.py."""

    SPEC = "spec"
    BUILD = "build"
    REVIEW = "review"
    MERGE = "merge"
    DONE = "done"
    BLOCKED = "blocked"
    STALE = "stale"
    CANCELLED = "cancelled"


ACTIVE = (Phase.SPEC, Phase.BUILD, Phase.REVIEW, Phase.MERGE)


class Verdict(StrEnum):
    """The result of an attempt. All but `passed` are structural: they count against the budget."""

    PASSED = "passed"
    TESTS_FAILED = "tests_failed"
    NOT_RED = "not_red"
    NOTHING_CHANGED = "nothing_changed"
    SCOPE_VIOLATION = "scope_violation"
    SECRET_FOUND = "secret_found"
    TESTS_WEAKENED = "tests_weakened"
    REQUIREMENT_UNTESTED = "requirement_untested"
    COMMAND_FAILED = "command_failed"
    ACCEPTANCE_FAILED = "acceptance_failed"
    RUNNER_COMPROMISED = "runner_compromised"
    CODE_UNPROVED = "code_unproved"
    CI_FAILED = "ci_failed"
    REBASE_CONFLICT = "rebase_conflict"
    NO_PR = "no_pr"
    AGENT_FAILED = "agent_failed"
    SPEC_AMBIGUOUS = "spec_ambiguous"
    SPEC_WRONG = "spec_wrong"
    WORKER_CRASH = "worker_crash"


class Milestone(StrEnum):
    """How far the worker that holds an item is (W3)."""

    WORKING = "WORKING"
    PUSHED_TO_CI = "PUSHED_TO_CI"
    FIXING_CI = "FIXING_CI"
    DONE = "DONE"
    BLOCKED = "BLOCKED"
    TERMINATED = "TERMINATED"


class TaskStatus(StrEnum):
    """The task-graph words: a projection of the row, never stored (A1)."""

    PENDING = "PENDING"
    IN_PROGRESS = "IN-PROGRESS"
    DONE = "DONE"
    BLOCKED = "BLOCKED"
    STALE = "STALE"


class Kind(StrEnum):
    """What a spec asks to be proved."""

    FEATURE = "feature"
    REFACTOR = "refactor"
    DOCS = "docs"


def task_status(phase: Phase, started: bool) -> TaskStatus:
    match phase:
        case Phase.DONE:
            return TaskStatus.DONE
        case Phase.BLOCKED | Phase.CANCELLED:
            return TaskStatus.BLOCKED
        case Phase.STALE:
            return TaskStatus.STALE
        case _:
            return TaskStatus.IN_PROGRESS if started else TaskStatus.PENDING
