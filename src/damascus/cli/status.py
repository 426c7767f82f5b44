"""damascus status: what moves, what needs you, and how many of the rest."""

import sys
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from damascus.cli import claims
from damascus.cli.opened import living, open_app, open_project
from damascus.cli.say import PHASE_COLOURS, columns, compact_json, next_step, parts_in_lines, say, styled, wrapped

if TYPE_CHECKING:
    from damascus.app import App, Project
    from damascus.store.views import Snapshot, StoryRow, Worker

TICK = 0.25


def status(
    everything: Annotated[bool, typer.Option("--all", help="Every story, one line each.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Keep showing it until Ctrl-C.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Every story, as JSON.")] = False,
) -> None:
    """What moves, what needs you, and how many of the rest.

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
        _print(app, project, look(app, project, everything=everything), everything)


def midnight() -> datetime:
    return datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)


def look(app: "App", project: "Project", *, everything: bool = False, since: datetime | None = None) -> "Snapshot":
    from damascus.store import views

    return views.snapshot(app.database, project.row, midnight(), everything=everything, since=since)


def header(app: "App", project: "Project", snapshot: "Snapshot") -> str:
    """`calc · main at 9b1c0de · 2 of 3 slots busy · 1 needs you`"""
    from damascus.domain.ids import short

    main = project.row.main_branch
    alive = living(app, list(snapshot.workers))
    parts = [snapshot.project, f"{main} at {short(claims.main_tip(project))}"]
    parts += _slots(alive) if alive else ["no worker runs"]
    if needs := max(snapshot.count("blocked"), snapshot.count("questions")):
        parts.append(styled(f"{needs} needs you" if needs == 1 else f"{needs} need you", "red"))
    if alive:
        parts.append(_confined({worker.confinement for worker in alive}))
    return " · ".join(parts)


def _slots(alive: "list[Worker]") -> list[str]:
    """Of the workers that live. A story that is tested in the merge queue has left its slot."""
    from damascus.cli.words import plural

    slots, held = sum(worker.slots for worker in alive), sum(worker.busy for worker in alive)
    more = [f"{held - slots} in the merge queue"] if held > slots else []
    return [f"{min(held, slots)} of {plural(slots, 'slot')} busy", *more]


def _confined(levels: set[str]) -> str:
    """The weakest of all workers: one without walls is one too many."""
    if "unconfined" in levels:
        return styled("agents run unconfined", "yellow")
    return f"agents confined by {' and '.join(sorted(levels))}"


def _print(app: "App", project: "Project", snapshot: "Snapshot", everything: bool) -> None:
    from damascus.cli import now
    from damascus.cli.lines import story_lines

    say(parts_in_lines(header(app, project, snapshot)))
    if held_up := _held_up(app, project, snapshot):
        say(styled(wrapped(f"nothing new is begun: {held_up}"), "yellow"))
    if not project.settings.suite:
        say(styled("the project's own suite: there is none (damascus doctor)", "yellow"))
    if snapshot.count("all") == 0:
        next_step("damascus add SPEC…   (docs/spec.md shows how one looks)")
        return
    if missing := claims.not_on_main(app, project):
        say(styled(wrapped(f"! {claims.told(missing, project.row.main_branch)}"), "red"))
    for line in _cost(app, project, snapshot):
        say(parts_in_lines(line))
    say()
    rows = [claims.marked(row, missing) for row in (snapshot.rows if everything else _goes_on_first(snapshot.rows))]
    head, lines = story_lines(rows, [now.since(row) for row in rows], columns() - 2)
    if rows:
        say("  " + styled(head, "dim"))
    for row, line in zip(rows, lines, strict=True):
        say(("! " if row.phase == "blocked" else "  ") + _coloured(row, line))
    if not everything and (rest := now.rest(snapshot)):
        say(wrapped(f"… {rest}: damascus status --all", "  "))
    _say_next(app, snapshot, bool(missing))


def _goes_on_first(rows: "Sequence[StoryRow]") -> "list[StoryRow]":
    """What was begun and can go on, after what is at work."""

    def place(row: "StoryRow") -> int:
        if row.state == "leased":
            return 0
        return 1 if row.state == "ready" and row.claims and not row.blocker else 2

    return sorted(rows, key=place)


def _held_up(app: "App", project: "Project", snapshot: "Snapshot") -> str | None:
    """Why the workers of this host begin nothing new, where something could be begun (X10)."""
    from damascus.system.hostid import host_name, host_of

    here = [worker for worker in living(app, list(snapshot.workers)) if host_of(worker.id) == host_name()]
    if not here or not snapshot.count("ready"):
        return None
    from damascus.engine.guards import guard

    return (guard(project.folder, project.config.limits) or "").removesuffix(": nothing new is begun until it falls")


def _cost(app: "App", project: "Project", snapshot: "Snapshot") -> list[str]:
    from damascus.cli.costs import lines
    from damascus.store.spending import cost

    return lines(cost(app.database, project.row, snapshot.counts))


def _coloured(row: "StoryRow", line: str) -> str:
    colour = PHASE_COLOURS.get(row.phase)
    return styled(line, colour) if colour else line


def _say_next(app: "App", snapshot: "Snapshot", missing: bool) -> None:
    if snapshot.count("questions") or missing:
        next_step("damascus inbox")
    elif snapshot.count("ready") + snapshot.count("waiting") and not living(app, list(snapshot.workers)):
        next_step("damascus run")
    elif snapshot.rows:
        next_step(f"damascus {'why' if snapshot.rows[0].active else 'show'} {snapshot.rows[0].story_id}")
    else:
        next_step("damascus status --all")


def _watch(app: "App", project: "Project", everything: bool) -> None:
    from damascus.cli.live import Progress

    with Progress(lambda: look(app, project, everything=everything), title=project.row.name) as progress:
        while True:
            progress.tick()
            time.sleep(TICK)


def _print_json(app: "App", project: "Project") -> None:
    """Written as it is read: a long queue does not have to fit into memory."""
    from damascus.store import spending, views

    sys.stdout.write('{"items": [')
    for n, text in enumerate(_items(views.every_row(app.database, project.row))):
        sys.stdout.write(("," if n else "") + "\n  " + text)
    cost = spending.cost(app.database, project.row, views.counts(app.database, project.row, midnight()))
    missing = claims.not_on_main(app, project)
    alive = [worker_info(worker) for worker in living(app, views.workers(app.database, project.row))]
    rest = {"cost": cost.published(), "workers": alive, "not_on_main": missing}
    sys.stdout.write("\n]" + "".join(f', "{key}": {compact_json(value)}' for key, value in rest.items()) + "}\n")


def worker_info(worker: "Worker") -> dict[str, Any]:
    """A process that claims, and on which host."""
    keys = ("id", "host", "pid", "slots", "busy", "confinement", "started_at")
    return {key: getattr(worker, key) for key in keys}


def _items(rows: "Iterator[StoryRow]") -> Iterator[str]:
    for row in rows:
        yield compact_json(item(row))


def item(row: "StoryRow") -> dict[str, Any]:
    """The published keys (DESIGN §8)."""
    waiting = row.waiting_for
    return {
        "story_id": row.story_id,
        "title": row.title,
        "project": row.project,
        "phase": row.phase,
        "status": row.status,
        "milestone": row.shown_milestone,
        "step": row.step,
        "attempts": row.attempts,
        "budget_cycles": row.budget_cycles,
        "last_verdict": row.last_verdict,
        "last_feedback": row.last_feedback,
        "branch": row.branch,
        "base_commit": row.base_commit,
        "pr_url": row.pr_url,
        "merged_commit": row.merged_commit,
        "waiting_for": None if waiting is None else vars(waiting),
        "updated_at": row.updated_at,
    }
