"""damascus events: the history, oldest first; with --follow as it happens, each event with its number in the stream."""

from typing import Annotated

import typer

from damascus.cli.opened import opened
from damascus.cli.say import aside, compact_json, next_step, say
from damascus.cli.tables import table
from damascus.domain.errors import UsageError
from damascus.people.history import history, published
from damascus.telling.events import cells


def events(
    story: Annotated[str | None, typer.Argument(metavar="STORY", help="Only this story's.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, counted from the newest.")] = 50,
    follow: Annotated[
        bool, typer.Option("--follow", help="Keep going until Ctrl-C, each event with its number.")
    ] = False,
    after: Annotated[
        int | None, typer.Option("--after", min=0, metavar="N", help="With --follow: everything after number N.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, one object a line.")] = False,
) -> None:
    """What happened, oldest first.

    With --follow each event has a number. Whoever stops at number N continues with --after N, misses nothing and sees
    nothing twice, however many hosts are working.

    \b
    Example:  damascus events S-21 --limit 20
              damascus events --follow --after 4711 --json
    """
    if after is not None and not follow:
        raise UsageError("--after goes with --follow: only the stream is numbered.")
    db, project = opened()
    past = history(db, project, story)
    if follow:
        if gone := past.gone_by_age(after, limit):
            aside("note", f"up to number {gone} some events went by age ([retention] events_days)")
        for row in past.follow(after, limit):
            print(compact_json(published(row)) if as_json else "  ".join((str(row["seq"]), *cells(row))), flush=True)
        return
    found = past.newest(limit)
    if as_json:
        for row in found:
            print(compact_json(published(row)))
        return
    for line in table(("when", "story", "event", "details"), [cells(row) for row in found], shrink=(3,), lead=0):
        say(line)
    next_step(f"damascus show {found[-1]['story_id']}" if found and found[-1]["story_id"] else "damascus status")
