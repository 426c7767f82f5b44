"""What an attempt came to, and the phases and milestones it moves through."""

from typing import Self, assert_never

from damascus.domain.described import Described


class Phase(Described):
    """Where a work item is. See the diagram in engine/lifecycle.py."""

    SPEC = "spec", "a rough story gets what it lacks, from a refiner or from you"
    BUILD = "build", "the agent writes, its work is judged, rebased, judged again, pushed, proposed, green in CI"
    REVIEW = "review", "the pull request is looked at from the row alone, its head judged again"
    MERGE = "merge", "main moves to exactly the tested commit"
    DONE = "done", "the commit is on main, checked by git"
    BLOCKED = "blocked", "a question waits in the inbox; its files and its place in the queue are free for others"
    STALE = "stale", "a spec change made a done story invalid (comes with `change`)"
    CANCELLED = "cancelled", "you ended it"


ACTIVE = (Phase.SPEC, Phase.BUILD, Phase.REVIEW, Phase.MERGE)


class Verdict(Described):
    """The result of an attempt, and what happens `then`. All but `passed` count against the budget: structural."""

    then: str

    def __new__(cls, value: str, means: str = "", then: str = "") -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.means, member.then = means, then
        return member

    PASSED = "passed", "the story is on main", "phase done"
    TESTS_FAILED = (
        "tests_failed",
        "the Test Command is red on the candidate, ran no test, or timed out",
        "next attempt, with output and changed files",
    )
    NOT_RED = "not_red", "the story's tests pass without its code", "next attempt"
    NOTHING_CHANGED = "nothing_changed", "the agent left no change that counts", "next attempt"
    SCOPE_VIOLATION = (
        "scope_violation",
        "a changed path, symlink or nested repository is outside the scope",
        "next attempt, paths named",
    )
    SECRET_FOUND = (
        "secret_found",
        "a key or token in the added lines; nothing was pushed",
        "next attempt, file and line named, never the secret",
    )
    TESTS_WEAKENED = (
        "tests_weakened",
        "a test was deleted, skipped, xfailed or emptied, is no longer green by its name or as main has it, or a file "
        "that judges tests was changed",
        "next attempt; a question, where the story worded it anew and all else is green",
    )
    REQUIREMENT_UNTESTED = (
        "requirement_untested",
        "no test that was red and is green names a requirement",
        "next attempt, ids named",
    )
    CONTRACT_UNMET = (
        "contract_unmet",
        "a line of the task's test contract has no test file, no test in it that passed, or can't be judged",
        "next attempt, line, file and requirement named",
    )
    REGRESSION = (
        "regression",
        "a test that another story promised is red on the candidate and green without it",
        "next attempt, with the other story, its contract and its test named",
    )
    PLAN_FAULTY = "plan_faulty", "the task graph of a plan has faults", "next attempt, each with its line"
    COMMAND_FAILED = "command_failed", "a gate command (lint, types, build …) failed", "next attempt"
    CONTRACT_BROKEN = (
        "contract_broken",
        "a contract of `[contracts]` is not valid, breaks who relies on it, is not kept, or nothing of it could be "
        "checked",
        "next attempt, contract and change named",
    )
    PAGE_NOT_ACCEPTED = (
        "page_not_accepted",
        "a page of `[visual]` does not look as a person accepted it, was never accepted, or no picture of it could be "
        "taken",
        "a question, where all else is green; next attempt, where no picture could be taken",
    )
    ACCEPTANCE_FAILED = (
        "acceptance_failed",
        "the held-out tests failed",
        "next attempt, requirement named, nothing else",
    )
    RUNNER_COMPROMISED = (
        "runner_compromised",
        "a failing test that Damascus laid among the story's was not reported as failed",
        "next attempt",
    )
    CODE_UNPROVED = (
        "code_unproved",
        "a changed function can be emptied and no test notices, code asks whether it is tested, or pleases any test",
        "next attempt, function and mutant named",
    )
    MUTANT_SURVIVED = (
        "mutant_survived",
        'a mutant of a changed line lives: every test stays green with it (`[gates] mutation = "full"`)',
        "next attempt, each with file, line and diff; a person may call them equivalent",
    )
    UNCOVERED = (
        "uncovered",
        "the tests run too few of the changed lines, or of the project's",
        "next attempt, with the lines that no test runs",
    )
    REVIEW_REJECTED = (
        "review_rejected",
        "a critic who reviewed the pull request holds something against it that its author could cure",
        "back to build, with its concerns",
    )
    CI_FAILED = (
        "ci_failed",
        "a CI job that is not optional is red, and not by the infrastructure",
        "next attempt, with the cut log; milestone FIXING_CI; after `[ci] fixes` times blocked",
    )
    REBASE_CONFLICT = (
        "rebase_conflict",
        "the work conflicts with main",
        "next attempt starts from the merge on main, with the conflict as context",
    )
    NO_PR = "no_pr", "the forge has no open pull request with the judged commit", "back to build"
    AGENT_FAILED = (
        "agent_failed",
        "the agent exited non-zero, or was ended: out of time, stuck, over the step's budget "
        "([oversight](oversight.md))",
        "next attempt",
    )
    SPEC_AMBIGUOUS = "spec_ambiguous", "the spec leaves a question open", "blocked, with the questions"
    SPEC_WRONG = "spec_wrong", "the spec can't be built as it stands", "blocked, with the questions"
    WORKER_CRASH = "worker_crash", "twelve rescues in a row inside one step", "blocked, with a question"


class Milestone(Described):
    """How far the worker that holds an item is (W3)."""

    WORKING = "WORKING", "the story is being written and judged here"
    PUSHED_TO_CI = "PUSHED_TO_CI", "the forge has the commit, its CI decides"
    FIXING_CI = "FIXING_CI", "CI is red and the story is to repair it"
    DONE = "DONE", "every CI job of the commit is green"
    BLOCKED = "BLOCKED", "only a person can go on"
    TERMINATED = "TERMINATED", "this worker's part has ended: sent back, begun anew or cancelled"


class Substate(Described):
    """What is worth telling of a worker beside its milestone and its step."""

    RUNNING_OUT_OF_TIME = "running_out_of_time", "the agent was warned"
    WORKING_IN_EXTRA_TIME = "working_in_extra_time", "the agent got more time"


class TaskStatus(Described):
    """The task-graph words: a projection of the row, never stored (A1)."""

    PENDING = "PENDING", "not started"
    IN_PROGRESS = "IN-PROGRESS", "a worker has begun it"
    DONE = "DONE", "on main"
    BLOCKED = "BLOCKED", "a person has to act, or has ended it"
    STALE = "STALE", "what it was built from has changed"


class Kind(Described):
    """What a spec asks to be proved."""

    FEATURE = "feature", "its tests fail without its code and pass with it"
    REFACTOR = "refactor", "the tests that were there pass before and after"
    DOCS = "docs", "no code is changed"
    PLAN = "plan", "an idea becomes a task graph without faults, which a person approves (`damascus plan`)"
    RECORDS = "records", "the files beside the task graph, made by Damascus itself: no agent is sent (`tasks commit`)"


def task_status(phase: Phase, started: bool) -> TaskStatus:
    match phase:
        case Phase.DONE:
            return TaskStatus.DONE
        case Phase.BLOCKED | Phase.CANCELLED:
            return TaskStatus.BLOCKED
        case Phase.STALE:
            return TaskStatus.STALE
        case Phase.SPEC | Phase.BUILD | Phase.REVIEW | Phase.MERGE:
            return TaskStatus.IN_PROGRESS if started else TaskStatus.PENDING
        case _:
            assert_never(phase)
