"""Every event that Damascus writes: its name, its sentence, and the fields of its body.

Each is written in the transaction of what it tells. The table in docs/lifecycle.md is made from this one, and what
every test has written is compared with it when the test ends (tests/databases.py).
"""

from typing import Self

from damascus.domain.described import Described
from damascus.domain.verdict import Verdict

PROGRESS = (
    "jobs_passed", "total_jobs", "files_modified", "estimated_files", "diagnosis_complete", "fix_applied", "verified",
)  # fmt: skip


class EventKind(Described):
    """`fields` are all that its body may hold; which of them are there depends on what is known."""

    fields: tuple[str, ...]

    def __new__(cls, value: str, means: str = "", *fields: str) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.means, member.fields = means, fields
        return member

    STORY_ADDED = "story.added", "a story was queued, its spec frozen", "story", "spec"
    STORY_REPLACED = (
        "story.replaced",
        "a blocked or cancelled story got a new spec, a new run and a new budget",
        "story",
        "spec",
    )
    ITEM_CLAIMED = "item.claimed", "a worker took the item", "worker", "fence", "phase", "run"
    ITEM_RESCUED = "item.rescued", "the item was taken from a worker that is gone", "worker", "why", "rescues", "fence"
    ITEM_RELEASED = "item.released", "a worker that stops gave the item back", "reason"
    ITEM_WAITS = "item.waits", "the run ended to wait for a fact", "kind", "key", "message"
    RUN_RESUMED = "run.resumed", "another claim goes on with a run that was begun", "run", "phase", "milestone"
    RUN_RESTARTED = (
        "run.restarted",
        "another version of the script, or another host, took over: a new run, nothing charged",
        "run",
        "phase",
        "why",
    )
    AGENT_STARTED = "agent.started", "an agent step began", "role", "attempt"
    AGENT_WARNED = "agent.warned", "an agent step's time is running out", "message"
    AGENT_EXTENDED = "agent.extended", "an agent step got more time, because progress was seen", "seconds", "message"
    AGENT_FINISHED = (
        "agent.finished",
        "an agent step ended, with exit code, duration, use, and why if it was ended",
        "exit_code",
        "seconds",
        "ended",
        "tokens",
        "turns",
    )
    BUILD_COMMITTED = "build.committed", "the candidate is a commit", "commit", "files"
    BUILD_PUSHED = "build.pushed", "the forge has the story's branch", "commit", "branch"
    BUILD_PR_OPENED = "build.pr_opened", "the forge has the pull request", "number", "url", "found", "untold"
    CI_FINISHED = "ci.finished", "every CI job of the pushed commit ended", "run", "jobs", "commit", "again"
    CI_AGAIN = (
        "ci.again",
        "CI was asked to run jobs of the same commit once more, uncharged, and why",
        "commit",
        "run",
        "why",
        "jobs",
    )
    CI_MIRRORED = (
        "ci.mirrored",
        "the mirror job succeeded on main, for a commit that contains the landed one",
        "state",
        "commit",
        "run",
    )
    TEST_FLAKY = (
        "test.flaky",
        "a test failed and then passed on the same commit; it is quarantined by its name",
        "test",
        "job",
        "commit",
    )
    CHECKPOINT_TAKEN = "checkpoint.taken", "five minutes of work went by: a checkpoint", "milestone", "line"
    MILESTONE_CHANGED = (
        "milestone.changed",
        "the worker's milestone, with its published line",
        "milestone",
        "line",
        *PROGRESS,
    )
    PHASE_TRANSITIONED = "phase.transitioned", "the item changed its phase", "from", "to", "why"
    PHASE_TRANSIENT_RETRY = (
        "phase.transient_retry",
        "trouble outside the story; tried again later, nothing charged",
        "reason",
        "count",
        "not_before",
    )
    ATTEMPT_REJECTED = "attempt.rejected", "an attempt ended in a structural verdict", "verdict", "attempt", "message"
    BLOCKED_EXHAUSTED = "blocked.exhausted", "the budget of attempts is spent", "attempts", "verdict"
    BLOCKED_LOOP = "blocked.loop", "the same failure three times in a row", "streak", "verdict"
    BLOCKED_TRANSIENT = "blocked.transient", "trouble outside the story for over 24 h", "reason"
    BLOCKED_PERMISSION = "blocked.permission", "an agent was denied the same tool twice in a row", "question"
    BLOCKED_BUDGET = "blocked.budget", "a budget of tokens or dollars is spent", "question"
    BLOCKED_APPROVAL = (
        "blocked.approval",
        "everything is judged, and a person has to approve it before it lands",
        "question",
    )
    BLOCKED_QUESTION = "blocked.question", "only a person can decide", "question"
    BLOCKED_MAIN_RED = (
        "blocked.main_red",
        "CI is red on main itself, so nobody can be judged on top of it",
        "question",
    )
    BLOCKED_CI_FAILED = (
        "blocked.ci_failed",
        "CI is still red after as many repairs as [ci] fixes allows",
        "question",
    )
    BLOCKED_TESTS_WEAKENED = (
        "blocked.tests_weakened",
        "the story words an old test anew, and a person has to say which wording holds",
        "question",
    )
    BLOCKED_SPEC_AMBIGUOUS = "blocked.spec_ambiguous", "the spec leaves a question open", "question"
    BLOCKED_SPEC_WRONG = "blocked.spec_wrong", "the spec can't be built as it stands", "question"
    BLOCKED_WORKER_CRASH = "blocked.worker_crash", "twelve rescues in a row inside one step", "rescues", "question"
    STORY_LANDED = "story.landed", "the candidate is on main, checked by git", "commit", "proof"
    STORY_NOT_ON_MAIN = "story.not_on_main", "alarm: a done story is no longer on main", "message"
    STORY_REVERTED = "story.reverted", "a later commit on main reverts a done story", "message"
    STORY_CANCELLED = "story.cancelled", "a person cancelled the story", "from"
    STORY_RETRIED = "story.retried", "a person granted a new budget", "answer"
    STORY_SPEC_APPROVED = (
        "story.spec_approved",
        "a person approved the spec that a refiner completed, known by its hash",
        "spec",
    )
    STORY_APPROVED = (
        "story.approved",
        "a person approved the change, at the terminal or on the pull request",
        "change",
        "commit",
        "by",
        "where",
        "words",
        "review",
        "unproved",
    )
    STORY_SENT_BACK = (
        "story.sent_back",
        "a person sent the change back, with words for the agent",
        "change",
        "commit",
        "by",
        "where",
        "words",
        "review",
        "unproved",
    )
    STORY_RESUMED = (
        "story.resumed",
        "a person let the same run go on with an answer: no agent is sent",
        "milestone",
        "pictures",
        "by",
    )
    STORY_HANDED_OVER = "story.handed_over", "a person takes the story over from the agents", "to", "issue"
    BUDGET_RAISED = "budget.raised", "a person raised a budget of tokens or dollars", "whose", "unit", "amount"
    ISSUE_OPENED = "issue.opened", "a question for a person", "question"
    ISSUE_ANSWERED = "issue.answered", "a person answered", "issue", "answer"
    REPO_HELD = "repo.held", "a hold stops a repository", "repo", "hold", "reason"
    REPO_RELEASED = "repo.released", "the hold is over", "repo"
    REPO_RED = (
        "repo.red",
        "CI of a main in a chain turned red, with the upstream commit that broke it if that is known",
        "repo",
        "commit",
        "message",
        "upstream",
        "broken_by",
    )
    STORY_STALE = (
        "story.stale",
        "a done story is not valid any more, by a change of its spec or a regression found on main",
        "why",
        "by",
        "regression",
        "commit",
        "tests",
    )
    STORY_REAPPROVED = (
        "story.reapproved",
        "a person let a STALE story be built anew, from its spec on",
        "by",
        "tests",
    )
    STORY_CHANGE_UNDONE = "story.change_undone", "a person took a change back before anything had begun", "by"
    BUILDER_HALTED = "builder.halted", "the builder stops, and why", "reason", "story", "message"
    BUILDER_RESUMED = "builder.resumed", "what halted the builder is over", "reason", "by"
    SHIP_DECLARED = "ship.declared", "a person declared SHIP: nothing new is begun", "by", "note"
    SHIP_VERIFIED = (
        "ship.verified",
        "main was verified for a release, and the verdict is computed",
        "verdict",
        "commits",
    )
    SHIP_UNDONE = "ship.undone", "a person took SHIP back", "by"
    REGRESSION_FOUND = (
        "regression.found",
        "tests of a done task fail on main",
        "owner",
        "tests",
        "files",
        "commit",
        "whose",
    )
    DECISION_RECORDED = "decision.recorded", "an agent's decision has a number", "number", "title", "pattern"
    PATTERNS_MATCHED = (
        "patterns.matched",
        "patterns of the library were offered to an agent, or applied",
        "offered",
        "applied",
    )
    PATTERN_ACCEPTED = (
        "pattern.accepted",
        "a person made a decision a pattern of the library",
        "pattern",
        "decision",
        "by",
    )
    TASKS_STATUS_EDITED = (
        "tasks.status_edited",
        "somebody edited a status in the task graph; it is told, not obeyed",
        "file",
        "task",
        "found",
        "status",
    )
    TASKS_CHECKPOINT = (
        "tasks.checkpoint",
        "a full checkpoint was taken: what was so at that moment",
        "repo",
        "number",
        "done",
        "tasks",
        "remaining",
        "blocked",
        "stale",
        "patterns",
        "regression",
    )
    SOURCE_TICKED = (
        "source.ticked",
        "an imported story is on main, and its boxes in the source are ticked",
        "file",
        "boxes",
        "left",
    )
    REPO_GREEN = "repo.green", "that main is green again", "repo", "commit", "message"


BLOCKED_BY: dict[Verdict | None, EventKind] = {
    None: EventKind.BLOCKED_QUESTION,
    Verdict.CI_FAILED: EventKind.BLOCKED_CI_FAILED,
    Verdict.TESTS_WEAKENED: EventKind.BLOCKED_TESTS_WEAKENED,
    Verdict.SPEC_AMBIGUOUS: EventKind.BLOCKED_SPEC_AMBIGUOUS,
    Verdict.SPEC_WRONG: EventKind.BLOCKED_SPEC_WRONG,
    Verdict.WORKER_CRASH: EventKind.BLOCKED_WORKER_CRASH,
}
"""Which event tells that a person is asked because of a verdict; of any other it is the plain question."""

Event = tuple[EventKind, dict[str, object]]
"""What happened, and its facts."""


PASSING = frozenset({
    EventKind.MILESTONE_CHANGED, EventKind.CHECKPOINT_TAKEN, EventKind.ITEM_CLAIMED, EventKind.ITEM_WAITS,
    EventKind.ITEM_RELEASED, EventKind.RUN_RESUMED, EventKind.AGENT_WARNED, EventKind.AGENT_EXTENDED,
})  # fmt: skip
"""How a story moved. Once it is over nobody asks for these; what they led to is told by others, which stay."""
