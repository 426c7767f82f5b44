"""damascus show: one story, its numbers and what happened step by step."""

from pathlib import Path
from typing import Annotated

import typer

from damascus.cli.opened import app_for
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say, wrapped
from damascus.cli.tables import table
from damascus.people import claims
from damascus.people.pictures import SavedPictures, save_pictures
from damascus.people.showing import shown
from damascus.store.db import Row
from damascus.telling import costs, stale
from damascus.telling import story as in_words
from damascus.telling.phrases import moments
from damascus.telling.steps import came_to, took


def show(
    story: Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    pictures: Annotated[
        Path | None,
        typer.Option("--pictures", metavar="FOLDER", help="Save its pictures of pages there instead."),
    ] = None,
) -> None:
    """One story: its row, its questions, and what happened step by step.

    \b
    Example:  damascus show S-21
              damascus show S-21 --pictures /tmp/pages
    """
    app, project = app_for(story)
    if pictures is not None:
        _save(save_pictures(app.database, project, story, pictures), as_json)
        return
    found = shown(app, project, story)
    row = found.row
    if as_json:
        print_json(found.published())
        return
    say(wrapped(row.title, "  ", first=f"{row.story_id}  "))
    for name, value in found.facts():
        _say_fact(name, value)
    for line in stale.specs_compared(found.whole):
        say(f"    {line}")
    if found.lost is not None:
        say(wrapped(f"! {claims.told({row.story_id: found.lost}, project.row.main_branch)}"))
    if found.returned is not None:
        _say_fact("returned", found.returned.summary)
    _say_fact("cost", costs.story_line(found.dispatches))
    notes = [f"its agent notes: {concern}" for concern in found.concerns]
    for line in (*in_words.feedback(row), *notes, *map(in_words.question, found.issues)):
        say(wrapped(line, "  "))
    _say_steps(found.steps)
    next_step(f"damascus why {row.story_id}, damascus logs {row.story_id}, damascus receipt {row.story_id}")


def _save(saved: SavedPictures, as_json: bool) -> None:
    if as_json:
        print_json({"pages": saved.pages})
        return
    say(saved.said)
    next_step(saved.following)


def _say_fact(name: str, value: str) -> None:
    say(wrapped(value, " " * 13, first=f"  {name:<10} "))


def _say_steps(steps: list[Row]) -> None:
    if not steps:
        say("  no step has been taken yet")
        return
    lines = [
        (f"run {s['run_no']}", s["phase"], s["step"], at, took(s), came_to(s))
        for s, at in zip(steps, moments([s["started_at"] for s in steps]), strict=True)
    ]
    say()
    for line in table(("run", "phase", "step", "at", "took", "came to"), lines, shrink=(5,)):
        say("  " + line)
