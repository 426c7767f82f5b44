"""What people are told without looking: which events are worth a message, and its words.

A line may quote an agent (the question of a blocked story), so it is cut, on one line, and without characters that
nobody sees; keys are masked by whoever makes it (engine/maintenance/notifier.py).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import time

from damascus.domain.described import Described
from damascus.domain.events import EventKind
from damascus.domain.verdict import Phase
from damascus.domain.visible import UNSEEN
from damascus.domain.waits import WaitKind

LINES = 20
"""Of one message; what is more is counted."""
LINE = 300
TITLE = 120
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
QUIET = re.compile(r"^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$")


class NoticeAbout(Described):
    """What a message may be about: the words of [notify] on."""

    NEEDS_YOU = "needs_you", "a question that only a person can answer"
    DONE = "done", "a story is on main"
    HALTED = "halted", "nothing new is begun, main of a chain is red, or main lost a done story"
    BUDGET = "budget", "a budget of tokens or dollars is spent"


class NoticeTarget(Described):
    """Where a message goes."""

    COMMAND = "command", "the command of [notify], with the message on its stdin"
    WEBHOOK = "webhook", "the address in the variable that [notify] webhook_env names"
    DESKTOP = "desktop", "notify-send on the worker's machine"


KINDS: Mapping[EventKind, NoticeAbout] = {
    EventKind.ISSUE_OPENED: NoticeAbout.NEEDS_YOU,
    EventKind.PHASE_TRANSITIONED: NoticeAbout.DONE,
    EventKind.BUILDER_HALTED: NoticeAbout.HALTED,
    EventKind.REPO_RED: NoticeAbout.HALTED,
    EventKind.STORY_NOT_ON_MAIN: NoticeAbout.HALTED,
    EventKind.BLOCKED_BUDGET: NoticeAbout.BUDGET,
    EventKind.ITEM_WAITS: NoticeAbout.BUDGET,
}
WORDS = {
    NoticeAbout.NEEDS_YOU: "needs you",
    NoticeAbout.DONE: "done",
    NoticeAbout.HALTED: "halted",
    NoticeAbout.BUDGET: "budget",
}


@dataclass(frozen=True)
class ToldEvent:
    """One event that is worth telling, as the stream has it."""

    seq: int
    kind: EventKind
    body: Mapping[str, object]
    story: str | None = None
    title: str | None = None
    issue: int | None = None
    """The question of its story that is open now."""

    @property
    def about(self) -> NoticeAbout | None:
        """None: nothing to tell of it (any more)."""
        if self.kind is EventKind.PHASE_TRANSITIONED and self.body.get("to") != Phase.DONE:
            return None
        if self.kind is EventKind.ITEM_WAITS and self.body.get("kind") != WaitKind.BUDGET:
            return None
        if self.kind is EventKind.ISSUE_OPENED and self.issue is None:
            return None
        return KINDS.get(self.kind)

    @property
    def line(self) -> str:
        whose = f"{self.story}: " if self.story else ""
        return cut(f"{WORDS[self.about] if self.about else self.kind}: {whose}{self._says()}", LINE)

    def _says(self) -> str:
        match self.about:
            case NoticeAbout.DONE:
                return f"{self.title or 'a story'} is on main"
            case NoticeAbout.NEEDS_YOU:
                return f"{cut(str(self.body.get('question', '')), LINE - 80)} (damascus answer {self.issue})"
            case _:
                said = self.body.get("message") or self.body.get("question") or self.body.get("key") or self.kind.means
                return str(said)


@dataclass(frozen=True)
class Message:
    """What is sent: a title, and a line for each event. `key` is the same whenever it is sent again."""

    key: str
    project: str
    title: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join([self.title, *self.lines])


def kinds(on: Iterable[str]) -> list[str]:
    """The events that are read where people want to be told of these."""
    wanted = set(on)
    return sorted(kind for kind, about in KINDS.items() if about in wanted)


def worth_telling(found: Sequence[ToldEvent]) -> list[ToldEvent]:
    """A story whose budget is spent asks a question about it as well: it is told once."""
    spent = {each.story for each in found if each.about is NoticeAbout.BUDGET and each.story}
    return [each for each in found if each.about and not (_asks(each) and each.story in spent)]


def _asks(each: ToldEvent) -> bool:
    return each.about is NoticeAbout.NEEDS_YOU


def composed(project: str, found: Sequence[ToldEvent]) -> tuple[str, list[str]]:
    """Title and lines of one message; the most urgent words first, as NoticeAbout lists them."""
    counts = [(WORDS[about], sum(each.about is about for each in found)) for about in (*NoticeAbout,)]
    told = ", ".join(f"{n} {word}" if n > 1 else word for word, n in counts if n)
    lines = [each.line for each in found[:LINES]]
    if len(found) > LINES:
        lines.append(f"and {len(found) - LINES} more: damascus status")
    return cut(f"{project}: {told}", TITLE), lines


def cut(text: str, most: int) -> str:
    """One line of at most so many characters, without what nobody sees."""
    plain = " ".join(UNSEEN.sub("", CONTROL.sub(" ", text[: 4 * most])).split())
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def is_quiet(hours: str, now: time) -> bool:
    """Is it within `22:00-07:00`? Hours may go over midnight; from and to alike are no hours at all."""
    if not (found := QUIET.match(hours)):
        return False
    h1, m1, h2, m2 = (int(part) for part in found.groups())
    begin, end = time(h1, m1), time(h2, m2)
    return begin <= now < end if begin <= end else now >= begin or now < end
