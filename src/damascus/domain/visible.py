"""Characters that nobody sees: text of nothing else says nothing, and among others they change what a reader takes it
for (bidirectional controls turn a line round)."""

import re
import unicodedata

UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""What Unicode calls ignorable by default, and the marks of annotations."""
EMPTY = "\u2800\U0001d159"
"""Drawn, as nothing."""


def visible(text: str) -> str:
    """The text without blanks around it; "" where it has no character that anybody could read."""
    return text.strip() if any(_seen(each) for each in text) else ""


def _seen(character: str) -> bool:
    """A letter, mark, number, sign or symbol; half a character is shown as one, and refused where text is kept."""
    if character in EMPTY or UNSEEN.match(character):
        return False
    kind = unicodedata.category(character)
    return kind[0] in "LMNPS" or kind == "Cs"
