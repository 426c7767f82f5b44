"""GET /metrics: the numbers of people/metrics.py in Prometheus' own format, by a collector that looks once a request.

METRICS is the table of all of them: docs/metrics.md is made from it, and the dashboard of examples/observability names
no other. Labels are words of fixed sets, and the project's repositories.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from fastapi import APIRouter, Request
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector
from starlette.responses import Response

from damascus import __version__
from damascus.domain.events import EventKind as Kind
from damascus.people.metrics import Labelled, Numbers, numbers
from damascus.web.site_state import state_of

router = APIRouter(include_in_schema=False)
ALL = ("project",)


@dataclass(frozen=True)
class Measure:
    """One metric. `read` gives its values by its labels, the project's left out; a counter's name ends in _total."""

    name: str
    kind: str
    means: str
    labels: tuple[str, ...]
    read: Callable[[Numbers], Labelled]

    def family(self, found: Numbers) -> Metric:
        made = CounterMetricFamily if self.kind == "counter" else GaugeMetricFamily
        family = made(self.name.removesuffix("_total"), self.means, labels=[*ALL, *self.labels])
        for labels, value in self.read(found).items():
            family.add_metric([found.project, *labels], value)
        return family


def one(value: Callable[[Numbers], float]) -> Callable[[Numbers], Labelled]:
    """A number without a label of its own."""
    return lambda found: {(): value(found)}


def events(*kinds: Kind) -> Callable[[Numbers], Labelled]:
    return one(lambda found: found.written(*kinds))


def info(found: Numbers) -> Mapping[tuple[str, ...], float]:
    return {(__version__, str(found.schema)): 1.0}


ALWAYS = (
    Measure("damascus_build_info", "gauge", "1, with version and schema of the database", ("version", "schema"), info),
    Measure("damascus_database_up", "gauge", "1 if the database answered, else 0 and nothing else is told", (),
            one(lambda n: float(n.database_up))),
)  # fmt: skip
METRICS = (
    *ALWAYS,
    Measure("damascus_stories", "gauge", "Stories that are not over, by phase and state", ("phase", "state"),
            lambda n: n.stories),
    Measure("damascus_stories_waiting", "gauge", "Stories that wait, by what they wait for", ("wait",),
            lambda n: n.waiting),
    Measure("damascus_needs_you", "gauge", "Questions that only a person can answer", (), one(lambda n: n.needs_you)),
    Measure("damascus_workers", "gauge", "Workers that live", (), one(lambda n: n.workers)),
    Measure("damascus_slots", "gauge", "Slots of the workers that live", (), one(lambda n: n.slots)),
    Measure("damascus_slots_busy", "gauge", "Stories that these workers hold", (), one(lambda n: n.busy)),
    Measure("damascus_queue_entries", "gauge", "Stories in the merge queue, by repository and state",
            ("repo", "state"), lambda n: n.queue),
    Measure("damascus_main_red", "gauge", "1 if CI of the repository's main is red", ("repo",), lambda n: n.main_red),
    Measure("damascus_leases_expired", "gauge", "Leases that nobody renewed: their stories are about to be rescued", (),
            one(lambda n: n.leases_expired)),
    Measure("damascus_services_failing", "gauge", "Workers whose background service fails again and again",
            ("service",), lambda n: n.failing),
    Measure("damascus_notices_unsent", "gauge", "Messages to people that were not sent yet, by target", ("target",),
            lambda n: n.unsent),
    Measure("damascus_stories_added_total", "counter", "Stories that were queued", (), events(Kind.STORY_ADDED)),
    Measure("damascus_claims_total", "counter", "Stories that a worker took", (), events(Kind.ITEM_CLAIMED)),
    Measure("damascus_rescues_total", "counter", "Stories that were taken from a worker that is gone", (),
            events(Kind.ITEM_RESCUED)),
    Measure("damascus_settles_total", "counter", "Phases that ended: moved on, rejected, or put off", (),
            events(Kind.PHASE_TRANSITIONED, Kind.ATTEMPT_REJECTED, Kind.ITEM_WAITS, Kind.PHASE_TRANSIENT_RETRY)),
    Measure("damascus_stories_landed_total", "counter", "Stories that landed on main", (), events(Kind.STORY_LANDED)),
    Measure("damascus_stories_cancelled_total", "counter", "Stories that a person cancelled", (),
            events(Kind.STORY_CANCELLED)),
    Measure("damascus_attempts_total", "counter", "Attempts by their verdict", ("verdict",), lambda n: n.verdicts),
    Measure("damascus_questions_total", "counter", "Questions that people were asked", (), events(Kind.ISSUE_OPENED)),
    Measure("damascus_agent_steps_total", "counter", "Agent steps that ended", (), events(Kind.AGENT_FINISHED)),
    Measure("damascus_spent_tokens_total", "counter", "Tokens that agents used", (), one(lambda n: n.tokens)),
    Measure("damascus_spent_dollars_total", "counter", "US dollars that agents cost, of models with a price", (),
            one(lambda n: n.dollars)),
    Measure("damascus_events_behind", "gauge", "Events that the counters do not know yet", (), one(lambda n: n.behind)),
)  # fmt: skip


class Once(Collector):
    """The numbers of one request."""

    def __init__(self, found: Numbers) -> None:
        self.found = found

    def collect(self) -> Iterable[Metric]:
        return families(self.found)


def families(found: Numbers) -> Iterator[Metric]:
    for measure in METRICS if found.database_up else ALWAYS:
        yield measure.family(found)


def exposed(found: Numbers) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Once(found))
    return generate_latest(registry)


@router.get("/metrics")
def metrics(request: Request) -> Response:
    state = state_of(request)
    return Response(exposed(numbers(state.app, state.last_project)), media_type=CONTENT_TYPE_PLAIN_0_0_4)
