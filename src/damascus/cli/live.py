"""Progress of many stories at once: a live table on a terminal, one line per change everywhere else."""

import sys
from collections.abc import Callable
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING

from damascus.cli import now
from damascus.cli.say import PHASE_COLOURS
from damascus.cli.words import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

    from damascus.store.views import Snapshot, StoryRow

HEAD = ("story", "title", "phase", "now", "try", "time")


class Progress:
    """`tick()` reads and shows; call it a few times a second from the main thread."""

    def __init__(
        self, read: "Callable[[], Snapshot]", console: "Console | None" = None, title: str = "", *, table: bool = True
    ) -> None:
        """`table` False: lines only, because somebody else asks questions on this terminal."""
        self.read = read
        self.table = table
        self.title = title
        self.console = console
        self._live: Live | None = None
        self._said: dict[str, str] = {}

    def __enter__(self) -> "Progress":
        if self.title:
            self._print(self.title)
        if self.table and self._on_terminal():
            self._live = _live(self.console)
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, tb: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def tick(self) -> None:
        snapshot = self.read()
        if self._live is not None:
            self._live.update(_table(snapshot, self._live.console.height), refresh=True)
        else:
            self._say_changes(snapshot)

    def _on_terminal(self) -> bool:
        return self.console.is_terminal if self.console is not None else sys.stdout.isatty()

    def _print(self, text: str) -> None:
        if self.console is not None:
            self.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, flush=True)

    def _say_changes(self, snapshot: "Snapshot") -> None:
        for row in snapshot.rows:
            told = _change(row)
            if self._said.get(row.story_id) != told:
                self._said[row.story_id] = told
                self._print(f"{datetime.now():%H:%M:%S}  {row.story_id}  {told}")


def _change(row: "StoryRow") -> str:
    """What counts as news: a time that runs on does not."""
    if row.wait_kind == "backoff":
        return f"{row.phase}: waits: {one_line(row.wait_key)} (not counted)"
    if row.lease_expired:
        return f"{row.phase}: no sign of its worker"
    return f"{row.phase}: {now.now(row)}"


def _live(console: "Console | None") -> "Live":
    from rich.console import Console
    from rich.live import Live

    return Live(console=console or Console(highlight=False), auto_refresh=False, vertical_overflow="ellipsis")


def _table(snapshot: "Snapshot", height: int) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=True, padding=(0, 1), header_style="dim")
    for name in HEAD:
        squeezable = name in ("title", "now")
        table.add_column(name, no_wrap=True, overflow="ellipsis", ratio=2 if squeezable else None)
    room = max(height - 4, 5)
    for row in snapshot.rows[:room]:
        words = (*now.cells(row)[:5], now.elapsed(row))
        table.add_row(*(Text(one_line(word)) for word in words), style=PHASE_COLOURS.get(row.phase, ""))
    left = now.rest(snapshot)
    hidden = len(snapshot.rows) - room
    if hidden > 0 or left:
        more = [f"{hidden} lines more"] if hidden > 0 else []
        table.caption = "… " + ", ".join([*more, *([left] if left else [])])
        table.caption_justify = "left"
    return table
