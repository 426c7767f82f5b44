"""A stretch of a story's life as spans: the story, its phases, their steps, and in a step its agent and its gates.

Pure: rows in, spans out. Ids are hashes of what a span is about, so a trace that is sent twice is the same trace.
Children lie within their parents: a parent is as long as they need, and a child is cut at the stretch's ends (a step
that was begun before a person was asked). Gates run one after the other and only how long each took is known: they are
laid from the step's start on.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from damascus.domain.events import EventKind
from damascus.domain.verdict import Phase
from damascus.store.db import Row
from damascus.store.traces import AtRest, StoryStretch

MOST = 5000
"""Spans of one trace: longer than anybody could look at."""
Value = str | int | float | bool
FAILED = (Phase.BLOCKED, Phase.CANCELLED)


@dataclass(frozen=True)
class StorySpan:
    """`parent` is None for the story's own."""

    id: int
    parent: int | None
    name: str
    start: datetime
    end: datetime
    facts: Mapping[str, Value] = field(default_factory=dict)
    failed: bool = False


@dataclass(frozen=True)
class Trace:
    """One stretch; `before` is the trace id of the one before it, if there is one."""

    id: int
    spans: tuple[StorySpan, ...]
    before: tuple[int, int] | None = None
    """Trace and root span of the stretch before."""


@dataclass
class Visit:
    """A story in a phase, from one transition to the next."""

    phase: str
    start: datetime
    end: datetime
    number: int

    def cover(self, start: datetime, end: datetime) -> None:
        self.start, self.end = min(self.start, start), max(self.end, end)


def trace_of(stretch: StoryStretch) -> Trace | None:
    """None where nothing was done in it: a story that was cancelled before anybody began."""
    if not stretch.steps:
        return None
    rest = stretch.rest
    trace, root = ids(rest, rest.event)
    visits = _visits(stretch)
    placed = [(row, _placed(visits, row, _within(stretch, row))) for row in stretch.steps]
    below: list[StorySpan] = []
    for row, visit in placed:
        below += _step(stretch, row, _id(trace, "phase", visit.phase, visit.number), trace)
    phases = [_phase(visit, trace, root, rest) for visit in visits]
    story = _story(stretch, root, phases)
    spans = (story, *phases, *below)[:MOST]
    return Trace(trace, spans, ids(rest, rest.before) if rest.before else None)


def ids(rest: AtRest, event: int) -> tuple[int, int]:
    """Of the trace that ended with an event, and of its story's span."""
    trace = int.from_bytes(_hash("trace", rest.uuid, event)[:16]) or 1
    return trace, _id(trace, "story")


def _id(trace: int, *about: object) -> int:
    return int.from_bytes(_hash(trace, *about)[:8]) or 1


def _hash(*about: object) -> bytes:
    return hashlib.sha256("\x00".join(str(each) for each in about).encode()).digest()


# ── the story and its phases ──────────────────────────────────────────────────────────────────────────


def _story(stretch: StoryStretch, root: int, phases: list[StorySpan]) -> StorySpan:
    rest = stretch.rest
    first = [stretch.events[0]["created_at"]] if stretch.events else []
    verdicts = [row["body"].get("verdict") for row in stretch.events if row["kind"] == EventKind.ATTEMPT_REJECTED]
    runs = {row["run_no"] for row in stretch.steps}
    spent = [row for row in stretch.spent if row["run_no"] in runs]
    facts: dict[str, Value] = {
        "damascus.story": rest.story_id,
        "damascus.phase": rest.phase,
        "damascus.try": len(verdicts) + 1,
        "damascus.verdict": "passed" if rest.phase == Phase.DONE else str((verdicts or [rest.phase])[-1]),
        "damascus.tokens": sum(int(row["tokens"]) for row in spent),
    }
    if rest.phase == Phase.DONE and rest.merged_commit:
        facts["damascus.sha"] = rest.merged_commit
    start = min([*first, *(each.start for each in phases)])
    end = max([rest.ended_at, *(each.end for each in phases)])
    return StorySpan(root, None, "story", start, end, facts, failed=rest.phase in FAILED)


def _visits(stretch: StoryStretch) -> list[Visit]:
    """By the transitions; the first phase begins when a worker took the story."""
    claims = [row["created_at"] for row in stretch.events if row["kind"] == EventKind.ITEM_CLAIMED]
    moves = [row for row in stretch.events if row["kind"] == EventKind.PHASE_TRANSITIONED]
    start = min(claims) if claims else min(row["started_at"] for row in stretch.steps)
    found: list[Visit] = []
    for move in moves:
        if move["body"].get("from") in {row["phase"] for row in stretch.steps}:
            found.append(Visit(move["body"]["from"], min(start, move["created_at"]), move["created_at"], len(found)))
        start = move["created_at"]
    return found


def _placed(visits: list[Visit], row: Row, span: tuple[datetime, datetime]) -> Visit:
    """The visit of its phase that ends after it began, made as long as it needs."""
    of_phase = [visit for visit in visits if visit.phase == row["phase"]]
    if not of_phase:
        visits.append(Visit(row["phase"], *span, len(visits)))
        return visits[-1]
    visit = next((each for each in of_phase if each.end >= span[0]), of_phase[-1])
    visit.cover(*span)
    return visit


def _phase(visit: Visit, trace: int, root: int, rest: AtRest) -> StorySpan:
    facts: dict[str, Value] = {"damascus.story": rest.story_id, "damascus.phase": visit.phase}
    return StorySpan(
        _id(trace, "phase", visit.phase, visit.number), root, f"phase {visit.phase}", visit.start, visit.end, facts
    )


# ── a step, its agent, its gates ──────────────────────────────────────────────────────────────────────


def _within(stretch: StoryStretch, row: Row) -> tuple[datetime, datetime]:
    """When it ran, cut at the ends of the stretch."""
    begin = stretch.events[0]["created_at"] if stretch.rest.before and stretch.events else row["started_at"]
    start = max(row["started_at"], begin)
    return start, max(start, min(row["done_at"] or stretch.rest.ended_at, stretch.rest.ended_at))


def _step(stretch: StoryStretch, row: Row, phase: int, trace: int) -> Iterator[StorySpan]:
    start, end = _within(stretch, row)
    about = (row["run_no"], row["step"], row["key"])
    facts: dict[str, Value] = {
        "damascus.story": stretch.rest.story_id,
        "damascus.step": row["step"],
        "damascus.run": row["run_no"],
        "damascus.key": row["key"],
        "damascus.done": row["status"] == "done",
    }
    output = row["output"] if isinstance(row["output"], dict) else {}
    if isinstance(sha := output.get("commit") or output.get("sha"), str) and sha:
        facts["damascus.sha"] = sha
    step = StorySpan(
        _id(trace, "step", *about), phase, f"step {row['step']}", start, end, facts, row["status"] != "done"
    )
    yield step
    if row["role"]:
        yield _agent(stretch, row, step, trace)
    yield from _gates(output, step, trace)


def _agent(stretch: StoryStretch, row: Row, step: StorySpan, trace: int) -> StorySpan:
    """One for the step, whoever was sent last: what all of its dispatches used."""
    about = (row["run_no"], row["step"], row["key"])
    spent = [each for each in stretch.spent if (each["run_no"], each["step"], each["key"]) == about]
    facts: dict[str, Value] = {
        "damascus.story": stretch.rest.story_id,
        "damascus.role": row["role"],
        "damascus.run": row["run_no"],
        "damascus.tokens": sum(int(each["tokens"]) for each in spent),
        "damascus.turns": sum(int(each["turns"]) for each in spent),
    }
    if spent:
        facts["damascus.model"] = str(spent[-1]["model"])
    return StorySpan(
        _id(trace, "agent", *about), step.id, f"agent {row['role']}", step.start, step.end, facts, step.failed
    )


def _gates(output: Mapping[str, Any], step: StorySpan, trace: int) -> Iterator[StorySpan]:
    results = output.get("results")
    start = step.start
    for number, result in enumerate(results if isinstance(results, list) else []):
        if not isinstance(result, dict) or not result.get("gate"):
            continue
        gate = _gate(result, step, trace, number)
        seconds = float(gate.facts["damascus.seconds"])
        end = min(start + timedelta(seconds=seconds), step.end)
        yield replace(gate, start=start, end=end)
        start = end


def _gate(result: Mapping[str, Any], step: StorySpan, trace: int, number: int) -> StorySpan:
    findings = [each for each in result.get("findings") or [] if isinstance(each, dict)]
    run_here = [each for each in result.get("evidence") or [] if isinstance(each, dict) and not each.get("kept")]
    facts: dict[str, Value] = {
        "damascus.story": step.facts["damascus.story"],
        "damascus.gate": str(result["gate"]),
        "damascus.verdict": str(findings[0].get("verdict")) if findings else "passed",
        "damascus.findings": len(findings),
        "damascus.seconds": sum(float(each.get("seconds") or 0.0) for each in run_here),
        "damascus.unverified": len(result.get("unverified") or []),
    }
    about = _id(trace, "gate", step.id, number, result["gate"])
    return StorySpan(about, step.id, f"gate {result['gate']}", step.start, step.start, facts, bool(findings))
