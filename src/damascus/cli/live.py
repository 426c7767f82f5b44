"""Progress of many stories at once: a live table on a terminal, one line per change everywhere else."""

import sys
from collections.abc import Callable
from datetime import datetime
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from damascus.cli.lines import story_lines
from damascus.cli.say import PHASE_COLOURS, columns, parts_in_lines
from damascus.domain.waits import ItemState, WaitKind
from damascus.store.views import ProjectView, StoryRow
from damascus.telling import now
from damascus.telling.phrases import one_line, plural


class Progress:
    """`tick()` reads and shows; call it a few times a second from the main thread."""

    def __init__(
        self, read: Callable[[], ProjectView], console: Console | None = None, title: str = "", *, table: bool = True
    ) -> None:
        """`table` False: lines only, because somebody else asks questions on this terminal."""
        self.read = read
        self.table = table
        self.title = title
        self.console = console
        self._live: Live | None = None
        self._said: dict[str, str] = {}
        self._told: set[tuple[str, int, str]] = set()

    def __enter__(self) -> "Progress":
        if self.title:
            self._print(parts_in_lines(self.title, self._width()) if self._on_terminal() else self.title)
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
            console = self._live.console
            self._live.update(_table(snapshot, console.width, console.height), refresh=True)
        else:
            self._say_changes(snapshot)

    def _on_terminal(self) -> bool:
        return self.console.is_terminal if self.console is not None else sys.stdout.isatty()

    def _width(self) -> int:
        return self.console.width if self.console is not None else columns()

    def _print(self, text: str) -> None:
        if self.console is not None:
            self.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, flush=True)

    def _say_changes(self, snapshot: ProjectView) -> None:
        for row in snapshot.rows:
            told = _change(row)
            if self._is_news(row, told):
                self._print(f"{datetime.now():%H:%M:%S}  {row.story_id}  {told}")

    def _is_news(self, row: StoryRow, told: str) -> bool:
        """A step is told once in a run, however often it is looked at (CI) or begun again (an outage)."""
        if self._said.get(row.story_id) == told:
            return False
        known = (row.story_id, row.run_no, told)
        if row.state == ItemState.LEASED and known in self._told:
            return False
        self._told.add(known)
        self._said[row.story_id] = told
        return True


def _change(row: StoryRow) -> str:
    """What counts as news: a time that runs on does not, nor a look at CI that finds nothing new."""
    if row.wait_kind == WaitKind.BACKOFF:
        return f"{row.phase}: waits: {one_line(row.wait_key)} (not counted)"
    if row.lease_expired:
        return f"{row.phase}: no sign of its worker"
    if row.wait_kind == WaitKind.CI:
        return f"{row.phase}: {now.ci(row)}"
    return f"{row.phase}: {now.now(row)}"


def _live(console: Console | None) -> Live:
    return Live(console=console or Console(highlight=False), auto_refresh=False, vertical_overflow="ellipsis")


def _table(snapshot: ProjectView, width: int, height: int) -> Group:
    room = max(height - 4, 5)
    rows = snapshot.rows[:room]
    head, lines = story_lines(rows, [now.elapsed(row) for row in rows], width - 2, "time")
    drawn = [Text(f" {head}", style="dim", no_wrap=True)]
    drawn += [
        Text(f" {line}", style=PHASE_COLOURS.get(row.phase, ""), no_wrap=True)
        for row, line in zip(rows, lines, strict=True)
    ]
    if below := _below(snapshot, room):
        drawn.append(Text(f" … {below}", style="italic"))
    return Group(*drawn)


def _below(snapshot: ProjectView, room: int) -> str:
    """What is there and has no line."""
    hidden = len(snapshot.rows) - room
    more = [plural(hidden, "line more", "lines more")] if hidden > 0 else []
    left = now.rest(snapshot)
    return ", ".join([*more, *([left] if left else [])])
