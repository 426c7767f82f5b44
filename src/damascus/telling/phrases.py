"""How times, durations and shas are written for people, and how foreign text is made harmless."""

import re
from datetime import datetime, timedelta

from damascus.domain.question_marks import without_marks
from damascus.domain.visible import UNSEEN

CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
LONGEST_ID = 12


def plain(text: object) -> str:
    """Without escape codes, control characters and what nobody sees: a title or a transcript must not steer the
    terminal, nor turn round what is read."""
    return UNSEEN.sub("", CONTROL.sub("", str(text)))


def one_line(text: object) -> str:
    return " ".join(plain(text).split())


def whole_words(text: str, width: int) -> str:
    """At most `width` characters: what is left out is whole words, and an ellipsis says so."""
    if len(text) <= width:
        return text
    kept, last = text[: max(width - 1, 0)], text[max(width - 1, 0) : width]
    if last and not last.isspace() and (end := kept.rstrip().rfind(" ")) > width // 3:
        kept = kept[:end]
    return kept.rstrip(" ,;:(·") + "…"


def in_parts(question: str) -> tuple[str, list[str]]:
    """The sentence that asks, and the lines of what it asks about (a spec, a diff), which are shown below it."""
    text = without_marks(str(question))
    asked, _, shown = text.partition("\n") if "\n---" in text else (text, "", "")
    return one_line(asked), [plain(line) for line in shown.splitlines()]


def duration(seconds: float) -> str:
    """`0.6 s`, `45 s`, `3 min`, `2 h`, `5 d`."""
    if seconds < 9.95:
        return f"{max(seconds, 0):.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 86400:.0f} d"


def between(earlier: datetime | None, later: datetime) -> str:
    return duration((later - earlier).total_seconds()) if earlier else "–"


def clock(moment: datetime | None, now: datetime) -> str:
    """Local; with the day when it is not today."""
    if moment is None:
        return "an unknown time"
    local, today = moment.astimezone(), now.astimezone()
    if local.date() == today.date():
        return local.strftime("%H:%M:%S" if abs(now - moment) < timedelta(minutes=2) else "%H:%M")
    return local.strftime("%Y-%m-%d %H:%M")


def moments(times: list[datetime]) -> list[str]:
    """All of one table in one format: local, with the day where they are not all of one."""
    local = [moment.astimezone() for moment in times]
    days = {moment.date() for moment in local}
    return [moment.strftime("%H:%M:%S" if len(days) < 2 else "%Y-%m-%d %H:%M:%S") for moment in local]


def pull(url: str | None) -> str:
    """`PR 44`: people know a pull by its number."""
    found = re.search(r"(\d+)/?$", url or "")
    return f"PR {found.group(1)}" if found else (url or "no PR")


def worker(name: str | None) -> str:
    """`host:boot:pid:start` as people say it."""
    parts = (name or "").split(":")
    return f"process {parts[2]} on {parts[0]}" if len(parts) == 4 else (name or "an unknown worker")


def listed(names: list[str], most: int = 3) -> str:
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def plural(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def size(count: int) -> str:
    """Bytes as people say them: 812 B, 4.2 kB, 13 MB."""
    number, units = float(count), ["B", "kB", "MB", "GB", "TB"]
    while number >= 1000 and len(units) > 1:
        number, units = number / 1000, units[1:]
    return f"{number:.0f} {units[0]}" if units[0] == "B" or number >= 10 else f"{number:.1f} {units[0]}"
