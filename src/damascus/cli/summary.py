"""The last words of `run`: what landed, what was not verified, what it cost, what needs a person. A few lines."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from damascus.cli import asked, costs
from damascus.cli.words import listed, plural
from damascus.domain.errors import DamascusError

if TYPE_CHECKING:
    from damascus.app import App, Project
    from damascus.store.db import Row

NAMED = 6
LOOKED_AT = 50
"""Receipts that are read at most: a run of a week must end as quickly as one of a minute."""


def summary(app: "App", project: "Project", began: datetime) -> list[str]:
    """Nothing is said of what is not there."""
    landed = app.database.all("view_landed_since", project=project.row.id, since=began)
    return [*_landed(landed), *_unverified(app, project, landed), *_cost(app, project, began), *_needs(app, project)]


def _landed(landed: "list[Row]") -> Iterator[str]:
    if landed:
        yield f"landed: {listed([row['story_id'] for row in landed], NAMED)}"


def _unverified(app: "App", project: "Project", landed: "list[Row]") -> Iterator[str]:
    """By the part of its name that is the same for all stories."""
    from damascus.store.receipts import receipt

    names: Counter[str] = Counter()
    first = ""
    for row in landed[-LOOKED_AT:]:
        found: list[str] = []
        with suppress(DamascusError):  # it landed without an agent's work
            found = receipt(app.database, project.row, row["story_id"])["unverified"]
        first = first or (row["story_id"] if found else "")
        names.update(name.partition(":")[0] for name in found)
    if names:
        most = listed([f"{name} {n}" if n > 1 else name for name, n in names.most_common()], 3)
        yield f"not verified: {names.total()} ({most}): damascus receipt {first}"


def _cost(app: "App", project: "Project", began: datetime) -> Iterator[str]:
    spent = app.database.all("spend_since", project=project.row.id, since=began)
    if sum(row["tokens"] for row in spent):
        yield f"cost: {costs.story_line(spent)}"


def _needs(app: "App", project: "Project") -> Iterator[str]:
    found = app.database.all("open_issues", project=project.row.id)
    if found:
        first = found[0]
        whose = f" of {first['story_id']}" if first["story_id"] else ""
        way = asked.command(first) if asked.wants_spec(first) else f"damascus answer {first['id']} …"
        yield f"needs you: {plural(len(found), 'question')}, the first{whose}: {way}"
