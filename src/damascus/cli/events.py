"""damascus events: the history, oldest first; with --follow as it happens, each event with its number in the stream."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from damascus.cli.opened import opened
from damascus.cli.say import compact_json, next_step, say, table
from damascus.domain.errors import UsageError

if TYPE_CHECKING:
    from damascus.store.db import Database, Row


def events(
    story: Annotated[str | None, typer.Argument(metavar="STORY", help="Only this story's.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many of the newest.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until Ctrl-C, each event with its number.")] = False,
    after: Annotated[
        int | None, typer.Option("--after", min=0, metavar="N", help="With --follow: all after number N.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, one object a line.")] = False,
) -> None:
    """What happened, oldest first.

    With --follow each event has a number. Who stops at number N goes on with --after N and misses nothing, sees nothing
    twice, however many hosts work.

    \b
    Example:  damascus events S-21 --limit 20
              damascus events --follow --after 4711 --json
    """
    from damascus.store import stream, views

    if after is not None and not follow:
        raise UsageError("--after counts along the numbered stream. Say it with --follow.")
    db, project = opened()
    item = views.story_row(db, project.row, story).id if story else None
    stream.publish(db)
    if follow:
        start = stream.tail(db, project.row.id, item, limit) if after is None else after
        _follow(db, project.row.id, item, start, as_json=as_json)
        return
    found = views.events(db, project.row, item, limit)
    if as_json:
        for row in found:
            print(compact_json(_published(row)))
        return
    for line in table(("when", "story", "event", "details"), [_cells(row) for row in found], shrink=(3,), lead=0):
        say(line)
    next_step(f"damascus show {found[-1]['story_id']}" if found and found[-1]["story_id"] else "damascus status")


def _follow(db: "Database", project: int, item: int | None, after: int, *, as_json: bool) -> None:
    from damascus.store import stream

    for row in stream.follow(db, after):
        if row["project_id"] != project or item not in (None, row["item_id"]):
            continue
        print(compact_json(_published(row)) if as_json else "  ".join((str(row["seq"]), *_cells(row))), flush=True)


def _published(row: "Row") -> dict[str, Any]:
    """One shape, with and without --follow: an object a line."""
    return {
        "seq": row["seq"],
        "id": row["id"],
        "at": row["created_at"],
        "story_id": row["story_id"],
        "kind": row["kind"],
        "body": row["body"],
    }


def _cells(row: "Row") -> tuple[str, str, str, str]:
    details = ", ".join(
        f"{key} {_short(value)}" for key, value in row["body"].items() if value not in (None, "", [], False)
    )
    return (f"{row['created_at'].astimezone():%m-%d %H:%M:%S}", row["story_id"] or "–", row["kind"], details)


def _short(value: object) -> str:
    from damascus.domain.ids import SHA_PATTERN

    if isinstance(value, list):
        return " ".join(str(part) for part in value)
    if isinstance(value, dict):
        return " ".join(f"{key} {part}" for key, part in value.items())
    text = str(value)
    return text[:7] if SHA_PATTERN.fullmatch(text) else text
