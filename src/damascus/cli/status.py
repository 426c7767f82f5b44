"""damascus status: what moves, what needs you, and how many of the rest."""

import sys
import time
from collections.abc import Iterator
from typing import Annotated

import typer

from damascus.app import App, Project
from damascus.cli.lines import story_lines
from damascus.cli.opened import open_app, open_project
from damascus.cli.say import PHASE_COLOURS, columns, compact_json, next_step, parts_in_lines, say, styled, wrapped
from damascus.domain.verdict import Phase
from damascus.people import claims, overview
from damascus.people.published import item, worker_info
from damascus.people.workers import living
from damascus.store import spending, views
from damascus.store.halted import current as current_halts
from damascus.store.views import ProjectView, StoryRow
from damascus.telling import halts, now, troubles

TICK = 0.25
TONES = {"alarm": "red", "warning": "yellow"}


def status(
    everything: Annotated[bool, typer.Option("--all", help="Every story, one line each.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Keep showing it until Ctrl-C.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Every story, as JSON.")] = False,
) -> None:
    """What is moving, what needs you, and how many others there are.

    \b
    Example:  damascus status --watch
    """
    app = open_app()
    project = open_project(app)
    if as_json:
        _print_json(app, project)
    elif watch:
        _watch(app, project, everything)
    else:
        _print(app, project, overview.look(app, project, everything=everything), everything)


def _print(app: App, project: Project, snapshot: ProjectView, everything: bool) -> None:
    say(parts_in_lines(" · ".join(_toned(part) for part in overview.header(app, project, snapshot))))
    _print_troubles(app, project, snapshot)
    if not project.settings.suite:
        say(styled("the project's own suite: there is none (damascus doctor)", "yellow"))
    if snapshot.count("all") == 0:
        next_step("damascus add SPEC…   (docs/spec.md shows how one looks)")
        return
    if missing := claims.not_on_main(app, project):
        say(styled(wrapped(f"! {claims.told(missing, project.row.main_branch)}"), "red"))
    for line in overview.cost(app, project, snapshot):
        say(parts_in_lines(line))
    say()
    shown = snapshot.rows if everything else overview.goes_on_first(snapshot.rows)
    rows = [claims.marked(row, missing) for row in shown]
    head, lines = story_lines(rows, [now.since(row) for row in rows], columns() - 2)
    if rows:
        say("  " + styled(head, "dim"))
    for row, line in zip(rows, lines, strict=True):
        say(("! " if row.phase == Phase.BLOCKED else "  ") + _coloured(row, line))
    if not everything and (rest := now.rest(snapshot)):
        say(wrapped(f"… {rest}: damascus status --all", "  "))
    next_step(overview.following(app, snapshot, bool(missing)))


def _print_troubles(app: App, project: Project, snapshot: ProjectView) -> None:
    for line in overview.halted(app, project):
        say(styled(wrapped(f"! {line}"), "red"))
    if held_up := overview.held_up(app, project, snapshot):
        say(styled(wrapped(f"nothing new is begun: {held_up}"), "yellow"))
    no_agent = overview.no_agent(app, project)
    for trouble in [*([no_agent] if no_agent else []), *troubles.told(living(app, list(snapshot.workers)))]:
        say(styled(wrapped(f"! {trouble}"), "red"))


def _toned(part: overview.HeaderPart) -> str:
    return styled(part.text, TONES[part.tone]) if part.tone in TONES else part.text


def _coloured(row: StoryRow, line: str) -> str:
    colour = PHASE_COLOURS.get(row.phase)
    return styled(line, colour) if colour else line


def _watch(app: App, project: Project, everything: bool) -> None:
    from damascus.cli.live import Progress  # rich's live display: a single look has 0.6 s and needs none

    with Progress(lambda: overview.look(app, project, everything=everything), title=project.row.name) as progress:
        while True:
            progress.tick()
            time.sleep(TICK)


def _print_json(app: App, project: Project) -> None:
    """Written as it is read: a long queue does not have to fit into memory."""
    sys.stdout.write('{"items": [')
    for n, text in enumerate(_items(views.every_row(app.database, project.row))):
        sys.stdout.write(("," if n else "") + "\n  " + text)
    cost = spending.cost(app.database, project.row, views.counts(app.database, project.row, overview.midnight()))
    missing = claims.not_on_main(app, project)
    alive = [worker_info(worker) for worker in living(app, views.workers(app.database, project.row))]
    halted = [halts.published(one) for one in current_halts(app.database, project.row.id)]
    rest = {"cost": cost.published(), "workers": alive, "not_on_main": missing, "halts": halted}
    sys.stdout.write("\n]" + "".join(f', "{key}": {compact_json(value)}' for key, value in rest.items()) + "}\n")


def _items(rows: Iterator[StoryRow]) -> Iterator[str]:
    for row in rows:
        yield compact_json(item(row))
