"""damascus prompt: what a story's next agent step would be told, and what it costs in tokens."""

import sys
from typing import Annotated

import typer

from damascus.app import App, Project
from damascus.cli.opened import app_for
from damascus.cli.say import as_json as print_json
from damascus.cli.tables import table
from damascus.domain.handoff import BUDGET
from damascus.domain.ports import Brief
from damascus.domain.roles import ModelChoice, model_for
from damascus.engine.agent_step import briefs
from damascus.engine.agent_step.briefs import PromptPart
from damascus.engine.agent_step.upcoming import upcoming
from damascus.engine.tools import nothing
from damascus.store import rows, views
from damascus.toolset import make_tools

NO_MODEL_OF_OURS = ("command", "scripted")
LIMITS = {"rules": 100, "task": 200, "report": 200, "CI addendum": 150}


def prompt(
    story: Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")],
    role: Annotated[str | None, typer.Option("--role", metavar="ROLE", help="As this role would get it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """What the story's next agent step would be told; below it, on stderr, what each part costs in tokens.

    \b
    Example:  damascus prompt S-21
    """
    app, project = app_for(story)
    given = _given(app, project, story, role)
    choice = _model(project, given)
    parts = briefs.parts(given)
    if as_json:
        print_json(_published(given, choice, parts))
        return
    print(briefs.prompt(given), end="", flush=True)
    for line in _costs(given, choice, parts):
        print(line, file=sys.stderr)


def _given(app: App, project: Project, story: str, role: str | None) -> Brief:
    row = views.story_row(app.database, project.row, story)
    item = rows.item(app.database.all("items_by_id", ids=[row.id])[0])
    return upcoming(make_tools(app, project, None, lambda: False, nothing), item, role)


def _model(project: Project, given: Brief) -> ModelChoice:
    """A command has its own, and we don't know it."""
    kind = project.config.agent.kind_of(given.role)
    if kind in NO_MODEL_OF_OURS:
        return ModelChoice("", f"the {kind} agent knows its model itself")
    return model_for(given.role, project.config.models, given.traits)


def _published(given: Brief, choice: ModelChoice, parts: list[PromptPart]) -> dict[str, object]:
    return {
        "story_id": given.story_id,
        "role": given.role,
        "model": choice.model or None,
        "why": choice.why,
        "tokens": sum(part.tokens for part in parts),
        "parts": [{"name": part.name, "tokens": part.tokens, "limit": LIMITS.get(part.name)} for part in parts],
        "prompt": briefs.prompt(given),
    }


def _costs(given: Brief, choice: ModelChoice, parts: list[PromptPart]) -> list[str]:
    handed = sum(part.tokens for part in parts if part.name not in LIMITS)
    rows = [(part.name, str(part.tokens), str(LIMITS.get(part.name, ""))) for part in parts]
    rows += [("hand-off in all", str(handed), str(BUDGET)), ("prompt", str(sum(part.tokens for part in parts)), "")]
    return [
        "",
        f"{given.story_id} as {given.role}{f', on {choice.model}' if choice.model else ''}: {choice.why}",
        *("  " + line for line in table(("part", "tokens, about", "at most"), rows, shrink=(0,))),
    ]
