"""The rows of what agents spend: reserved with the step's intent, counted while it runs, settled with its result.

A row belongs to one dispatch (item, run, step, fence) and only that dispatch writes its counters. A worker that dies
leaves its reservation with what was observed last: it stops counting as reserved the moment its lease is gone, and the
next dispatch of the item settles it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from damascus.domain import money
from damascus.domain.money import BudgetStanding, Granted, Unit
from damascus.domain.verdict import Phase
from damascus.domain.waits import ItemState
from damascus.store.db import Connection, Database, Row, sql
from damascus.store.projects import ProjectRow

if TYPE_CHECKING:  # `status` reads this module: what it does not use must not cost it
    from damascus.domain.item import Item
    from damascus.domain.ports import Usage

RECENT = 200
"""Merged stories that a forecast looks at: the latest say most, and a long history must not slow `status` down."""


@dataclass(frozen=True)
class Dispatch:
    """One agent that is sent to work."""

    item: "Item"
    step: str
    role: str
    model: str
    key: str = ""

    @property
    def row(self) -> dict[str, Any]:
        item = self.item
        return {"item": item.id, "run": item.run_no, "step": self.step, "key": self.key, "fence": item.fence}


@dataclass(frozen=True)
class Sums:
    """What is spent and reserved at this moment, in both units, and what a person has raised."""

    row: Row

    def standing(self, unit: Unit, limits: tuple[int, int, int]) -> BudgetStanding:
        """`limits` are the config's: step, story, project. A raise never lowers one, and none stays none."""
        step, story, project = limits
        name = "tokens" if unit == "tokens" else "microdollars"
        raises = self.row["raises"]
        return BudgetStanding(
            step=step,
            story=story and max(story, raises.get(f"story {unit}", 0)),
            project=project and max(project, raises.get(f"project {unit}", 0)),
            story_spent=self.row[f"story_{name}"],
            project_spent=self.row[f"project_{name}"],
            project_reserved=self.row[f"reserved_{name}"],
        )


def sums(c: Connection, item: "Item", *, whole: bool) -> Sums:
    """Read to be reserved from: if `whole`, the project's budget is locked until the transaction ends."""
    if whole:
        c.execute(sql("spend_lock"), {"project": item.project_id})
    params = {"item": item.id, "fence": item.fence, "project": item.project_id, "whole": whole}
    row = c.execute(sql("spend_standing"), params).fetchone()
    assert row is not None
    return Sums(row)


def reserve(c: Connection, dispatch: Dispatch, tokens: Granted, dollars: Granted) -> None:
    who = {"project": dispatch.item.project_id, "role": dispatch.role, "model": dispatch.model}
    c.execute(
        sql("spend_reserve"), dispatch.row | who | {"tokens": tokens.amount, "microdollars": dollars.amount}
    )  # fmt: skip


def record(c: Connection, dispatch: Dispatch, usage: "Usage", microdollars: int | None, *, final: bool) -> None:
    """What the dispatch has used so far; `final` settles it."""
    counters = {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cached": usage.cached_tokens,
        "turns": usage.turns,
        "microdollars": microdollars,
        "model": dispatch.model,
    }
    c.execute(sql("spend_record"), dispatch.row | counters | {"final": final})


def raise_budget(c: Connection, project: int, item: int, unit: Unit, amount: int) -> None:
    """`item` 0 is the whole project."""
    c.execute(sql("spend_raise"), {"project": project, "item": item, "unit": unit, "amount": amount})


# ── what `status`, `show` and `stats` tell ────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Cost:
    """What a project has spent and will. Dollars are in millionths; None where a model without a price had a part."""

    tokens: int
    microdollars: int
    unpriced: tuple[str, ...]
    unpriced_tokens: int
    merged: tuple[tuple[int, int | None], ...]
    open_stories: int

    @property
    def per_story(self) -> tuple[int, int | None] | None:
        """Tokens and dollars of the latest merged stories, on average."""
        return _mean(self.merged)

    @property
    def forecast(self) -> tuple[int, int | None] | None:
        tokens = money.forecast([tokens for tokens, _ in self.merged], self.open_stories)
        dollars = self._dollars()
        if tokens is None:
            return None
        return tokens, None if dollars is None else money.forecast(dollars, self.open_stories)

    def _dollars(self) -> list[int] | None:
        known = [dollars for _, dollars in self.merged if dollars is not None]
        return known if len(known) == len(self.merged) else None

    def published(self) -> dict[str, Any]:
        """The keys of `--json`: stable."""
        return {
            "tokens": self.tokens,
            "usd": self.microdollars / money.DOLLAR,
            "unpriced_models": list(self.unpriced),
            "unpriced_tokens": self.unpriced_tokens,
            "per_merged_story": _pair(self.per_story),
            "forecast": _pair(self.forecast),
            "open_stories": self.open_stories,
        }


def _mean(merged: Sequence[tuple[int, int | None]]) -> tuple[int, int | None] | None:
    if not merged:
        return None
    known = [dollars for _, dollars in merged if dollars is not None]
    mean = round(sum(known) / len(known)) if len(known) == len(merged) else None
    return round(sum(tokens for tokens, _ in merged) / len(merged)), mean


def _pair(amounts: tuple[int, int | None] | None) -> dict[str, float | None] | None:
    if amounts is None:
        return None
    tokens, dollars = amounts
    return {"tokens": tokens, "usd": None if dollars is None else dollars / money.DOLLAR}


def cost(db: Database, project: ProjectRow, counts: Mapping[str, int]) -> Cost:
    """One statement, further ones only where anything was spent. `counts` are those of views.ProjectView."""
    row = db.one("spend_project", project=project.id)
    assert row is not None
    merged = db.all("spend_merged", project=project.id, limit=RECENT) if row["tokens"] else []
    unpriced = db.all("spend_unpriced", project=project.id) if row["unpriced_tokens"] else []
    return Cost(
        tokens=row["tokens"],
        microdollars=row["microdollars"] or 0,
        unpriced=tuple(each["model"] for each in unpriced),
        unpriced_tokens=row["unpriced_tokens"],
        merged=tuple((each["tokens"], each["microdollars"]) for each in merged),
        open_stories=sum(
            counts.get(what, 0) for what in (ItemState.READY, ItemState.LEASED, ItemState.WAITING, Phase.BLOCKED)
        ),
    )


def per_merged_story(db: Database, project: ProjectRow) -> tuple[int, int | None] | None:
    """As `Cost` has it, without all that was ever spent."""
    rows = db.all("spend_merged", project=project.id, limit=RECENT)
    return _mean([(row["tokens"], row["microdollars"]) for row in rows])


def of_story(db: Database, item: int) -> list[Row]:
    """Each dispatch of an agent for the story, oldest first."""
    return db.all("spend_story", item=item)
