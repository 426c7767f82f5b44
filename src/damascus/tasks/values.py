"""The values of a task's fields, as people write them: ids, paths, words, commands."""

import re
from collections.abc import Iterator
from functools import lru_cache

from damascus.domain.ids import STORY_MAX
from damascus.domain.verdict import TaskStatus
from damascus.tasks.fields import FieldAt
from damascus.tasks.lines import Seen

TASK_ID = re.compile(r"TASK-[A-Z0-9-]+")
NOTHING = frozenset({"", "-", "–", "—", "none", "nothing", "n/a", "null", "no dependencies"})
ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,4}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
REMARKS = ("(", "<!--", "—", "–")
REMARK = re.compile(rf"[ \t](?={'|'.join(re.escape(each) for each in REMARKS)})")
"""Where a remark of the person's begins, behind a word of ours."""
TRUE, FALSE = ("true", "yes"), ("false", "no", "")
SHOWN = 80
LONGEST = 4_000
"""Characters of one value; a longer one is refused by the reader, and read no further."""

Item = tuple[int, str]
"""The line's number, and the text."""


def quoted(text: str) -> str:
    """Foreign words in a sentence of ours: cut, and nothing in them that nobody sees."""
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")


def is_task_id(word: str) -> bool:
    """It becomes the id of a story, so it is no longer than one."""
    return len(word) <= STORY_MAX and TASK_ID.fullmatch(word) is not None


def word_of(value: str) -> str:
    """The value without a remark behind it: `PENDING (see the board)` is `PENDING`."""
    if value.startswith(REMARKS):
        return ""
    found = REMARK.search(value) if " " in value or "\t" in value else None
    return value[: found.start()].rstrip() if found else value.rstrip()


@lru_cache(maxsize=256)
def known_status(word: str) -> TaskStatus | None:
    """Case, marks around it and the writing of IN-PROGRESS do not matter."""
    bare = re.sub(r"[\s_-]+", "-", re.sub(r"^[^A-Za-z]+|[^A-Za-z]+$", "", word[:SHOWN])).upper()
    return next((status for status in TaskStatus if status == bare), None)


def items(field: FieldAt) -> list[Item]:
    """What is on the field's own line, and each item or line below it, up to prose after an empty line."""
    found = [(field.line, field.value)] if field.value else []
    ended = False
    for number, line, place in field.below:
        text = line.strip()
        mark = ITEM.match(line) if text else None
        if place is Seen.FENCED or not text:
            ended = ended or (not text and bool(found))
        elif mark or not ended:
            found.append((number, line[mark.end() :].strip() if mark else text))
    return found


def sentences(field: FieldAt) -> list[Item]:
    """Items of prose: a line without a mark goes on with the one before, unless an empty line is between them."""
    found = [(field.line, field.value)] if field.value else []
    open_ = False
    for number, line, place in field.below:
        text = line.strip()
        mark = ITEM.match(line) if text else None
        if not text or place is Seen.FENCED:
            open_ = False
        elif mark or not found:
            found.append((number, line[mark.end() :].strip() if mark else text))
            open_ = True
        elif open_ or line.startswith(("  ", "\t")):
            _go_on(found, text)
    return [each for each in found if each[1]]


def listed(field: FieldAt) -> Iterator[Item]:
    """Words of a list: below the field, or on a line with commas, with or without brackets around all of them."""
    for number, text in items(field):
        inside = text[1:-1] if text.startswith("[") and text.endswith("]") and "," in text else text
        for part in _parts(inside):
            if part.lower() not in NOTHING and part != "[]":
                yield number, part


def _parts(text: str) -> Iterator[str]:
    """Between commas; one inside of `{a,b}` is none."""
    if "{" not in text:
        yield from (part.strip() for part in text.split(","))
        return
    depth, begin = 0, 0
    for at, each in enumerate(text):
        depth += (each == "{") - (each == "}" and depth > 0)
        if each == "," and not depth:
            yield text[begin:at].strip()
            begin = at + 1
    yield text[begin:].strip()


def path_of(text: str) -> str:
    """The path in an item: what stands in backticks, or all but a remark behind it."""
    if text.startswith("`") and (end := text.find("`", 1)) > 0:
        return text[1:end].strip()
    return word_of(text).strip("`\"'")


def commands(field: FieldAt) -> list[Item]:
    """One a line: fenced, as a list, or plain up to an empty line. A line that ends in a backslash goes on."""
    fenced = [(number, line.strip()) for number, line, place in field.below if place is Seen.FENCED]
    plain = [(number, _in_backticks(text)) for number, text in items(field)]
    found: list[Item] = []
    going_on = False
    for number, text in sorted([*fenced, *plain]):
        if going_on:
            found[-1] = (found[-1][0], found[-1][1][:-1].rstrip())
            _go_on(found, text)
        elif text and not text.startswith("#") and text.lower() not in NOTHING:
            found.append((number, text))
        going_on = bool(found) and found[-1][1].endswith("\\")
    return found


def _in_backticks(text: str) -> str:
    return text[1:-1].strip() if len(text) > 2 and text[0] == text[-1] == "`" and "`" not in text[1:-1] else text


def _go_on(found: list[Item], text: str) -> None:
    number, begun = found[-1]
    if len(begun) <= LONGEST:
        found[-1] = (number, f"{begun} {text}")
