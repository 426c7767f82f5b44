"""The marks of mutants in the question about them: read by who prints a question, so plain text alone is needed.

They stand there in the order in which the question numbers its mutants, from 1.
"""

import re
from collections.abc import Sequence

START = "Surviving mutants"
MARKED = re.compile(rf"^{START} ((?:[0-9a-f]{{16}} ?)+): ")


def marks_of(question: str) -> list[str]:
    found = MARKED.match(question)
    return found.group(1).split() if found else []


def without_marks(question: str) -> str:
    """As people read it."""
    return MARKED.sub("", question, count=1)


CHOSEN = re.compile(r"(?P<numbers>\d{1,3}(?:\s*,\s*\d{1,3})*)[\s:]+(?P<reason>\S.*)", re.DOTALL)
"""`2,3 and why`."""


def chosen_marks(marks: Sequence[str], words: str) -> tuple[list[str], str]:
    """Those that the words name by number, and the reason. Nothing at all where a number is none of theirs."""
    found = CHOSEN.fullmatch(words.strip())
    numbers = [int(one) for one in found["numbers"].split(",")] if found else []
    if found is None or not all(1 <= one <= len(marks) for one in numbers):
        return [], ""
    return [marks[one - 1] for one in dict.fromkeys(numbers)], found["reason"].strip()
