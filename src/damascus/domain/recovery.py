"""What a person can answer, each answer a thing that happens.

Options stand in a question as they are written here and are known by their id. A person chooses one by its number or
its id and may add words; whatever else is said is an answer in own words, which is handed on and never interpreted.
"""

import re
from dataclasses import dataclass

from damascus.domain.described import Described
from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.money import Unit
from damascus.domain.visible import visible

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
ACCEPT_PICTURES = "accept the pictures"
EDIT_SPEC = "edit the spec and add it again"
EQUIVALENT = "the mutants change nothing that a test could notice: say why"
SOME_EQUIVALENT = "some of the mutants change nothing that a test could notice: their numbers, then why"
APPROVE = "approve it as it is"
ACCEPT = "accept it: your word stands for what is not proved"
SEND_BACK = "send it back with your words"
WITHOUT_PATTERNS = "go on without the pattern library"
"""A look-up was required and there is no index: a person's word that it is not needed here."""
REAPPROVE = "build it anew from its spec; its old tests may change"
UNDO_CHANGE = "take the change back: it stays as it is on main"
GO_ON = "go on: the count begins anew"
IT_IS_SET = "it is set now: look again"
GOES_ON = (LOOK_AGAIN, ACCEPT_TESTS, KEEP_TESTS, EQUIVALENT, ACCEPT_PICTURES, WITHOUT_PATTERNS)
"""The same run goes on from where it stands, with the answer."""
UNITS: tuple[Unit, ...] = ("tokens", "dollars")
RAISES: dict[str, tuple[str, Unit]] = {
    f"raise the {whose}'s budget of {unit} to the number you add": (whose, unit)
    for whose in ("story", "project")
    for unit in UNITS
}
NEED_WORDS = {RESPAWN, SEND_BACK, EQUIVALENT, SOME_EQUIVALENT, *RAISES}
"""Options that are nothing without words of the person's own."""
SOME_EXAMPLE = "some_equivalent 2,3 the cache is only there for speed"
WORDS_GO_ON = "your words, if you add any, are told to the next agent"


class QuestionKind(Described):
    """Who waits for the answer."""

    QUESTION = "question", "the story is blocked, or the project waits, until it is answered"
    WRITE = "write", "an agent waits at this moment for a person's word about one write"


class QuestionAbout(Described):
    """What a question is about that is no story's."""

    RED = "red", "main of a repository is red"
    PLACE = "place", "the disk, the folder or the forge is at fault, for every story alike"
    AGENT = "agent", "no agent can work: key, model, gateway or program"
    BLOCKED = "blocked", "attempts in a row ended blocked, so that the whole builder halts"
    SECRET = "secret", "a secret that `[secrets] required` names is missing, so that the whole builder halts"


class OptionId(Described):
    """An answer by its name, and what it does."""

    RETRY = "retry", f"a new run with a new budget of tries; {WORDS_GO_ON}"
    CANCEL = "cancel", "the story ends; what an agent wrote is kept"
    EDIT_SPEC = "edit_spec", "it stays blocked until you add its corrected spec"
    LOOK_AGAIN = "look_again", "no agent is sent, nothing is charged: CI is looked at again"
    LAND_NOW = "land_now", "landing is tried at once; it also goes on by itself"
    USE_SPEC = "use_spec", "the spec that is shown becomes the story's, word for word"
    ACCEPT_TESTS = "accept_tests", "the new wording of the tests holds; the run goes on where it is"
    KEEP_TESTS = "keep_tests", "the old tests hold; the agent is told so"
    ACCEPT_PICTURES = "accept_pictures", "pages look right like this, by your name; the run goes on where it is"
    WITHOUT_PATTERNS = "without_patterns", "no pattern is looked up for this story; the run goes on where it is"
    ALL_EQUIVALENT = "all_equivalent", "needs your reason: it is on the receipt, and the run goes on where it is"
    SOME_EQUIVALENT = (
        "some_equivalent",
        "needs their numbers and your reason: it is on the receipt; the others go back to an agent, with a new budget",
    )
    FIX_PERMISSION = "fix_permission", "say it when you have allowed the tool: a new run"
    RESPAWN = "respawn", "a new run whose agent is told your words"
    HAND_OVER = "hand_over", "it stays blocked and is yours (or whose name you add): no agent touches it"
    RAISE_BUDGET = "raise_budget", "a new limit; who waited for it goes on"
    MEANT_SO = "meant_so", "only the question is closed"
    APPROVE = "approve", "it lands in its turn; if main moves, your word holds for the same change"
    ACCEPT = "accept_unproved", "it lands by your word, which is on the receipt; nothing is called verified by that"
    SEND_BACK = "send_back", "needs your words: the agent is told them and works on, with a new budget"
    REAPPROVE = (
        "reapprove",
        "scope, TDD plan and tests are derived anew, and what the refiner writes is approved by that",
    )
    UNDO_CHANGE = "undo_change", "the story is done again, and who waited for it goes on"
    REVERT = "revert", "a story that reverts the commit is queued there"
    FIX = "fix", "a story that repairs it is queued there"
    COORDINATE = "coordinate", "nothing starts there until you release it"
    CI_AGAIN = "ci_again", "CI of that main is run again by the next worker"
    BEING_FIXED = "being_fixed", "only the question is closed"
    MENDED = "mended", "the stories that waited for it go on"
    IT_IS_SET = "it_is_set", "a worker that has it goes on by itself; one that runs without it has to be started anew"
    GO_ON = "go_on", "the halt ends, and the attempts that end blocked are counted anew"
    OWN_WORDS = "", "told to the next agent, with a new run"
    """An option that an agent's or a refiner's question brought along."""


@dataclass(frozen=True)
class Option:
    """One answer that a question offers: by what name it is chosen, and as it reads."""

    id: OptionId
    text: str

    @property
    def effect(self) -> str:
        return self.id.means


KNOWN: tuple[tuple[OptionId, str], ...] = (
    (OptionId.RETRY, r"retry( with a new budget)?"),
    (OptionId.CANCEL, re.escape(CANCEL)),
    (OptionId.EDIT_SPEC, re.escape(EDIT_SPEC)),
    (OptionId.LOOK_AGAIN, re.escape(LOOK_AGAIN)),
    (OptionId.LAND_NOW, re.escape(LAND_NOW)),
    (OptionId.USE_SPEC, re.escape(USE_SPEC)),
    (OptionId.ACCEPT_TESTS, re.escape(ACCEPT_TESTS)),
    (OptionId.KEEP_TESTS, re.escape(KEEP_TESTS)),
    (OptionId.ACCEPT_PICTURES, re.escape(ACCEPT_PICTURES)),
    (OptionId.WITHOUT_PATTERNS, re.escape(WITHOUT_PATTERNS)),
    (OptionId.ALL_EQUIVALENT, re.escape(EQUIVALENT)),
    (OptionId.SOME_EQUIVALENT, re.escape(SOME_EQUIVALENT)),
    (OptionId.FIX_PERMISSION, re.escape(FIX)),
    (OptionId.RESPAWN, re.escape(RESPAWN)),
    (OptionId.HAND_OVER, re.escape(HAND_OVER)),
    (OptionId.RAISE_BUDGET, "|".join(map(re.escape, RAISES))),
    (OptionId.MEANT_SO, r"it was meant so"),
    (OptionId.APPROVE, re.escape(APPROVE)),
    (OptionId.ACCEPT, re.escape(ACCEPT)),
    (OptionId.SEND_BACK, re.escape(SEND_BACK)),
    (OptionId.REAPPROVE, re.escape(REAPPROVE)),
    (OptionId.UNDO_CHANGE, re.escape(UNDO_CHANGE)),
    (OptionId.IT_IS_SET, re.escape(IT_IS_SET)),
)
"""Which option it is by what its text looks like. Texts are ours: nothing here is compared with a person's words."""
OF_A_REPOSITORY: tuple[tuple[OptionId, str], ...] = (
    (OptionId.REVERT, r"revert [0-9a-f]+ in .+"),
    (OptionId.FIX, r"fix .+"),
    (OptionId.COORDINATE, r"coordinate: .+"),
    (OptionId.CI_AGAIN, r"run its CI again"),
    (OptionId.BEING_FIXED, r"it is being fixed"),
    (OptionId.MENDED, r"it is mended"),
    (OptionId.GO_ON, re.escape(GO_ON)),
    (OptionId.IT_IS_SET, re.escape(IT_IS_SET)),
)
"""The same for a question that is about no story: a main that is red, a place that is at fault."""


def option_of(text: str, *, story: bool = True) -> Option:
    found = (name for name, pattern in (KNOWN if story else OF_A_REPOSITORY) if re.fullmatch(pattern, text))
    return Option(next(found, OptionId.OWN_WORDS), text)


@dataclass(frozen=True)
class Chosen:
    """An option and the words that were said with it. Without an option the words are the answer."""

    option: str
    words: str = ""
    id: OptionId = OptionId.OWN_WORDS

    @property
    def told(self) -> str:
        """As it is recorded."""
        return ": ".join(part for part in (self.option, self.words) if part)


def raises(whose: str, unit: Unit) -> str:
    return next(option for option, meant in RAISES.items() if meant == (whose, unit))


def position_of(word: str) -> int:
    """The number that it is; 0 for what is no number of an option."""
    return int(word) if word.isdecimal() and len(word) < 10 else 0


def chosen(options: list[str], said: str, question: int, *, story: bool = True) -> Chosen:
    """`2` or `2 use the Edit tool`, `look_again`, `send_back` and its words, or own words."""
    said = visible(said)
    if not said:
        raise UsageError(f"that answer says nothing. See what question {question} offers: damascus inbox")
    known = [option_of(text, story=story) for text in options]
    number, _, words = said.partition(" ")
    if 1 <= (position := position_of(number)) <= len(known):
        return Chosen(known[position - 1].text, visible(words), known[position - 1].id)
    if said.isdecimal() and known:
        raise DamascusError(f"question {question} has the options 1 to {len(known)}; {said} is none of them.")
    with_words = [option for option in known if option.text in NEED_WORDS and "_" in option.id]  # no word of people's
    named = [option for option in known if option.id == said or (option.id == number and option in with_words)]
    return Chosen(named[0].text, visible(words), named[0].id) if len(named) == 1 else Chosen("", said)


def needed(choice: Chosen, question: int) -> str:
    """The words of an option that is nothing without them."""
    if choice.words:
        return choice.words
    examples = {
        RESPAWN: "2 use the Edit tool, not the shell",
        SEND_BACK: "send_back name it parse, not read",
        EQUIVALENT: "all_equivalent the cache is only there for speed",
        SOME_EQUIVALENT: SOME_EXAMPLE,
    }
    example = examples.get(choice.option, "1 40M")
    raise UsageError(f"that answer needs your words too. Write it like: damascus answer {question} {example}")
