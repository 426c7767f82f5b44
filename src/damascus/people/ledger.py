"""What it costs, how long it takes and what was caught, of the stories that landed last."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from damascus.app import App, Project
from damascus.domain import money
from damascus.store import flaky, ledger
from damascus.store.db import Row
from damascus.store.ledger import RECENT, REJECTIONS, LandedStory, Summed
from damascus.telling.causes import CAUGHT, caught

DAYS = 30
FLAKY = 20


@dataclass(frozen=True)
class Day:
    """One day: stories that landed, what they cost (None: unknown), attempts that were sent back."""

    day: date
    landed: int
    microdollars: int | None
    rejected: int


@dataclass(frozen=True)
class LedgerPage:
    """Of the latest landings and rejections; nothing older is looked at."""

    each: tuple[int, int | None] | None
    """Tokens and millionths of a dollar of a merged story, on average; dollars None: a model has no price."""
    forecast: tuple[int, int | None] | None
    """The same for all that is open; None: too few have landed."""
    open_stories: int
    landings: tuple[LandedStory, ...]
    days: tuple[Day, ...]
    first_pass: float | None
    """The share of landed stories that none of their attempts was sent back for; None: none has landed."""
    p95_attempts: int | None
    lead: tuple[float, float] | None
    """Seconds from queued to on main: median and p90."""
    before_first_claim: float
    waited: tuple[Summed, ...]
    steps: tuple[Summed, ...]
    waits_now: tuple[Summed, ...]
    caught: tuple[tuple[str, int], ...]
    verdicts: tuple[tuple[str, int], ...]
    flaky: tuple[Row, ...]
    rejected: int

    @property
    def partial(self) -> bool:
        """Whether there may be more than was looked at."""
        return len(self.landings) == RECENT or self.rejected == REJECTIONS


def ledger_of(app: App, project: Project) -> LedgerPage:
    db, row = app.database, project.row
    landed, rejected = ledger.landings(db, row), ledger.rejections(db, row)
    items, waiting = [one.item_id for one in landed], ledger.open_stories(db, row)
    verdicts = Counter(str(one["verdict"]) for one in rejected)
    return LedgerPage(
        each=_mean(landed),
        forecast=_forecast(landed, waiting),
        open_stories=waiting,
        landings=tuple(landed),
        days=tuple(_days(landed, rejected)),
        first_pass=sum(one.rejected == 0 for one in landed) / len(landed) if landed else None,
        p95_attempts=int(_quantile([one.rejected + 1 for one in landed], 0.95)) if landed else None,
        lead=_lead(landed),
        before_first_claim=sum(_until_first(one) for one in landed),
        waited=tuple(ledger.waited(db, items)),
        steps=tuple(ledger.steps(db, items)),
        waits_now=tuple(ledger.waits_now(db, row)),
        caught=tuple(_caught(verdicts)),
        verdicts=tuple(verdicts.most_common()),
        flaky=tuple(flaky.listed(db, row.id, FLAKY)),
        rejected=len(rejected),
    )


def _mean(landed: Sequence[LandedStory]) -> tuple[int, int | None] | None:
    if not any(one.tokens for one in landed):
        return None
    known = [one.microdollars for one in landed if one.microdollars is not None]
    mean = round(sum(known) / len(known)) if len(known) == len(landed) else None
    return round(sum(one.tokens for one in landed) / len(landed)), mean


def _forecast(landed: Sequence[LandedStory], open_stories: int) -> tuple[int, int | None] | None:
    tokens = money.forecast([one.tokens for one in landed], open_stories)
    if tokens is None or not any(one.tokens for one in landed):
        return None
    known = [one.microdollars for one in landed if one.microdollars is not None]
    return tokens, money.forecast(known, open_stories) if len(known) == len(landed) else None


def _caught(verdicts: Counter[str]) -> list[tuple[str, int]]:
    """What was handed over as done and was not. CI, conflicts and crashes are nobody's lie."""
    return [(caught(verdict), times) for verdict, times in verdicts.most_common() if verdict in CAUGHT]


def _lead(landed: Sequence[LandedStory]) -> tuple[float, float] | None:
    times = [(one.landed_at - one.created_at).total_seconds() for one in landed]
    return (_quantile(times, 0.5), _quantile(times, 0.9)) if times else None


def _until_first(one: LandedStory) -> float:
    first = min(one.first_attempted_at or one.created_at, one.landed_at)
    return max((first - one.created_at).total_seconds(), 0.0)


def _quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of them do not exceed."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def _days(landed: Sequence[LandedStory], rejected: Sequence[Row]) -> list[Day]:
    """The last days in a row, those without a landing too, from the first that is known whole."""
    moments = [one.landed_at for one in landed] + [one["created_at"] for one in rejected]
    if not moments:
        return []
    last = max(moments).date()
    first = max(min(moments).date(), last - timedelta(days=DAYS - 1))
    return [_day(first + timedelta(days=n), landed, rejected) for n in range((last - first).days + 1)]


def _day(day: date, landed: Sequence[LandedStory], rejected: Sequence[Row]) -> Day:
    of_day = [one for one in landed if one.landed_at.date() == day]
    spent = [one.microdollars for one in of_day]
    known = None if None in spent else sum(one for one in spent if one is not None)
    return Day(day, len(of_day), known, sum(one["created_at"].date() == day for one in rejected))
