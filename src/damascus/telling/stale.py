"""A STALE story in words: the original implementation and the change, side by side."""

from collections.abc import Iterator
from difflib import unified_diff

from damascus.domain.ids import short
from damascus.store.db import Row
from damascus.store.views import StoryRow
from damascus.telling.phrases import listed, plain, pull

LINES = 40
"""Of the difference between two specs; the rest is counted."""


def facts(row: StoryRow) -> list[tuple[str, str]]:
    """A name and what is told of it, each; none for a story that nothing has changed."""
    change = row.change
    if change is None:
        return []
    story = row.story_id
    found = [
        (
            "original",
            f"{short(change['commit'])}, {pull(change['pull'])}: damascus diff {story}, damascus receipt {story}",
        ),
        ("change", f"{change['why']} ({change['by']})"),
        ("old tests", listed(change["tests"], 10) if change["tests"] else "none is concerned"),
    ]
    if report := change.get("report"):
        found.append(("regression", f"{listed(report.get('tests') or [], 5)} fail since {short(report.get('commit'))}"))
    if change.get("approved_by"):
        found.append(("approved", f"by {change['approved_by']}: it is built anew"))
    return found


def specs_compared(whole: Row) -> Iterator[str]:
    """What the new spec says otherwise than the one that it was built by; nothing where no new one was given."""
    change = whole["change"] or {}
    if not change.get("new_spec") or change.get("approved_by"):
        return
    old, new = bytes(whole["spec"]).decode(errors="replace"), change["new_spec"]["text"]
    lines = list(unified_diff(old.splitlines(), new.splitlines(), "spec as built", "spec as wanted", lineterm="", n=1))
    yield from (plain(line) for line in lines[:LINES])
    if len(lines) > LINES:
        yield f"… {len(lines) - LINES} more lines"
