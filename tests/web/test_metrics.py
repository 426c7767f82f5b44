"""/metrics, read by Prometheus' own parser: names, labels and numbers are those of the rows."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from damascus.app import App
from damascus.domain.errors import DamascusError
from damascus.domain.events import EventKind
from damascus.people import metrics as people_metrics
from damascus.people.metrics import Numbers, numbers
from damascus.store import metrics as rows
from damascus.store.journal import write_events
from damascus.store.stream import publish
from damascus.web.metrics import METRICS, exposed
from damascus.web.options import Options
from damascus.web.site import make_site
from tests.engine.shell_stories import FILES, Watched, bad, good, shell_story
from tests.rules.tree import ROOT
from tests.web.serving import token
from tests.yard import Yard

Read = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    return Yard(tmp_path, database_url, files=FILES)


def parsed(text: str) -> Read:
    """Every sample, by name and labels; the project's is left out."""
    return {
        (sample.name, tuple(sorted((k, v) for k, v in sample.labels.items() if k != "project"))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def read(yard: Yard) -> Read:
    publish(yard.db)
    return parsed(exposed(numbers(yard.app, yard.project)).decode())


def value(found: Read, name: str, **labels: str) -> float:
    return found[(f"damascus_{name}", tuple(sorted(labels.items())))]


@pytest.mark.req("X18")
def test_the_numbers_are_those_of_the_rows(yard: Yard) -> None:
    yard.add(shell_story("one"), shell_story("two"), shell_story("three", depends_on=["two"]))
    before = read(yard)
    assert value(before, "stories", phase="build", state="ready") == 3.0
    assert (value(before, "stories_landed_total"), value(before, "slots")) == (0.0, 0.0)
    yard.worker(Watched(yard, {"one": [bad("one"), good("one")], "two": [{"exit": 3}]})).run(lambda: None)
    found = read(yard)
    assert value(found, "stories_landed_total") == value(found, "attempts_total", verdict="passed") == 1.0
    assert value(found, "attempts_total", verdict="tests_failed") == 1.0
    assert value(found, "stories", phase="blocked", state="resting") == value(found, "needs_you") == 1.0
    assert value(found, "stories_waiting", wait="dependency") == 1.0
    assert not any(dict(labels).get("phase") in ("done", "cancelled") for _, labels in found)
    claims = yard.query("SELECT count(*) AS n FROM events_outbox WHERE kind = 'item.claimed'")[0]["n"]
    assert value(found, "claims_total") == claims and value(found, "events_behind") == 0.0
    assert value(found, "database_up") == 1.0 and value(found, "services_failing", service="rescuer") == 0.0
    assert read(yard) == found, "asked again, nothing is counted twice"


@pytest.mark.req("X18")
def test_what_is_over_is_never_counted_again(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """History is counted once, a part at a time; after that its rows may even be gone."""
    monkeypatch.setattr(rows, "AT_ONCE", 4)
    for _ in range(10):
        yard.db.run(lambda c: write_events(c, yard.row.id, None, ((EventKind.STORY_LANDED, {"commit": "a"}),)))
    seen = [(value(found, "stories_landed_total"), value(found, "events_behind")) for found in (read(yard), read(yard))]
    assert seen == [(4.0, 6.0), (8.0, 2.0)]
    read(yard)
    yard.query("DELETE FROM event_numbers RETURNING seq")
    yard.query("DELETE FROM events_outbox RETURNING id")
    assert value(read(yard), "stories_landed_total") == 10.0


@pytest.mark.req("X18")
def test_words_of_a_newer_release_make_no_new_label(yard: Yard) -> None:
    for n in range(50):
        body = {"verdict": f"invented-{n}", "attempt": 1}
        yard.db.run(lambda c, body=body: write_events(c, yard.row.id, None, ((EventKind.ATTEMPT_REJECTED, body),)))
    assert value(read(yard), "attempts_total", verdict="other") == 50.0


@pytest.mark.req("X18")
def test_with_the_database_away_that_is_the_number(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> None:
        raise DamascusError("the database can't be reached")

    monkeypatch.setattr(people_metrics.metrics, "open_stories", away)
    found = read(yard)
    assert value(found, "database_up") == 0.0 and {name for name, _ in found} == {
        "damascus_build_info",
        "damascus_database_up",
    }


async def get(app: App, yard: Yard, **headers: str) -> httpx.Response:
    site = make_site(app, yard.project, Options(port=8420))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(site), base_url="http://127.0.0.1:8420") as client:
        return await client.get("/metrics", headers=headers)


@pytest.mark.req("X18")
def test_nobody_reads_them_without_a_session_or_a_token(yard: Yard) -> None:
    answer = asyncio.run(get(yard.app, yard))
    assert answer.status_code == 401 and "damascus_database_up" not in answer.text


@pytest.mark.req("X18")
def test_a_token_that_may_only_read_reads_them(yard: Yard) -> None:
    yard.add(shell_story("one"))
    answer = asyncio.run(get(yard.app, yard, authorization=f"Bearer {token(yard, 'read')}"))
    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, "text/plain")
    assert value(parsed(answer.text), "stories", phase="build", state="ready") == 1.0


# ── documents and the dashboard ───────────────────────────────────────────────────────────────────────


@pytest.mark.req("X18")
def test_every_name_follows_prometheus_rules_and_is_told_once() -> None:
    names = [each.name for each in METRICS]
    assert len(set(names)) == len(names)
    for each in METRICS:
        assert re.fullmatch(r"damascus_[a-z_]+", each.name)
        assert (each.kind == "counter") == each.name.endswith("_total"), each.name
    families = {
        family.name for family in text_string_to_metric_families(exposed(Numbers("x", database_up=True)).decode())
    }
    assert families == {each.name.removesuffix("_total") for each in METRICS}


@pytest.mark.req("X18")
def test_the_dashboard_names_no_metric_that_is_not_there() -> None:
    board = json.loads((ROOT / "examples/observability/grafana-dashboard.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    named = {name for expr in asked for name in re.findall(r"damascus_[a-z_]+", expr)}
    assert len(asked) > 10 and named - {each.name for each in METRICS} == set()
    labels = {each.name: {"project", *each.labels} for each in METRICS}
    for expr in asked:
        for name, inside in re.findall(r"(damascus_[a-z_]+)\{([^}]*)\}", expr):
            assert set(re.findall(r"(\w+)\s*[=!]~?", inside)) <= labels[name], expr
        for by in re.findall(r"by \(([^)]*)\)", expr):
            assert {part.strip() for part in by.split(",")} <= set().union(*labels.values()), expr
