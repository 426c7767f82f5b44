"""What an agent is handed, packed into a budget of tokens by priority (W11).

What has no room is left out from the end of the priorities: while anything of one priority is missing or cut, nothing
of a later one is handed over. Inside a priority whole files go first; then the first that did not fit is cut. Whatever
is left out is named, so that the agent knows to look for it in its folder.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from damascus.domain.tokens import count

BUDGET = 50_000
NOTE = 200
LEAST = 50
"""A piece of fewer tokens than this says nothing: it is left out whole."""


class Priority(IntEnum):
    """In this order, which is also the order in which an agent reads them."""

    PLAN = 0
    CODE = 1
    TESTS = 2
    SPECS = 3
    HISTORY = 4


@dataclass(frozen=True)
class HandoffSection:
    """One piece with its heading. `quoted`: the body is somebody's file and stands in a fenced block."""

    priority: Priority
    title: str
    body: str
    quoted: bool = False

    @property
    def text(self) -> str:
        body = self.body.rstrip("\n")
        if self.quoted:
            fence = "`" * max(3, 1 + _longest_fence(body))
            body = f"{fence}\n{body}\n{fence}"
        return f"# {self.title}\n\n{body}\n"


def _longest_fence(body: str) -> int:
    marks = (len(line) - len(line.lstrip("`")) for line in (line.lstrip() for line in body.split("\n")))
    return max(marks, default=0)


@dataclass(frozen=True)
class Packed:
    """What is handed over, in reading order, and the titles of what is not or not whole."""

    sections: tuple[HandoffSection, ...]
    left_out: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(section.text for section in self.sections)


def pack(sections: Sequence[HandoffSection], budget: int = BUDGET, unread: Sequence[str] = ()) -> Packed:
    """At most `budget` tokens. `unread` are titles that are left out for reasons of their own."""
    ordered = sorted(sections, key=lambda section: section.priority)
    if _surely_fits(ordered, budget - NOTE if unread else budget):
        kept: dict[int, HandoffSection] = dict(enumerate(ordered))
    else:
        kept = _chosen(ordered, budget - NOTE)
    left_out = [section.title for n, section in enumerate(ordered) if kept.get(n) != section]
    whole = [kept[n] for n in sorted(kept)]
    names = (*left_out, *unread)
    return Packed((*whole, _note(names)) if names and budget >= NOTE else tuple(whole), names)


def _surely_fits(sections: Sequence[HandoffSection], budget: int) -> bool:
    """A token is at least a byte: most stories need no counting."""
    return sum(len(section.text.encode("utf-8", errors="replace")) + 1 for section in sections) <= budget


def _chosen(ordered: Sequence[HandoffSection], room: int) -> dict[int, HandoffSection]:
    kept: dict[int, HandoffSection] = {}
    for priority in Priority:
        missing = []
        for n, section in enumerate(ordered):
            if section.priority == priority:
                cost = _cost(section)
                if cost <= room:
                    kept[n], room = section, room - cost
                else:
                    missing.append(n)
        if missing:
            piece = cut(ordered[missing[0]], room)
            return kept | ({missing[0]: piece} if piece is not None else {})
    return kept


def _cost(section: HandoffSection) -> int:
    return count(section.text) + 1


def cut(section: HandoffSection, room: int) -> HandoffSection | None:
    """As many of its first lines as fit, with a note of how many there are; None when that says too little."""
    lines = section.body.split("\n")
    room -= _cost(replace(section, body=_cut_note(len(lines), len(lines)))) + 2
    if room < LEAST:
        return None
    shown, used = 0, 0
    while shown < len(lines) and used + count(lines[shown]) + 1 <= room:
        used += count(lines[shown]) + 1
        shown += 1
    if shown == 0:
        start = lines[0].encode("utf-8", errors="replace")[:room].decode("utf-8", errors="ignore")
        return replace(section, body=f"{start}\n{_cut_note(0, len(lines))}")
    return replace(section, body="\n".join([*lines[:shown], _cut_note(shown, len(lines))]))


def _cut_note(shown: int, lines: int) -> str:
    return f"[cut here: {shown} of {lines} lines are shown, the file is in your folder]"


def _note(titles: Sequence[str]) -> HandoffSection:
    """As many names as the note's share of the budget allows."""
    body, named = "", 0
    for title in titles:
        line = f"- {title}\n"
        if count(body + line) > NOTE - 60:
            break
        body, named = body + line, named + 1
    more = f"- and {len(titles) - named} more\n" if named < len(titles) else ""
    return HandoffSection(Priority.HISTORY, "Not shown here, or not whole", body + more)
