"""A write as a unified diff for people, coloured on a terminal. An agent's text may not steer the terminal."""

import difflib
import re

from rich.text import Text

from damascus.writes.proposal import Proposal, ProposedChange

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
STYLES = {"+": "green", "-": "red", "@": "cyan"}
MOST = 2_000


def lines(change: ProposedChange | Proposal, most: int = MOST) -> list[str]:
    """Control characters are shown by their number; a deleted or a new file has /dev/null at its other side."""
    old, new = _shown(change.before), _shown(change.after)
    was = f"a/{change.path}" if change.before is not None else "/dev/null"
    is_ = f"b/{change.path}" if change.after is not None else "/dev/null"
    found = list(difflib.unified_diff(old, new, _visible(was), _visible(is_), lineterm=""))
    left_out = len(found) - most
    return found if left_out <= 0 else [*found[:most], f"… {left_out} more lines"]


def coloured(shown: list[str]) -> Text:

    text = Text()
    for n, line in enumerate(shown):
        style = "bold" if n < 2 and line.startswith(("---", "+++")) else STYLES.get(line[:1], "")
        text.append(line + "\n", style)
    return text


def _shown(content: bytes | None) -> list[str]:
    return [_visible(line) for line in (content or b"").decode("utf-8", errors="replace").split("\n")]


def _visible(line: str) -> str:
    """Also what is invisible or turns the direction of writing: a diff must show what it changes."""
    return CONTROL.sub(lambda found: f"\\x{ord(found.group()):02x}", line)
