"""The last words of `run`: what landed, what was not verified, what it cost, what needs a person. A few lines."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from damascus.app import App, Project
from damascus.domain.errors import DamascusError, TransientError
from damascus.domain.verdict import ACTIVE
from damascus.engine.maintenance.landed import check_landed
from damascus.engine.repository_fault import look_after
from damascus.engine.worker import Worker
from damascus.people import claims
from damascus.people.acts import Done
from damascus.people.overview import halted, no_agent
from damascus.store.db import Row
from damascus.store.receipts import evidence
from damascus.telling import asked, costs
from damascus.telling.phrases import listed, plural

NAMED = 6
LOOKED_AT = 50
"""Receipts that are read at most: a run of a week must end as quickly as one of a minute."""


@dataclass(frozen=True)
class LastWords(Done):
    """What the run came to: what is in the way, what is told beside it, and whether a person has to act."""

    alarms: tuple[str, ...]
    lines: tuple[str, ...]
    needs_you: bool


def last_words(app: App, project: Project, worker: Worker, began: datetime) -> LastWords:
    """Main is asked before a story is called done."""
    found = app.database.all("count_by_phase", project=project.row.id)
    counts = {row["phase"]: row["n"] for row in found}
    done = counts.pop("done", 0)
    missing = _looked_at_main(app, project, worker)
    rest = ", ".join(f"{n} {phase}" for phase, n in sorted(counts.items()))
    said = f"{done - len(missing)} on {project.row.main_branch}" + (f", {rest}." if rest else ".")
    alarms = tuple(_alarms(app, project, missing))
    needs_you = bool(counts.get("blocked") or counts.get("stale") or alarms)
    following = "damascus inbox" if needs_you else "damascus status --all"
    if worker.stop_requests and any(counts.get(phase) for phase in ACTIVE):
        following = "damascus run"
    return LastWords(said, following, alarms, tuple(summary(app, project, began)), needs_you)


def _alarms(app: App, project: Project, missing: dict[str, str]) -> Iterator[str]:
    if missing:
        yield f"{claims.told(missing, project.row.main_branch)}."
    if fault := no_agent(app, project):
        yield fault
    yield from halted(app, project)
    for row in app.database.all("held_landings", project=project.row.id):
        yield f"{row['story_id']} is proved and can't land: {row['wait_key'] or 'your folder'} is in the way."


def _looked_at_main(app: App, project: Project, worker: Worker) -> dict[str, str]:
    """Done stories that main lacks at this moment; whoever is news gets its question in the inbox."""
    for tools in (worker.tools, *worker.others.values()):
        look_after(tools)
        with suppress(DamascusError, TransientError):  # asked about already
            check_landed(tools)
    return claims.not_on_main(app, project)


def summary(app: App, project: Project, began: datetime) -> list[str]:
    """Nothing is said of what is not there."""
    landed = app.database.all("view_landed_since", project=project.row.id, since=began)
    return [*_landed(landed), *_unverified(app, project, landed), *_cost(app, project, began), *_needs(app, project)]


def _landed(landed: list[Row]) -> Iterator[str]:
    if landed:
        yield f"landed: {listed([row['story_id'] for row in landed], NAMED)}"


def _unverified(app: App, project: Project, landed: list[Row]) -> Iterator[str]:
    """By the part of its name that is the same for all stories."""
    names: Counter[str] = Counter()
    first = ""
    for row in landed[-LOOKED_AT:]:
        found: list[str] = []
        with suppress(DamascusError):  # it landed without an agent's work
            found = evidence(app.database, project.row, row["story_id"])["unverified"]
        first = first or (row["story_id"] if found else "")
        names.update(name.partition(":")[0] for name in found)
    if names:
        most = listed([f"{name} {n}" if n > 1 else name for name, n in names.most_common()], 3)
        yield f"not verified: {names.total()} ({most}): damascus receipt {first}"


def _cost(app: App, project: Project, began: datetime) -> Iterator[str]:
    spent = app.database.all("spend_since", project=project.row.id, since=began)
    if sum(row["tokens"] for row in spent):
        yield f"cost: {costs.story_line(spent)}"


def _needs(app: App, project: Project) -> Iterator[str]:
    found = app.database.all("open_issues", project=project.row.id)
    if found:
        first = found[0]
        whose = f" of {first['story_id']}" if first["story_id"] else ""
        yield f"needs you: {plural(len(found), 'question')}, the first{whose}: {asked.way(first)}"
