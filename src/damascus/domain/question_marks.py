"""The marks of mutants or pictures that a question is about: read by who prints one, so plain text alone is needed."""

import re

MUTANTS = "Surviving mutants"
PICTURES = "Pages without an accepted picture"
MARKED = re.compile(rf"^({MUTANTS}|{PICTURES}) ((?:[0-9a-f]{{16}} ?)+): ")


def marks_of(question: str, start: str) -> list[str]:
    found = MARKED.match(question)
    return found.group(2).split() if found and found.group(1) == start else []


def without_marks(question: str) -> str:
    """As people read it."""
    return MARKED.sub("", question, count=1)
