"""damascus why: one honest paragraph."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from damascus.cli.opened import living, locks_folder, open_app, open_project
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say, wrapped

if TYPE_CHECKING:
    from damascus.store.why import Facts


def why(
    story: Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Where a story is, since when, what it waits for, who must act, what happens next.

    \b
    Example:  damascus why S-23
    """
    from damascus.cli.paragraph import paragraph
    from damascus.store.why import facts
    from damascus.system.hostid import is_dead

    app = open_app()
    project = open_project(app)
    found = facts(app.database, project.row, story)
    said = paragraph(found, living(app, found.workers), lambda worker: is_dead(locks_folder(app), worker))
    if as_json:
        print_json(_published(found, said))
        return
    for sentence in said:
        say(wrapped(sentence))
    next_step(f"damascus show {found.row.story_id}")


def _published(found: "Facts", said: list[str]) -> dict[str, Any]:
    from damascus.cli.status import item

    return {"story_id": found.row.story_id, "why": " ".join(said), "item": item(found.row)}
