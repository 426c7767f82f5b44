"""The marks of mutants or pictures that a question is about: read by who prints one, so plain text alone is needed.

They stand there in the order in which the question numbers what it shows, from 1.
"""

import re
from collections.abc import Sequence

from damascus.domain.visible import visible

MUTANTS = "Surviving mutants"
PICTURES = "Pages without an accepted picture"
MARKED = re.compile(rf"^({MUTANTS}|{PICTURES}) ((?:[0-9a-f]{{16}} ?)+): ")
CHOSEN = re.compile(r"(?P<numbers>\d{1,3}(?:\s*,\s*\d{1,3})*)[\s:]+(?P<reason>\S.*)", re.DOTALL)
"""`2,3 and why`."""


def marks_of(question: str, start: str) -> list[str]:
    found = MARKED.match(question)
    return found.group(2).split() if found and found.group(1) == start else []


def without_marks(question: str) -> str:
    """As people read it."""
    return MARKED.sub("", question, count=1)


def chosen_marks(marks: Sequence[str], words: str) -> tuple[list[str], str]:
    """Those that the words name by number, and the reason. Nothing at all where a number is none of theirs."""
    found = CHOSEN.fullmatch(words.strip())
    numbers = [int(one) for one in found["numbers"].split(",")] if found else []
    reason = visible(found["reason"]) if found else ""
    if not reason or not all(1 <= one <= len(marks) for one in numbers):
        return [], ""
    return [marks[one - 1] for one in dict.fromkeys(numbers)], reason
