"""Marks in a commit message or a pull's title by which a forge runs no CI at all.

A story's title or a file's name may hold one by chance, or by an agent's choice: then nothing would ever be green.
"""

import re

MARKS = re.compile(
    r"\[\s*(skip[ -](?:ci|actions|checks)|(?:ci|actions)[ -]skip|no[ -]ci)\s*\]"
    r"|^(skip-checks:\s*true)\s*$"
    r"|\*\*\*(NO_CI)\*\*\*",
    re.IGNORECASE | re.MULTILINE,
)


def without_skip_marks(text: str) -> str:
    """The same words in round brackets, which no forge obeys."""
    return MARKS.sub(lambda found: f"({next(word for word in found.groups() if word)})", text)
