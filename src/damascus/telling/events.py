"""An event in one line: when, of which story, what, and its facts in words."""

from damascus.domain.ids import SHA_PATTERN
from damascus.store.db import Row


def cells(row: Row) -> tuple[str, str, str, str]:
    """When, story, event, details."""
    details = ", ".join(
        f"{key} {_short(value)}" for key, value in row["body"].items() if value not in (None, "", [], False)
    )
    return (f"{row['created_at'].astimezone():%m-%d %H:%M:%S}", row["story_id"] or "–", row["kind"], details)


def _short(value: object) -> str:
    if isinstance(value, list):
        return " ".join(str(part) for part in value)
    if isinstance(value, dict):
        return " ".join(f"{key} {part}" for key, part in value.items())
    text = str(value)
    return text[:7] if SHA_PATTERN.fullmatch(text) else text
