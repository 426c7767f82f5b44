"""damascus write: writes that wait for a person, and writes staged by hand through the same checks."""

import os
from typing import Annotated

import typer
from rich.console import Console

from damascus.cli.opened import opened
from damascus.cli.say import as_json as print_json
from damascus.cli.say import coloured, next_step, say, tell
from damascus.cli.tables import table
from damascus.people import staged_writes
from damascus.writes import difference

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Stage, show, apply and reject single writes.")
Number = Annotated[int, typer.Argument(metavar="N", min=1, help="The write's number, as in `write list`.")]


@app.command("stage", short_help="Propose a new content for a file.")
def stage(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file of this repository to write.")],
    source: Annotated[str, typer.Option("--from", metavar="NEW", help="A file that holds its new content.")],
) -> None:
    """Propose new content for a file: scanned for secrets now, written only by `write apply`.

    \b
    Example:  damascus write stage src/io.py --from /tmp/io.py
    """
    _, project = opened()
    tell(staged_writes.stage(project, os.path.abspath(file), source))


@app.command("list")
def list_staged(
    everything: Annotated[bool, typer.Option("--all", help="Include those that were decided.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """The writes that wait for a person.

    \b
    Example:  damascus write list
    """
    _, project = opened()
    found = staged_writes.staged_writes(project, everything=everything)
    if as_json:
        print_json({"writes": [staged_writes.published(staged) for staged in found]})
        return
    if not found:
        say("No write waits for you.")
        next_step("damascus inbox")
        return
    rows = [
        (str(s.meta.n), s.meta.story or "by hand", s.meta.role, s.meta.path, s.meta.status, s.meta.reason)
        for s in found
    ]
    for line in table(("n", "story", "role", "file", "status", "reason"), rows, shrink=(3, 5), lead=0):
        say(line)
    next_step(f"damascus write show {found[0].meta.n}")


@app.command("show")
def show(number: Number, as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """One staged write as a diff.

    \b
    Example:  damascus write show 3
    """
    _, project = opened()
    staged = staged_writes.staged_write(project, number)
    shown = difference.lines(staged.change)
    if as_json:
        print_json({**staged_writes.published(staged), "diff": shown})
        return
    if coloured():
        Console(highlight=False).print(difference.coloured(shown), end="")
    else:
        for line in shown:
            say(line)
    if staged.meta.status == "waiting":
        next_step(f"damascus write apply {number}, or: damascus write reject {number} --reason …")


@app.command("apply")
def apply(number: Number) -> None:
    """Apply a staged write, scanned again. An agent that waits for it goes on.

    \b
    Example:  damascus write apply 3
    """
    tell(staged_writes.apply(*opened(), number))


@app.command("reject")
def reject(
    number: Number,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; a waiting agent is told.")] = "",
) -> None:
    """Reject a staged write. An agent that waits for it is told the reason.

    \b
    Example:  damascus write reject 3 --reason "keep the old name"
    """
    tell(staged_writes.reject(*opened(), number, reason))
