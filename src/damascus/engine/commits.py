"""One conventional commit per task (A14): what kind of change, what became of which file, and where it came from.

The list of files is git's, never the agent's. Nothing in a message asks a forge for no CI.
"""

import re
from collections.abc import Sequence

from damascus.domain.config import CommitConfig, Config
from damascus.domain.item import Item
from damascus.domain.ports import ChangedFile
from damascus.domain.skip_marks import without_skip_marks
from damascus.domain.verdict import Kind

SUBJECT = 72
SUMMARY_LINES = 20
WIDTH = 200
USUAL = "{type}: {title}"
AS_USUAL = Config().commit
FILES_NAMED = 50
TYPES = {Kind.FEATURE: "feat", Kind.REFACTOR: "refactor", Kind.DOCS: "docs", Kind.PLAN: "docs", Kind.RECORDS: "docs"}
CONVENTIONAL = re.compile(r"(?:feat|fix|refactor|docs|test|perf|build|ci|chore|style|revert)(?:\([^()]+\))?!?: \S")
REPAIRS = re.compile(r"(?:fix(?:es|ed)?|repair(?:s|ed)?)\s+(?=\S)", re.IGNORECASE)
WORDS = (("A", "Created"), ("M", "Changed"), ("T", "Changed"), ("D", "Deleted"))


def message(
    item: Item,
    kind: Kind,
    changed: Sequence[ChangedFile],
    step: str,
    *,
    wanted: CommitConfig = AS_USUAL,
    summary: str = "",
) -> str:
    """The whole message; its trailers lead back to the story, the run, the attempt and the step."""
    trailers = [
        *([f"Co-authored-by: {wanted.co_author}"] if wanted.co_author else []),
        f"Story: {item.story_id}",
        f"Damascus-Item: {item.uuid}",
        f"Damascus-Run: {item.run_no}",
        f"Damascus-Attempt: {item.attempts + 1}",
        f"Damascus-Step: {step}",
    ]
    told = _marked_as_the_agents(summary) if wanted.summary else ""
    first = subject(item.title, kind, wanted.subject, item.story_id)
    paragraphs = [first, told, _body(changed), "\n".join(trailers)]
    return without_skip_marks("\n\n".join(paragraph for paragraph in paragraphs if paragraph) + "\n")


def subject(title: str, kind: Kind, form: str = USUAL, story: str = "") -> str:
    """`feat: title`, by the spec's kind. A title that names its type keeps it; one that says "fix …" is a fix."""
    line = " ".join(title.split())
    if CONVENTIONAL.match(line) is not None:
        named, _, line = line.partition(": ")
    else:
        repair = REPAIRS.match(line) if kind == Kind.FEATURE else None
        named, line = ("fix", line[repair.end() :]) if repair else (TYPES[kind], line)
    line = form.replace("{type}", named).replace("{story}", story).replace("{title}", line)
    return line if len(line) <= SUBJECT else line[: SUBJECT - 1].rstrip() + "…"


def _marked_as_the_agents(summary: str) -> str:
    """The agent's words, each line marked: none can pass for a trailer, or for ours."""
    lines = [line.rstrip() for line in summary.strip().splitlines()[:SUMMARY_LINES] if line.isprintable()]
    return "\n".join(["The agent says:", *(f"> {line[:WIDTH]}".rstrip() for line in lines)]) if lines else ""


def _body(changed: Sequence[ChangedFile]) -> str:
    lines = [f"{word} {_shown(file.path)}" for status, word in WORDS for file in changed if file.status == status]
    more = [f"and {len(lines) - FILES_NAMED} more files"] if len(lines) > FILES_NAMED else []
    return "\n".join(lines[:FILES_NAMED] + more)


def _shown(path: str) -> str:
    """An agent chose this name: it must not begin a line of its own, where it could pass for a trailer."""
    return path if path.isprintable() else ascii(path)
