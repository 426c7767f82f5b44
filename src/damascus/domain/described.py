"""Words of a fixed set, each with the sentence that says what it means.

Every list of words that the code tells apart (states, waits, events, verdicts, signs …) is such a set. The documents'
tables are made from them (tests/rules/tables.py): no word is without a sentence, no table differs from the code.
"""

from enum import StrEnum
from typing import Self


class Described(StrEnum):
    """A member is written `NAME = "value", "what it means"`; it is a plain string wherever one is stored or sent.

    The sentence has a default only for type checkers, which take the look-up `Phase("build")` for a construction.
    """

    _value_: str
    means: str

    def __new__(cls, value: str, means: str = "") -> Self:
        if not means:
            raise TypeError(f"{cls.__name__}: {value!r} needs its sentence")
        member = str.__new__(cls, value)
        member._value_ = value
        member.means = means
        return member
