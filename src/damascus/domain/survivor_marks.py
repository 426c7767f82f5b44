"""The marks of mutants in the question about them: read by who prints a question, so plain text alone is needed."""

import re

START = "Surviving mutants"
MARKED = re.compile(rf"^{START} ((?:[0-9a-f]{{16}} ?)+): ")


def marks_of(question: str) -> list[str]:
    found = MARKED.match(question)
    return found.group(1).split() if found else []


def without_marks(question: str) -> str:
    """As people read it."""
    return MARKED.sub("", question, count=1)
