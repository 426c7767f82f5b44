"""damascus plan: an idea becomes a task graph, which a person approves."""

from typing import Annotated

import typer

from damascus.cli.opened import opened
from damascus.cli.say import as_json as print_json
from damascus.cli.say import tell
from damascus.people import planning


def plan(
    idea: Annotated[str, typer.Argument(metavar="IDEA", help="A file that says what is wanted, in your words.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Make a task graph of an idea: a planner writes it, it is checked, a critic reads it, and you approve it with what
    it touches and may cost in front of you. Nothing of it is built before that.

    \b
    Example:  damascus plan IDEA.md
    """
    done = planning.plan(*opened(), idea)
    if as_json:
        print_json({"story": done.story, "title": done.title, "graph": done.graph})
        return
    tell(done)
