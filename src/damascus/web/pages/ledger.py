"""Ledger: what it costs, how long it takes, what was caught."""

from collections.abc import Sequence
from dataclasses import replace

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from damascus.domain.money import in_dollars, in_tokens
from damascus.people.ledger import LedgerPage, ledger_of
from damascus.store.ledger import Summed
from damascus.telling.causes import WORDS
from damascus.telling.phrases import duration, plural
from damascus.web.looking import Looking
from damascus.web.plots import Plot, bars
from damascus.web.render import render

router = APIRouter(include_in_schema=False)


@router.get("/ledger")
def ledger(look: Looking) -> HTMLResponse:
    found = ledger_of(look.app, look.project)
    return render(
        "ledger.html",
        look,
        found=found,
        plots=_plots(found),
        duration=duration,
        amount=amount,
        waited=_waited(found),
        waits_now=_in_words(found.waits_now),
    )


def amount(pair: tuple[int, int | None] | None) -> str:
    if pair is None:
        return "unknown"
    tokens, dollars = pair
    return in_tokens(tokens) if dollars is None else in_dollars(dollars)


def _plots(found: LedgerPage) -> list[tuple[str, Plot]]:
    days = [(f"{day.day:%m-%d}", day) for day in found.days]
    lately = list(reversed(found.landings[:60]))
    tries = [(one.story_id, one.rejected + 1, plural(one.rejected + 1, "try", "tries")) for one in lately]
    paid = [(one.story_id, one.microdollars or 0, in_dollars(one.microdollars or 0)) for one in lately]
    drawn = [
        ("landed a day", bars([(at, day.landed, plural(day.landed, "story", "stories")) for at, day in days])),
        ("sent back a day", bars([(at, day.rejected, plural(day.rejected, "attempt")) for at, day in days])),
        ("tries of each landed story", bars(tries)),
        ("dollars of each landed story", bars(paid)),
    ]
    return [(name, plot) for name, plot in drawn if plot is not None]


def _waited(found: LedgerPage) -> Sequence[Summed]:
    first = Summed("its first claim", len(found.landings), found.before_first_claim)
    return sorted([*([first] if found.landings else []), *_in_words(found.waited)], key=lambda one: -one.seconds)


def _in_words(rows: Sequence[Summed]) -> list[Summed]:
    return [replace(one, name=WORDS.get(one.name, one.name)) for one in rows]
