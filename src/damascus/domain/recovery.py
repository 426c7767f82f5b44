"""What a person can answer when an agent was denied a tool or a budget is spent, each answer a thing that happens.

The options stand in the inbox as they are written here; `chosen` finds back what one means.
"""

from dataclasses import dataclass

from damascus.domain.errors import UsageError
from damascus.domain.money import Unit

FIX = "fix the permission"
RESPAWN = "respawn with other instructions"
HAND_OVER = "hand to a person"
DENIED = (FIX, RESPAWN, HAND_OVER)
"""The three recoveries of W8."""
RETRY = "retry"
CANCEL = "cancel the story"
LOOK_AGAIN = "look at CI again"
"""The same run goes on: no agent is sent, nothing is charged."""
USE_SPEC = "use it"
"""The refined spec becomes the story's, exactly as the question shows it."""
ACCEPT_TESTS = "accept the changed tests"
KEEP_TESTS = "send it back: the old tests hold"
EDIT_SPEC = "edit the spec and add it again"
GOES_ON = (LOOK_AGAIN, ACCEPT_TESTS, KEEP_TESTS)
"""The same run goes on from where it stands, with the answer."""
UNITS: tuple[Unit, ...] = ("tokens", "dollars")
RAISES: dict[str, tuple[str, Unit]] = {
    f"raise the {whose}'s budget of {unit} to the number you add": (whose, unit)
    for whose in ("story", "project")
    for unit in UNITS
}
WITH_WORDS = {RESPAWN, HAND_OVER, *RAISES}
"""Options whose number may be followed by words of the person's own."""


@dataclass(frozen=True)
class Chosen:
    """An option, and the words that were said with it; without an option the words are the answer."""

    option: str
    words: str = ""


def raises(whose: str, unit: Unit) -> str:
    return next(option for option, meant in RAISES.items() if meant == (whose, unit))


def chosen(options: list[str], said: str) -> Chosen | None:
    """`2 use the Edit tool` where option 2 takes words; None: this is not ours to understand."""
    number, _, words = said.strip().partition(" ")
    if not number.isdigit() or not 1 <= int(number) <= len(options):
        return None
    option = options[int(number) - 1]
    if option not in WITH_WORDS and (words or option not in DENIED):
        return None
    return Chosen(option, words.strip())


def needed(choice: Chosen, question: int) -> str:
    """The words of an option that is nothing without them."""
    if choice.words:
        return choice.words
    example = "2 use the Edit tool, not the shell" if choice.option == RESPAWN else "1 40M"
    raise UsageError(f"that answer needs your words too. Write it like: damascus answer {question} {example}")
