"""damascus import: work comes in from elsewhere (docs/import.md)."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from damascus.cli.opened import opened
from damascus.cli.say import as_json as print_json
from damascus.cli.say import aside, next_step, say, say_wrapped, tell
from damascus.cli.tables import table
from damascus.domain.errors import UsageError
from damascus.engine.maintenance.ticking import TickedBoxes
from damascus.people import importing
from damascus.people.import_issues import plan_issues
from damascus.people.import_shown import HEAD, as_record, counted, notes, rows
from damascus.people.importing import FOLDER, ImportDone, ImportPlan
from damascus.tasks.importers import IMPORTERS
from damascus.tasks.importers.issues import FORMAT
from damascus.telling.phrases import plain, plural

UNASKED = "Nothing was imported. Add --yes to queue the stories, or --dry-run to only look at them."


def import_(
    source: Annotated[
        str, typer.Argument(metavar="DIR|FILE|issues", help="The source; `issues` are those of the configured forge.")
    ],
    *,
    kind: Annotated[str, typer.Option("--from", metavar="FORMAT", help=f"One of {', '.join(IMPORTERS)}.")] = "",
    into: Annotated[str, typer.Option("--into", metavar="DIR", help="Where the specs are written.")] = FOLDER,
    label: Annotated[str, typer.Option("--label", metavar="LABEL", help="Of the issues.")] = "damascus",
    graph: Annotated[
        str, typer.Option("--graph", metavar="FILE", help="Write a task graph of what is whole, and queue nothing.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Queue what others planned: specs are written and queued, all or none, and nothing twice.

    What lacks a scope, requirements or a Test Command is queued as rough. Boxes in the source are ticked once their
    story is on main.

    \b
    Example:  damascus import . --from spec-kit --dry-run
              damascus import .taskmaster/tasks/tasks.json --yes
              damascus import issues --label damascus
    """
    db, project = opened()
    if source == FORMAT:
        plan = plan_issues(db, project, os.environ, label=label, into=into)
    else:
        plan = importing.plan(db, project, source, kind, into)
    if not as_json:
        _show(plan)
    if graph and not dry_run:
        return _tell_done(plan, importing.write_graph(project, plan, graph, Path.cwd()), [], as_json=as_json)
    if dry_run or not _agreed(plan, yes=yes, as_json=as_json):
        return _looked_at(plan, as_json=as_json, dry_run=dry_run)
    ticked = importing.tick_again(project, plan)
    return _tell_done(plan, importing.carry_out(db, project, plan), ticked, as_json=as_json)


def _tell_done(plan: ImportPlan, done: ImportDone, ticked: list[TickedBoxes], *, as_json: bool) -> int:
    if as_json:
        boxes = [{"file": each.file, "boxes": list(each.boxes), "left": list(each.left)} for each in ticked]
        print_json(as_record(plan) | {"queued": list(done.stories), "files": list(done.files), "ticked": boxes})
        return 0
    for each in ticked:
        for left in each.left:
            aside("note", f"{each.file}: {left}")
    tell(done)
    return 0


def _looked_at(plan: ImportPlan, *, as_json: bool, dry_run: bool) -> int:
    if not dry_run:
        raise UsageError(UNASKED)
    if as_json:
        print_json(as_record(plan) | {"queued": [], "files": []})
    else:
        next_step("damascus import with the same words and --yes" if plan.queued else "damascus status")
    return 0


def _show(plan: ImportPlan) -> None:
    say(counted(plan))
    found = rows(plan)
    for each in table(HEAD, found, shrink=(1, 3, 4)) if found else []:
        say(f"  {each}")
    for one in plan.stories:
        if one.difference:
            say_wrapped(plain(f"{one.draft.story}, the source was edited:\n{one.difference}"))
    for note in notes(plan):
        aside("note", note)


def _agreed(plan: ImportPlan, *, yes: bool, as_json: bool) -> bool:
    """Asked where there is a terminal; elsewhere nobody has agreed. Nothing to queue is nothing to ask."""
    if yes or not plan.queued:
        return True
    if as_json or not sys.stdin.isatty():
        return False
    return typer.confirm(f"Queue {plural(len(plan.queued), 'story', 'stories')}?", default=True)
