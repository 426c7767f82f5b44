"""damascus diff: what a story changes, as `git apply` takes it."""

import sys
from typing import Annotated

import typer

from damascus.cli.opened import app_for
from damascus.cli.say import as_json as print_json
from damascus.cli.say import aside, coloured, say, styled
from damascus.people import changes
from damascus.telling.phrases import plain

COLOURS = (("+++", "bold"), ("---", "bold"), ("+", "green"), ("-", "red"), ("@@", "cyan"), ("diff ", "bold"))


def diff(
    story: Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")],
    workspace: Annotated[bool, typer.Option("--workspace", help="What is in its workspace now.")] = False,
    stat: Annotated[bool, typer.Option("--stat", help="Only the files, and how much changed in each.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, with the patch in it.")] = False,
) -> None:
    """What a story changes: its candidate against its base, or what landed. Exact to the byte in a pipe.

    \b
    Example:  damascus diff S-21
              damascus diff S-21 | git apply
              damascus diff S-21 --workspace --stat
    """
    app, project = app_for(story)
    change = changes.change_of(app, project, story, workspace=workspace)
    if as_json:
        print_json(changes.published(project, change))
        return
    if change.note:
        aside("note", change.note)
    _show(changes.stat(project, change) if stat else changes.patch(project, change))


def _show(patch: bytes) -> None:
    """At a terminal nothing of it can move the cursor; anywhere else it is exactly what git said."""
    if not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(patch)
        sys.stdout.buffer.flush()
        return

    for line in patch.decode("utf-8", errors="replace").splitlines():
        say(_coloured(plain(line)) if coloured() else plain(line))


def _coloured(line: str) -> str:
    colour = next((colour for start, colour in COLOURS if line.startswith(start)), None)
    return styled(line, colour) if colour else line
