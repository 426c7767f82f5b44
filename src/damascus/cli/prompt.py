"""damascus prompt: what a story's next agent step would be told, and what it costs in tokens."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from damascus.cli.opened import of_story, open_app, open_project
from damascus.cli.say import as_json as print_json
from damascus.cli.say import table

if TYPE_CHECKING:
    from damascus.app import App, Project
    from damascus.domain.ports import Brief
    from damascus.domain.roles import Choice
    from damascus.engine.briefs import Part

LIMITS = {"rules": 100, "task": 200, "CI addendum": 150}


def prompt(
    story: Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")],
    role: Annotated[str | None, typer.Option("--role", metavar="ROLE", help="As this role would get it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """What the story's next agent step would be told; below it, on stderr, what each part costs in tokens.

    \b
    Example:  damascus prompt S-21
    """
    from damascus.domain.roles import model_for
    from damascus.engine import briefs

    app = open_app()
    project = of_story(app, open_project(app), story)
    given = _given(app, project, story, role)
    choice = model_for(given.role, project.config.models, given.traits)
    parts = briefs.parts(given)
    if as_json:
        print_json(_published(given, choice, parts))
        return
    print(briefs.prompt(given), end="", flush=True)
    for line in _costs(given, choice, parts):
        print(line, file=sys.stderr)


def _given(app: "App", project: "Project", story: str, role: str | None) -> "Brief":
    from damascus.assembly import make_tools
    from damascus.engine.tools import nothing
    from damascus.engine.upcoming import upcoming
    from damascus.store import rows, views

    row = views.story_row(app.database, project.row, story)
    item = rows.item(app.database.all("items_by_id", ids=[row.id])[0])
    return upcoming(make_tools(app, project, None, lambda: False, nothing), item, role)


def _published(given: "Brief", choice: "Choice", parts: "list[Part]") -> dict[str, object]:
    from damascus.engine import briefs

    return {
        "story_id": given.story_id,
        "role": given.role,
        "model": choice.model,
        "why": choice.why,
        "tokens": sum(part.tokens for part in parts),
        "parts": [{"name": part.name, "tokens": part.tokens, "limit": LIMITS.get(part.name)} for part in parts],
        "prompt": briefs.prompt(given),
    }


def _costs(given: "Brief", choice: "Choice", parts: "list[Part]") -> list[str]:
    from damascus.domain.handoff import BUDGET

    handed = sum(part.tokens for part in parts if part.name not in LIMITS)
    rows = [(part.name, str(part.tokens), str(LIMITS.get(part.name, ""))) for part in parts]
    rows += [("hand-off in all", str(handed), str(BUDGET)), ("prompt", str(sum(part.tokens for part in parts)), "")]
    return [
        "",
        f"{given.story_id} as {given.role}, on {choice.model}: {choice.why}",
        *("  " + line for line in table(("part", "tokens, about", "at most"), rows, shrink=(0,))),
    ]
