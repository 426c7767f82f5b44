"""damascus rescue: whatever an agent wrote can be listed and restored (X2)."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from damascus.cli.opened import opened, opened_for
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say, table
from damascus.domain.errors import DamascusError, UsageError

if TYPE_CHECKING:
    from damascus.app import Project
    from damascus.git.snapshots import Snapshot, Snapshots

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="List and restore whatever an agent wrote.")


@app.command("list")
def list_snapshots(
    story: Annotated[str | None, typer.Argument(metavar="STORY", help="Only this story's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """The snapshots of a story's workspace, or of all, the newest first.

    \b
    Example:  damascus rescue list S-21
    """
    from damascus.cli.words import clock
    from damascus.store import views

    db, project = opened_for(story) if story else opened()
    stories = [views.story_row(db, project.row, story).story_id] if story else _snapshots(project).stories()
    found = [(n, snapshot) for name in stories for n, snapshot in enumerate(_chain(project, name), 1)]
    found.sort(key=lambda row: (row[1].taken_at, -row[0]), reverse=True)
    if as_json:
        print_json({"snapshots": [_published(n, snapshot) for n, snapshot in found]})
        return
    if not found:
        say(f"No snapshots{f' of {stories[0]}' if story else ''}: no workspace has been reset or removed yet.")
        next_step("damascus status")
        return
    last = max(snapshot.taken_at for _, snapshot in found)
    rows = [
        (s.story, f"{n}", clock(s.taken_at, last), f"run {s.run_no}", moment_of(s), s.commit[:7], f"{len(s.left_out)}")
        for n, s in found
    ]
    for line in table(("story", "n", "taken", "by", "what it is", "commit", "left out"), rows, lead=0):
        say(line)
    next_step(f"damascus rescue restore {found[0][1].story} {found[0][0]}")


@app.command("restore")
def restore(
    story: Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")],
    number: Annotated[
        int, typer.Argument(metavar="N", min=1, help="Which one, as in `rescue list`; 1 is the newest.")
    ] = 1,
    to: Annotated[str | None, typer.Option("--to", metavar="DIR", help="A new folder for the files.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask before writing into the repository.")] = False,
) -> None:
    """Write the files of a snapshot into a new folder; asks before that lies in the repository.

    \b
    Example:  damascus rescue restore S-21 1 --to /tmp/S-21
    """
    from damascus.store import views

    db, project = opened_for(story)
    name = views.story_row(db, project.row, story).story_id
    chain = _chain(project, name)
    if number > len(chain):
        had = f"{len(chain)} snapshots" if chain else "no snapshots"
        raise DamascusError(f"{name} has {had}, so there is no number {number}. See them: damascus rescue list {name}")
    folder = Path(to or f"{name}-rescued-{number}").absolute()
    _refuse_taken(folder)
    _agree(project, folder, yes)
    snapshot = chain[number - 1]
    files = _snapshots(project).restore(snapshot.commit, folder)
    say(f"{files:,} files of {name}, {moment_of(snapshot)}, are in {folder}")
    for line in snapshot.left_out:
        say(f"  left out then: {line}")
    next_step(f"damascus show {name}")


def moment_of(snapshot: "Snapshot") -> str:
    """What lies in it, by whom it was written."""
    run = snapshot.run_no
    known = {
        "left": f"what run {run} left",
        "resume": f"what run {run} left when its worker stopped",
        "reap": f"what was there when run {run} was over",
        "prepare": f"what was there before run {run}",
    }
    return known.get(snapshot.step, f"after {snapshot.step} of run {run}")


def _agree(project: "Project", folder: Path, yes: bool) -> None:
    """The repository is the person's: nothing new appears in it unasked."""
    if yes or not folder.resolve().is_relative_to(project.repository.top.resolve()):
        return
    if not sys.stdin.isatty():
        raise UsageError(
            f"{folder} lies in your repository. Say --yes to write there, or name a folder elsewhere with --to. "
            "Nothing was changed."
        )
    if not typer.confirm(f"{folder} lies in your repository. Write the files there?"):
        raise DamascusError("nothing was written. Name a folder elsewhere with --to.")


def _refuse_taken(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DamascusError(
            f"{folder} exists and is not an empty folder. Name a new one with --to. Nothing was changed."
        )


def _snapshots(project: "Project") -> "Snapshots":
    from damascus.git.snapshots import Snapshots

    return Snapshots(project.mirror)


def _chain(project: "Project", story: str) -> "list[Snapshot]":
    from damascus.domain.ids import StoryId

    return list(_snapshots(project).chain(StoryId(story)))


def _published(number: int, snapshot: "Snapshot") -> dict[str, Any]:
    return {"n": number, **vars(snapshot)}
