"""What commands print: text for people, JSON for scripts, never an escape code where there is no terminal."""

import os
import shutil
import sys
import textwrap
import unicodedata
from typing import TYPE_CHECKING, Any, TextIO

from damascus.telling import json_text
from damascus.telling.phrases import one_line, plain

if TYPE_CHECKING:
    from damascus.people.acts import Done

COLOURS = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36", "dim": "2", "bold": "1"}
WIDE_PIPE = 120
PHASE_COLOURS = {"done": "green", "blocked": "red", "stale": "yellow", "cancelled": "dim"}


def say(text: str = "") -> None:
    print(text)


def next_step(text: str) -> None:
    """The one line that says where to look next. Commands in a row break where a shell reads on."""
    line = f"Next: {text}"
    if width_of(line) > columns():
        line = line.replace(" && ", " &&\n      ") if " && " in line else wrapped(line, " " * 6, first="")
    say(styled(line, "dim"))


def say_wrapped(text: str, colour: str = "") -> None:
    """Lines that are too wide are broken, others stay as they are; so do commands in a row, which are copied whole."""
    for line in text.split("\n"):
        fits = width_of(line) < columns() or " && " in line
        told = line if fits else wrapped(line, " " * (len(line) - len(line.lstrip())))
        say(styled(told, colour) if colour else told)


def aside(kind: str, message: str) -> None:
    """`note: …` and the like, on stderr: stdout may be JSON."""
    print(message_text(kind, message, columns(sys.stderr) - 1), file=sys.stderr)


def tell(done: "Done") -> None:
    """What a service did, and what to do next."""
    say_wrapped(plain(done.said))
    next_step(done.following)


def as_json(value: Any) -> None:
    print(json_text.indented(value))


def compact_json(value: Any) -> str:
    return json_text.compact(value)


def coloured(stream: TextIO | None = None) -> bool:
    stream = stream or sys.stdout
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def styled(text: str, colour: str) -> str:
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if coloured() else text


def columns(stream: TextIO | None = None) -> int:
    """COLUMNS if it is set, else the terminal's width; a pipe is wide."""
    stream = stream or sys.stdout
    fallback = 80 if stream.isatty() else WIDE_PIPE
    if not stream.isatty() and not os.environ.get("COLUMNS"):
        return fallback
    return max(shutil.get_terminal_size((fallback, 24)).columns, 40)


def error_text(message: str, width: int) -> str:
    return message_text("error", message, width)


def message_text(kind: str, message: str, width: int) -> str:
    """`error: …`, wrapped, further lines indented below it; lines that the message broke itself are kept."""
    indent = " " * (len(kind) + 2)
    lines = []
    for n, line in enumerate(plain(message).split("\n")):
        body = line.strip() if n else line
        first = f"{kind}: " if n == 0 else indent
        wrapped = textwrap.wrap(
            body, width, initial_indent=first, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        lines += wrapped or [""]
    return "\n".join(lines)


def wrapped(text: str, indent: str = "", first: str | None = None) -> str:
    """Lines that fit the columns; `first` is what the first one begins with, if not with the indent."""
    begins = indent if first is None else first
    return textwrap.fill(
        one_line(text), columns() - 1, initial_indent=begins, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def parts_in_lines(text: str, width: int = 0, separator: str = " · ") -> str:
    """A line of parts, broken between two of them where it is too wide; colours are kept."""
    lines = [""]
    for part in text.split(separator):
        longer = f"{lines[-1]}{separator}{part}" if lines[-1] else part
        if lines[-1] and width_of(plain(longer)) > (width or columns()) - 1:
            lines.append(f"  {part}")
        else:
            lines[-1] = longer
    return "\n".join(lines)


# ── widths ────────────────────────────────────────────────────────────────────────────────────────────


def width_of(text: str) -> int:
    """Cells on a terminal: East Asian characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def cut(text: str, width: int) -> str:
    if width_of(text) <= width:
        return text
    while text and width_of(text) > width - 1:
        text = text[:-1]
    return text.rstrip() + "…"
