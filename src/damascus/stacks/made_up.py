"""Names and values for tests of ours that must look like anybody's: new for each run, made of the project's own words.

Code under test must not be able to tell them by a prefix, a number or a shape. So a name is some words of the tests
around it and a word that exists nowhere; the values are drawn, and so is the way in which the test fails.
"""

import random
import re
from collections.abc import Collection, Iterable

CONSONANTS = "bdfgklmnprstv"
VOWELS = "aeiou"
WORD = re.compile(r"[a-z]{3,12}|[A-Z][a-z]{2,11}")
PLAIN = ("value", "order", "empty", "items", "input", "total", "range", "parts", "first", "again")
NOT_WORDS = frozenset({"test", "tests", "def", "func", "req", "class", "self"})
WORDS_READ = 400


class MadeUp:
    """Draws names that none of `taken` holds."""

    def __init__(self, vocabulary: Iterable[str] = (), taken: str = "", draw: random.Random | None = None) -> None:
        self._random = draw or random.SystemRandom()
        found = dict.fromkeys(word.lower() for text in vocabulary for word in WORD.findall(text)[:WORDS_READ])
        self._words = [word for word in found if word not in NOT_WORDS] or list(PLAIN)
        self._taken = taken

    def number(self, low: int = 2, high: int = 97) -> int:
        return self._random.randint(low, high)

    def two_numbers(self) -> tuple[int, int]:
        first, second = self._random.sample(range(2, 98), 2)
        return first, second

    def one_of(self, options: Collection[str]) -> str:
        return self._random.choice(list(options))

    def coin(self) -> bool:
        return self._random.random() < 0.5

    def new_word(self) -> str:
        """A word that is in no language and in none of the sources: what a case is known by."""
        while True:
            syllables = range(self._random.randint(4, 5))
            word = "".join(self.one_of(CONSONANTS) + self.one_of(VOWELS) for _ in syllables)
            if word not in self._taken.lower():
                return word

    def words(self) -> list[str]:
        """Two to four words, the new one anywhere among them but in front."""
        known = [self.one_of(self._words) for _ in range(self._random.randint(1, 3))]
        known.insert(self._random.randint(1, len(known)), self.new_word())
        return known

    def snake(self, prefix: str = "test") -> str:
        return "_".join([prefix.rstrip("_"), *self.words()])

    def camel(self, prefix: str = "Test") -> str:
        return prefix + "".join(word.capitalize() for word in self.words())

    def sentence(self) -> str:
        return " ".join(self.words())
