"""What a person can do to a story as it stands, each with its command and what it does."""

from dataclasses import dataclass

from damascus.domain.verdict import Phase
from damascus.store.views import StoryRow


@dataclass(frozen=True)
class Offer:
    """`asks`: it can't be taken back, so the person is asked once more. `words`: what has to be said with it, if
    anything has; `may_say`: what may be."""

    verb: str
    label: str
    command: str
    effect: str
    asks: bool = False
    words: str = ""
    may_say: str = ""


def offers(row: StoryRow) -> list[Offer]:
    """None for what is over, but to say that it is not valid any more."""
    story = row.story_id
    if row.phase == Phase.DONE:
        why = f'damascus change {story} --why "WORDS"'
        return [Offer("change", "Not valid any more", why, "it becomes STALE; nothing is built anew without your word",
                      asks=True, words="what has changed")]  # fmt: skip
    if row.phase == Phase.CANCELLED:
        return []
    if row.phase == Phase.STALE:
        return [
            Offer("approve", "Build it anew", f"damascus approve {story}", "from its spec; old tests may change", True),
            Offer("undo-change", "Take the change back", f"damascus change --undo {story}", "it is done again"),
            _cancel(story),
        ]
    retry = Offer("retry", "Retry", f"damascus retry {story}", "a new run with a new budget of tries",
                  may_say="a hint for the next agent")  # fmt: skip
    return [retry, _cancel(story)]


def approval(story: str) -> list[Offer]:
    """Of a story that waits for a person's word about its change."""
    return [
        Offer("approve", "Approve", f"damascus approve {story}", "it lands in its turn"),
        Offer("send-back", "Send back", f"damascus send-back {story} WORDS", "its agent is told your words",
              words="what has to be different"),
    ]  # fmt: skip


def _cancel(story: str) -> Offer:
    return Offer("cancel", "Cancel", f"damascus cancel {story}", "it ends; what an agent wrote is kept", asks=True)


def of_project(shipped: bool) -> list[Offer]:
    """What concerns everything at once."""
    if shipped:
        return [Offer("undo-ship", "Take SHIP back", "damascus ship --undo", "work goes on")]
    return [
        Offer("hold", "Hold", "damascus hold REASON", "nothing starts, what runs is stopped with its work saved",
              words="the reason"),
        Offer("release", "Release", "damascus release", "every hold of this repository ends"),
        Offer("ship", "Ship", "damascus ship --by NAME", "everything stops, main is verified for a release", asks=True,
              may_say="what is released"),
    ]  # fmt: skip


def expects(row: StoryRow) -> str:
    """How the story stands, as a form brings it back: its phase and run."""
    return f"{row.phase} {row.run_no}"
