"""What halts the builder, in words: which reason, since when, and what ends it."""

from datetime import datetime
from typing import assert_never

from damascus.domain.halt import HaltReason
from damascus.store.halted import Halt
from damascus.telling.phrases import clock, one_line, whole_words


def sentence(halt: Halt, now: datetime) -> str:
    """`Halted: root rights are needed (TASK-003, since 12:03): …. It ends when …`."""
    concerns = f"{halt.story} alone, others go on" if halt.story else "everything"
    told = whole_words(one_line(halt.message), 300).rstrip(".")
    return f"Halted: {halt.reason.means} ({concerns}, since {clock(halt.since, now)}): {told}. {ends(halt)}"


def ends(halt: Halt) -> str:
    """What a person does about it."""
    story = halt.story or "TASK"
    match halt.reason:
        case HaltReason.ROOT:
            return f"It ends when you have provided that and say: damascus retry {story}"
        case HaltReason.BLOCKED:
            return "It ends when you say: damascus release"
        case HaltReason.SECRET:
            return "It ends by itself when a worker starts that has it: damascus run"
        case HaltReason.STALE:
            if halt.story is None:
                return "It ends when no task is STALE any more, or when you say: damascus release"
            return f"It ends when you decide: damascus approve {story}, or damascus change --undo {story}"
        case HaltReason.SHIP:
            return "It ends when you take it back: damascus ship --undo"
        case _:
            assert_never(halt.reason)


def published(halt: Halt) -> dict[str, object]:
    """The keys that programs read."""
    told = {"reason": halt.reason, "means": halt.reason.means, "story_id": halt.story, "since": halt.since}
    return told | {"message": halt.message, "question": halt.issue, "ends": ends(halt)}
