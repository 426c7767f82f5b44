"""Traces: one for each story that came to rest, whole, sent to a real OTLP receiver on the loopback."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from damascus.domain.errors import DamascusError
from damascus.engine.maintenance import tracer
from damascus.engine.maintenance.tracer import Tracer
from damascus.engine.traces.spans import Trace, trace_of
from damascus.people import trace_checks
from damascus.store import people
from damascus.store.stream import publish
from damascus.store.traces import AtRest, StoryStretch
from tests.engine.receiver import Receiver, receiving
from tests.engine.shell_stories import FILES, Watched, bad, good, shell_story
from tests.yard import Yard

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
Sent = dict[str, Any]


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    pytest.importorskip("opentelemetry.proto", reason="pip install -c constraints.txt -e '.[traces]'")
    with receiving() as found:
        monkeypatch.setenv(ENDPOINT, found.url)
        yield found


def traces(collector: Receiver) -> list[list[Any]]:
    """Each request's spans, as the protocol's own messages."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    found = []
    for each in collector.got:
        assert each.path == "/v1/traces" and each.headers["content-type"] == "application/x-protobuf"
        request = ExportTraceServiceRequest.FromString(each.body)
        [resource] = request.resource_spans
        named = {fact.key: fact.value.string_value for fact in resource.resource.attributes}
        assert named["service.name"] == "damascus"
        found.append([span for scope in resource.scope_spans for span in scope.spans])
    return found


def facts(span: Any) -> Sent:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


def refuse_unless_whole(spans: list[Any]) -> Any:
    """One root, every parent there, every child within its parent. The root."""
    by_id = {span.span_id: span for span in spans}
    assert len(by_id) == len(spans) and len({span.trace_id for span in spans}) == 1
    [root] = [span for span in spans if not span.parent_span_id]
    for span in spans:
        assert span.start_time_unix_nano <= span.end_time_unix_nano, span.name
        if span is not root:
            parent = by_id[span.parent_span_id]
            assert parent.start_time_unix_nano <= span.start_time_unix_nano, (parent.name, span.name)
            assert span.end_time_unix_nano <= parent.end_time_unix_nano, (parent.name, span.name)
    return root


@pytest.mark.req("X18")
def test_the_trace_of_a_story_is_whole(tmp_path: Path, database_url: str, collector: Receiver) -> None:
    """Sent by the worker that carried it: every step of the journal has its span, with its agent and its gates."""
    yard = Yard(tmp_path, database_url, files=FILES)
    yard.add(shell_story("one"))
    yard.worker(Watched(yard, {"one": [bad("one"), good("one")]})).run(lambda: None)
    [spans] = traces(collector)
    root = refuse_unless_whole(spans)
    item = yard.item("one")
    told = facts(root)
    assert (root.name, told["damascus.story"], told["damascus.phase"]) == ("story", "one", "done")
    assert (told["damascus.sha"], told["damascus.verdict"], told["damascus.try"]) == (
        item["merged_commit"],
        "passed",
        2,
    )

    steps = {(facts(s)["damascus.run"], facts(s)["damascus.step"], facts(s)["damascus.key"]): s for s in spans
             if s.name.startswith("step ")}  # fmt: skip
    journal = yard.query("SELECT run_no, step, key, phase, input FROM journal WHERE item_id = %s", item["id"])
    assert steps.keys() == {(row["run_no"], row["step"], row["key"]) for row in journal}
    by_id = {span.span_id: span for span in spans}
    for row in journal:
        span = steps[(row["run_no"], row["step"], row["key"])]
        assert by_id[span.parent_span_id].name == f"phase {row['phase']}"
        agents = [each for each in spans if each.parent_span_id == span.span_id and each.name.startswith("agent ")]
        assert len(agents) == int("role" in row["input"])
    assert {s.name for s in spans if s.name.startswith("phase ")} >= {"phase build", "phase merge"}
    gates = [span for span in spans if span.name.startswith("gate ")]
    verdicts = {facts(span)["damascus.verdict"] for span in gates}
    assert "passed" in verdicts and len(verdicts) > 1, "the first try was refused by a gate"
    assert all(by_id[span.parent_span_id].name.startswith("step ") for span in gates)


@pytest.mark.req("X18")
def test_sent_twice_it_is_the_same_and_a_stretch_after_a_question_is_a_trace_of_its_own(
    tmp_path: Path, database_url: str, collector: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    yard = Yard(tmp_path, database_url, files=FILES)
    monkeypatch.delenv(ENDPOINT)
    mine = Tracer(yard.tools())
    assert mine.look() == 0
    yard.add(shell_story("one"), shell_story("two"))
    people.cancel(yard.db, yard.row.id, "two")
    yard.worker(Watched(yard, {"one": [{"exit": 3}]})).run(lambda: None)
    people.retry(yard.db, yard.row.id, "one")
    yard.worker(Watched(yard, {"one": [good("one")]})).run(lambda: None)
    publish(yard.db)
    monkeypatch.setenv(ENDPOINT, collector.url)
    collector.answers[:] = [400]
    with pytest.raises(DamascusError, match=f"127.0.0.1:{collector.port} did not take the trace of one"):
        mine.look()
    assert mine.look() == 2 and mine.look() == 0, "two was cancelled before anybody began"
    refused, blocked, done = traces(collector)
    assert refused == blocked, "the same ids, times and facts"
    first, second = refuse_unless_whole(blocked), refuse_unless_whole(done)
    assert (facts(first)["damascus.phase"], facts(second)["damascus.phase"]) == ("blocked", "done")
    assert first.trace_id != second.trace_id and first.status.code == 2 and second.status.code == 1
    assert [link.trace_id for link in second.links] == [first.trace_id]
    rows = yard.query("SELECT 1 FROM journal j JOIN work_items i ON i.id = j.item_id WHERE i.story_id = 'one'")
    assert sum(span.name.startswith("step ") for span in [*blocked, *done]) == len(rows)


@pytest.mark.req("X18")
def test_without_the_extra_doctor_says_what_to_install(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    yard = Yard(tmp_path, database_url, files=FILES)
    assert list(trace_checks.examine(yard.app)) == []
    yard.app.environ[ENDPOINT] = "http://127.0.0.1:1"
    monkeypatch.setattr(tracer, "find_spec", lambda name: None)
    [check] = trace_checks.examine(yard.app)
    assert check.state == "fail" and "damascus-orchestrator[traces]" in check.says


def test_without_a_collector_nothing_is_loaded() -> None:
    lookup = (
        "import sys, damascus.assembly; "
        "print(sorted(n for n in sys.modules if n.startswith(('opentelemetry', 'damascus.engine.traces'))))"
    )
    environ = {name: value for name, value in os.environ.items() if not name.startswith("OTEL")}
    words = [sys.executable, "-c", lookup]
    found = subprocess.run(words, env=environ, capture_output=True, text=True, start_new_session=True)
    assert found.stdout.strip() == "[]", found.stderr


# ── whatever the rows say, a trace is whole ───────────────────────────────────────────────────────────

NOON = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
moments = st.integers(-50, 400).map(lambda seconds: NOON + timedelta(seconds=seconds))
phases = st.sampled_from(["spec", "build", "review", "merge"])
results = st.lists(
    st.fixed_dictionaries({
        "gate": st.sampled_from(["tests", "canary", ""]), "findings": st.just([]),
        "evidence": st.lists(st.fixed_dictionaries({"seconds": st.floats(0, 1e5), "kept": st.booleans()}), max_size=2),
    }), max_size=3,
)  # fmt: skip


@st.composite
def steps(draw: st.DrawFn) -> Sent:
    started = draw(moments)
    took = draw(st.none() | st.integers(0, 300))
    return {
        "run_no": draw(st.integers(1, 3)), "phase": draw(phases), "step": draw(st.sampled_from("abc")),
        "key": draw(st.sampled_from(["", "k"])), "status": "intent" if took is None else "done",
        "started_at": started, "done_at": None if took is None else started + timedelta(seconds=took),
        "role": draw(st.sampled_from([None, "code-implementer"])),
        "output": draw(st.none() | st.fixed_dictionaries({"results": results})),
    }  # fmt: skip


@st.composite
def moves(draw: st.DrawFn) -> Sent:
    body = {"from": draw(phases), "to": draw(phases)}
    kind = draw(st.sampled_from(["phase.transitioned", "item.claimed", "attempt.rejected"]))
    return {"id": 1, "kind": kind, "body": body, "created_at": draw(moments)}


@pytest.mark.req("X18")
@settings(max_examples=150, deadline=None)
@given(
    st.lists(steps(), min_size=1, max_size=8, unique_by=lambda row: (row["run_no"], row["step"], row["key"])),
    st.lists(moves(), max_size=6),
    st.sampled_from([None, 7]),
)
def test_whatever_the_clocks_said_parents_exist_and_times_nest(
    rows: list[Sent], events: list[Sent], before: int | None
) -> None:
    rest = AtRest(9, 9, 1, NOON + timedelta(seconds=200), "done", "S-1", UUID(int=5), "a" * 40, 0, before)
    events.sort(key=lambda row: row["created_at"])
    found = trace_of(StoryStretch(rest, tuple(events), tuple(rows), ()))
    assert isinstance(found, Trace)
    shaped = [
        SimpleNamespace(
            span_id=each.id, parent_span_id=each.parent, trace_id=1, name=each.name, start_time_unix_nano=each.start,
            end_time_unix_nano=each.end,
        ) for each in found.spans
    ]  # fmt: skip
    refuse_unless_whole(shaped)
    assert sum(each.name.startswith("step ") for each in found.spans) == len(rows)
