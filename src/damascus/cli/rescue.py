"""damascus rescue: whatever an agent wrote can be listed and restored (X2)."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from damascus.cli.opened import opened, opened_for
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say, tell
from damascus.cli.tables import table
from damascus.domain.errors import DamascusError
from damascus.people import rescuing
from damascus.people.rescuing import Kept
from damascus.telling.phrases import clock

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="List and restore whatever an agent wrote.")


@app.command("list", short_help="The snapshots, the newest first.")
def list_snapshots(
    story: Annotated[str | None, typer.Argument(metavar="STORY", help="Only this story's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """The snapshots of a story's workspace, or of all, the newest first.

    \b
    Example:  damascus rescue list S-21
    """
    found = rescuing.listing(*(opened_for(story) if story else opened()), story)
    if as_json:
        print_json({"snapshots": [{"n": kept.number, **vars(kept.snapshot)} for kept in found.kept]})
        return
    if not found.kept:
        say(f"No snapshots{f' of {found.story}' if story else ''}: no workspace has been reset or removed yet.")
        next_step("damascus status")
        return
    last = max(kept.snapshot.taken_at for kept in found.kept)
    rows = [_row(kept, clock(kept.snapshot.taken_at, last)) for kept in found.kept]
    for line in table(("story", "n", "taken", "by", "what it is", "commit", "left out"), rows, lead=0):
        say(line)
    next_step(f"damascus rescue restore {found.kept[0].snapshot.story} {found.kept[0].number}")


def _row(kept: Kept, taken: str) -> tuple[str, ...]:
    s = kept.snapshot
    return (s.story, f"{kept.number}", taken, f"run {s.run_no}", kept.moment, s.commit[:7], f"{len(s.left_out)}")


@app.command("restore", short_help="Write one into a new folder.")
def restore(
    story: Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")],
    number: Annotated[
        int, typer.Argument(metavar="N", min=1, help="Which one, as in `rescue list`; 1 is the newest.")
    ] = 1,
    to: Annotated[str | None, typer.Option("--to", metavar="DIR", help="A new folder for the files.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask before writing into the repository.")] = False,
) -> None:
    """Write the files of a snapshot into a new folder; asks first if it is inside the repository.

    \b
    Example:  damascus rescue restore S-21 1 --to /tmp/S-21
    """
    db, project = opened_for(story)
    kept = rescuing.picked(db, project, story, number)
    folder = Path(to or f"{kept.story}-rescued-{number}").absolute()
    rescuing.refuse_taken(folder)
    agreed = yes or (rescuing.in_repository(project, folder) and _agrees(folder))
    tell(rescuing.restore(project, kept, folder, agreed=agreed))


def _agrees(folder: Path) -> bool:
    """Asked where there is a terminal; elsewhere nobody has agreed."""
    if not sys.stdin.isatty():
        return False
    if not typer.confirm(f"{folder} is inside your repository. Write the files there?"):
        raise DamascusError("nothing was written. Name a folder elsewhere with --to.")
    return True
