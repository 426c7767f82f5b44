"""One conventional commit per task (A14): what kind of change, what became of which file, and where it came from.

The list of files is git's, never the agent's. Nothing in a message asks a forge for no CI.
"""

import re
from collections.abc import Sequence

from damascus.domain.item import Item
from damascus.domain.ports import ChangedFile
from damascus.domain.skip_marks import without_skip_marks
from damascus.domain.verdict import Kind

SUBJECT = 72
FILES_NAMED = 50
TYPES = {Kind.FEATURE: "feat", Kind.REFACTOR: "refactor", Kind.DOCS: "docs"}
CONVENTIONAL = re.compile(r"(?:feat|fix|refactor|docs|test|perf|build|ci|chore|style|revert)(?:\([^()]+\))?!?: \S")
REPAIRS = re.compile(r"(?:fix(?:es|ed)?|repair(?:s|ed)?)\s+(?=\S)", re.IGNORECASE)
WORDS = (("A", "Created"), ("M", "Changed"), ("T", "Changed"), ("D", "Deleted"))


def message(item: Item, kind: Kind, changed: Sequence[ChangedFile], step: str) -> str:
    """The whole message; its trailers lead back to the story, the run, the attempt and the step."""
    trailers = [
        f"Story: {item.story_id}",
        f"Damascus-Item: {item.uuid}",
        f"Damascus-Run: {item.run_no}",
        f"Damascus-Attempt: {item.attempts + 1}",
        f"Damascus-Step: {step}",
    ]
    paragraphs = [subject(item.title, kind), _body(changed), "\n".join(trailers)]
    return without_skip_marks("\n\n".join(paragraph for paragraph in paragraphs if paragraph) + "\n")


def subject(title: str, kind: Kind) -> str:
    """`feat: title`, by the spec's kind. A title that names its type keeps it; one that says "fix …" is a fix."""
    line = " ".join(title.split())
    if CONVENTIONAL.match(line) is None:
        repair = REPAIRS.match(line) if kind == Kind.FEATURE else None
        line = f"fix: {line[repair.end() :]}" if repair else f"{TYPES[kind]}: {line}"
    return line if len(line) <= SUBJECT else line[: SUBJECT - 1].rstrip() + "…"


def _body(changed: Sequence[ChangedFile]) -> str:
    lines = [f"{word} {_shown(file.path)}" for status, word in WORDS for file in changed if file.status == status]
    more = [f"and {len(lines) - FILES_NAMED} more files"] if len(lines) > FILES_NAMED else []
    return "\n".join(lines[:FILES_NAMED] + more)


def _shown(path: str) -> str:
    """An agent chose this name: it must not begin a line of its own, where it could pass for a trailer."""
    return path if path.isprintable() else ascii(path)
