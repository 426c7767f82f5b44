"""Where an item stands in the queue, and what one that waits is waiting for."""

from typing import Self

from damascus.domain.described import Described


class ItemState(Described):
    """Whether an item can be worked, whatever its phase."""

    READY = "ready", "any worker may claim it"
    LEASED = "leased", "a worker holds it"
    WAITING = "waiting", "it can't go on before a fact changes; its slot is free"
    RESTING = "resting", "nothing is done about it: it has ended, or a person has to answer"


class WaitKind(Described):
    """What an item waits for, and who or what wakes it."""

    woken_by: str

    def __new__(cls, value: str, means: str = "", woken_by: str = "") -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.means, member.woken_by = means, woken_by
        return member

    SCOPE = "scope", "a file that another story holds", "that story's end"
    BEHIND = "behind", "another waiting story that wants exactly the same files", "that story's end"
    DEPENDENCY = "dependency", "a story of `depends_on`", "that story being done"
    LANDING = (
        "landing",
        "a place in the merge queue, or its turn there",
        "those ahead, when they land or leave",
    )
    HOLD = "hold", "a hold on the repository, or on one of its chain", "its release"
    CHAIN = (
        "chain",
        "a story that is worked, or goes first, in a repository of its [chain](graph.md)",
        "that story's end",
    )
    UPSTREAM = "upstream", "main of a repository that its own one needs is not known to be green", "CI of that main"
    REPO_FULL = "repo_full", "a place in its repository ([repo] `max_workers`)", "the end of a story there"
    AGENT = (
        "agent",
        "agents that can work: the gateway refuses key or model, or the agent's program can't be started",
        "your answer, a probe that finds it mended, a new worker",
    )
    BACKOFF = "backoff", "trouble outside the story", "the clock"
    DIRTY = (
        "dirty",
        "a file of yours with changes that landing would overwrite; the inbox names it, and the question closes by "
        "itself",
        "looked at every 10 s, and by a worker that starts",
    )
    CI = "ci", "CI on a forge", "looked at every `[ci] look_seconds` (10 s), sooner with a webhook"
    MIRROR = "mirror", "the mirror job on main, after landing", "as `ci`"
    SECRET = (
        "secret",
        "a variable that its test contract names and that is not set where the worker runs; the inbox names it",
        "a worker that has it, looked at every 5 min",
    )
    BUDGET = "budget", "the project's budget, which steps that run have reserved", "looked at every 10 s"


IN_QUEUE = frozenset({WaitKind.LANDING, WaitKind.CI})
"""Waits through which a story keeps its place in the merge queue."""
ENDED_BY_A_PERSON = frozenset({WaitKind.DIRTY, WaitKind.HOLD, WaitKind.AGENT, WaitKind.SECRET})
ENDED_BY_CI = frozenset({WaitKind.CI, WaitKind.MIRROR})
ENDED_BY_A_STORY = frozenset({WaitKind.SCOPE, WaitKind.BEHIND, WaitKind.DEPENDENCY, WaitKind.CHAIN})
