"""Ids with types, parsed at the door."""

import re
from typing import NewType

from damascus.domain.errors import UsageError

Sha = NewType("Sha", str)
StoryId = NewType("StoryId", str)
Fence = NewType("Fence", int)

STORY_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
STORY_MAX = 64
SHA_PATTERN = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


def story_id(text: str) -> StoryId:
    """A story's id is also a branch and a folder name, so its shape is strict."""
    if not STORY_PATTERN.fullmatch(text) or len(text) > STORY_MAX or text.lower().endswith(".lock"):
        raise UsageError(
            f"{text!r} is not a story id. Use letters, digits, '-', '_' and single dots inside, start with a "
            f"letter or digit, at most {STORY_MAX} characters, not ending in .lock (docs/spec.md)."
        )
    return StoryId(text)


def sha(text: str) -> Sha:
    text = text.strip()
    if not SHA_PATTERN.fullmatch(text):
        raise ValueError(f"not a full commit id: {text!r}")
    return Sha(text)


def short(value: str | None) -> str:
    return value[:7] if value else "–"
