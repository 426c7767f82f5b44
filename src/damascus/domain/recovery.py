"""What a person can answer, each answer a thing that happens.

Options stand in a question as they are written here and are known by their id. A person chooses one by its number or
its id and may add words; whatever else is said is an answer in own words, which is handed on and never interpreted.
"""

import re
from dataclasses import dataclass

from damascus.domain.errors import DamascusError, UsageError
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
LAND_NOW = "it is out of the way: land the story"
"""A file of the person's held a landing. By this option such a question is known: it closes by itself as well."""
USE_SPEC = "use it"
"""The refined spec becomes the story's, exactly as the question shows it."""
ACCEPT_TESTS = "accept the changed tests"
KEEP_TESTS = "send it back: the old tests hold"
EDIT_SPEC = "edit the spec and add it again"
APPROVE = "approve it as it is"
SEND_BACK = "send it back with your words"
GOES_ON = (LOOK_AGAIN, ACCEPT_TESTS, KEEP_TESTS)
"""The same run goes on from where it stands, with the answer."""
UNITS: tuple[Unit, ...] = ("tokens", "dollars")
RAISES: dict[str, tuple[str, Unit]] = {
    f"raise the {whose}'s budget of {unit} to the number you add": (whose, unit)
    for whose in ("story", "project")
    for unit in UNITS
}
NEED_WORDS = {RESPAWN, SEND_BACK, *RAISES}
"""Options that are nothing without words of the person's own."""
WORDS_GO_ON = "your words, if you add any, are told to the next agent"


@dataclass(frozen=True)
class Option:
    """One answer that a question offers: by what name it is chosen, as it reads, and what it does."""

    id: str
    text: str
    effect: str


KNOWN: tuple[tuple[str, str, str], ...] = (
    ("retry", r"retry( with a new budget)?", f"a new run with a new budget of tries; {WORDS_GO_ON}"),
    ("cancel", re.escape(CANCEL), "the story ends; what an agent wrote is kept"),
    ("edit_spec", re.escape(EDIT_SPEC), "it stays blocked until you add its corrected spec"),
    ("look_again", re.escape(LOOK_AGAIN), "no agent is sent, nothing is charged: CI is looked at again"),
    ("land_now", re.escape(LAND_NOW), "landing is tried at once; it also goes on by itself"),
    ("use_spec", re.escape(USE_SPEC), "the spec that is shown becomes the story's, word for word"),
    ("accept_tests", re.escape(ACCEPT_TESTS), "the new wording of the tests holds; the run goes on where it is"),
    ("keep_tests", re.escape(KEEP_TESTS), "the old tests hold; the agent is told so"),
    ("fix_permission", re.escape(FIX), "say it when you have allowed the tool: a new run"),
    ("respawn", re.escape(RESPAWN), "a new run whose agent is told your words"),
    ("hand_over", re.escape(HAND_OVER), "it stays blocked and is yours (or whose name you add): no agent touches it"),
    ("raise_budget", "|".join(map(re.escape, RAISES)), "a new limit; who waited for it goes on"),
    ("meant_so", r"it was meant so", "only the question is closed"),
    ("approve", re.escape(APPROVE), "it lands in its turn; if main moves, your word holds for the same change"),
    ("send_back", re.escape(SEND_BACK), "needs your words: the agent is told them and works on, with a new budget"),
)
"""Id, what the text looks like, what it does. Texts are ours: nothing here is compared with a person's words."""
OF_A_REPOSITORY: tuple[tuple[str, str, str], ...] = (
    ("revert", r"revert [0-9a-f]+ in .+", "a story that reverts the commit is queued there"),
    ("fix", r"fix .+", "a story that repairs it is queued there"),
    ("coordinate", r"coordinate: .+", "nothing starts there until you release it"),
    ("ci_again", r"run its CI again", "CI of that main is run again by the next worker"),
    ("being_fixed", r"it is being fixed", "only the question is closed"),
    ("mended", r"it is mended", "the stories that waited for it go on"),
)
"""The same for a question that is about no story: a main that is red, a place that is at fault."""
OWN = Option("", "", "told to the next agent, with a new run")
"""An option that an agent's or a refiner's question brought along."""


def option_of(text: str, *, story: bool = True) -> Option:
    for name, pattern, effect in KNOWN if story else OF_A_REPOSITORY:
        if re.fullmatch(pattern, text):
            return Option(name, text, effect)
    return Option("", text, OWN.effect)


@dataclass(frozen=True)
class Chosen:
    """An option and the words that were said with it. Without an option the words are the answer."""

    option: str
    words: str = ""
    id: str = ""

    @property
    def told(self) -> str:
        """As it is recorded."""
        return ": ".join(part for part in (self.option, self.words) if part)


def raises(whose: str, unit: Unit) -> str:
    return next(option for option, meant in RAISES.items() if meant == (whose, unit))


def chosen(options: list[str], said: str, question: int, *, story: bool = True) -> Chosen:
    """`2` or `2 use the Edit tool`, `look_again`, `send_back` and its words, or own words."""
    said = said.strip()
    known = [option_of(text, story=story) for text in options]
    number, _, words = said.partition(" ")
    if number.isdecimal() and 1 <= int(number) <= len(known):
        return Chosen(known[int(number) - 1].text, words.strip(), known[int(number) - 1].id)
    if said.isdecimal() and known:
        raise DamascusError(f"question {question} has the options 1 to {len(known)}; {said} is none of them.")
    with_words = [option for option in known if option.text in NEED_WORDS and "_" in option.id]  # no word of people's
    named = [option for option in known if option.id == said or (option.id == number and option in with_words)]
    return Chosen(named[0].text, words.strip(), named[0].id) if said and len(named) == 1 else Chosen("", said)


def needed(choice: Chosen, question: int) -> str:
    """The words of an option that is nothing without them."""
    if choice.words:
        return choice.words
    examples = {RESPAWN: "2 use the Edit tool, not the shell", SEND_BACK: "send_back name it parse, not read"}
    example = examples.get(choice.option, "1 40M")
    raise UsageError(f"that answer needs your words too. Write it like: damascus answer {question} {example}")
