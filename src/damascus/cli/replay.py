"""damascus replay: the write pipeline once more over what a story's agents wrote."""

from typing import Annotated

import typer

from damascus.cli.opened import opened_for
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say
from damascus.cli.tables import table
from damascus.domain.errors import DamascusError
from damascus.people.replaying import ReplayedStory
from damascus.people.replaying import replay as replayed


def replay(
    story: Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")],
    first: Annotated[int, typer.Option("--from", metavar="N", min=1, help="Start with this write.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Check every logged write of a story again, by today's rules. Exit code 1 if one is judged differently.

    \b
    Example:  damascus replay S-21 --from 5
    """
    db, project = opened_for(story)
    found = replayed(db, project, story, first)
    if as_json:
        print_json(found.published())
    elif not found.writes:
        name = found.story
        raise DamascusError(f"{name} has no logged write from number {first} on. See: damascus show {name}")
    else:
        _say(found)
    return 1 if found.differ else 0


def _say(found: ReplayedStory) -> None:
    rows = [
        (str(r.number), str(r.entry.origin.run), r.entry.origin.role, r.entry.tool, r.entry.path, r.then,
         r.now or f"– ({r.note})")
        for r in found.writes
    ]  # fmt: skip
    for line in table(("n", "run", "role", "tool", "file", "then", "now"), rows, shrink=(4, 6), lead=0):
        say(line)
    say(found.said)
    next_step(f"damascus show {found.story}")
