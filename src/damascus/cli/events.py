"""damascus events: the history, oldest first."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from damascus.cli.opened import opened
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say, table

if TYPE_CHECKING:
    from damascus.store.db import Row


def events(
    story: Annotated[str | None, typer.Argument(metavar="STORY", help="Only this story's.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many of the newest.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """What happened, oldest first.

    \b
    Example:  damascus events S-21 --limit 20
    """
    from damascus.store import views

    db, project = opened()
    item = views.story_row(db, project.row, story).id if story else None
    found = views.events(db, project.row, item, limit)
    if as_json:
        print_json({"events": [_published(row) for row in found]})
        return
    for line in table(("when", "story", "event", "details"), [_cells(row) for row in found], shrink=(3,), lead=0):
        say(line)
    next_step(f"damascus show {found[-1]['story_id']}" if found and found[-1]["story_id"] else "damascus status")


def _published(row: "Row") -> dict[str, Any]:
    return {
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
