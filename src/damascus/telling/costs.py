"""Tokens and dollars for people: what was spent, what a merged story cost, what the queue will (X5)."""

from collections.abc import Sequence
from typing import Any

from damascus.domain.money import DOLLAR, in_dollars, in_tokens
from damascus.store.db import Row
from damascus.store.spending import Cost


def lines(cost: Cost) -> list[str]:
    """Nothing at all for a project whose agents never told of a token."""
    return [published(cost.published())] if cost.tokens else []


def published(cost: dict[str, Any]) -> str:
    """`spent $12.40 (31.2 M tokens) · $0.62 per merged story · about $8.70 for 14 open stories`"""
    if not cost["tokens"]:
        return "none recorded"
    parts = [f"spent {_total(cost)}"]
    each, ahead = cost["per_merged_story"], cost["forecast"]
    if each is not None:
        parts.append(f"{_amount(each)} per merged story")
    if cost["open_stories"]:
        open_ones = f"{cost['open_stories']:,} open {'story' if cost['open_stories'] == 1 else 'stories'}"
        parts.append("no forecast yet" if ahead is None else f"about {_amount(ahead)} for {open_ones}")
    if cost["unpriced_models"]:
        parts.append(f"no price for model {', '.join(cost['unpriced_models'])}: set [models.prices]")
    return " · ".join(parts)


def today(tokens: int, microdollars: int | None, per_story: tuple[int, int | None] | None) -> str:
    """`$4.12 today ($0.37 a merged story)`; "" where no agent told of a token."""
    if not tokens and not (per_story and per_story[0]):
        return ""
    spent = in_tokens(tokens) if microdollars is None else in_dollars(microdollars)
    if per_story is None or not per_story[0]:
        return f"{spent} today"
    each = in_tokens(per_story[0]) if per_story[1] is None else in_dollars(per_story[1])
    return f"{spent} today ({each} a merged story)"


def _total(cost: dict[str, Any]) -> str:
    tokens = in_tokens(cost["tokens"])
    if cost["unpriced_tokens"] == cost["tokens"]:
        return tokens
    least = "at least " if cost["unpriced_tokens"] else ""
    return f"{least}{in_dollars(round(cost['usd'] * DOLLAR))} ({tokens})"


def _amount(pair: dict[str, Any]) -> str:
    return in_tokens(pair["tokens"]) if pair["usd"] is None else in_dollars(round(pair["usd"] * DOLLAR))


def of_story(dispatches: Sequence[Row]) -> dict[str, Any]:
    """`usd` is null when a model without a price had a part in it."""
    known = [row["microdollars"] for row in dispatches if row["tokens"]]
    unpriced = sorted({row["model"] for row in dispatches if row["tokens"] and row["microdollars"] is None})
    return {
        "tokens": sum(row["tokens"] for row in dispatches),
        "usd": None if unpriced else sum(known) / DOLLAR,
        "unpriced_models": unpriced,
    }


def story_line(dispatches: Sequence[Row]) -> str:
    cost = of_story(dispatches)
    if not cost["tokens"]:
        return "no tokens recorded"
    times = f"{len(dispatches)} agent {'step' if len(dispatches) == 1 else 'steps'}"
    if cost["unpriced_models"]:
        return f"{in_tokens(cost['tokens'])} in {times}; no price for model {', '.join(cost['unpriced_models'])}"
    return f"{in_dollars(round(cost['usd'] * DOLLAR))} ({in_tokens(cost['tokens'])}) in {times}"
