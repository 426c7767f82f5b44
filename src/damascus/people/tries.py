"""The tries of a story side by side, and what each gate said last."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from damascus.domain.events import EventKind
from damascus.domain.ports.gates import GateName
from damascus.domain.verdict import Phase
from damascus.store.db import Row
from damascus.telling.phrases import between, one_line, whole_words
from damascus.telling.steps import came_to

JUDGED = ("red", "verify", "review")
LONG = 300
MEANS = {gate.value: gate.means for gate in GateName}


@dataclass(frozen=True)
class GateShown:
    """What a gate said: passed, failed, or what it could not verify."""

    gate: str
    means: str
    step: str
    word: str
    told: str
    unverified: tuple[str, ...]
    seconds: str


@dataclass(frozen=True)
class TryShown:
    """One run of the build: what it changed, what was found, what it came to."""

    run: int
    since: datetime
    took: str
    files: tuple[str, ...]
    steps: int
    passed: int
    findings: tuple[str, ...]
    verdict: str
    message: str


def gates_of(steps: Sequence[Row]) -> Iterator[GateShown]:
    """The last answer of each, in the order of asking."""
    last: dict[str, tuple[Row, dict[str, Any]]] = {}
    for step in steps:
        for result in _results(step):
            last[str(result.get("gate"))] = (step, result)
    order = {gate.value: n for n, gate in enumerate(GateName)}
    for name in sorted(last, key=lambda gate: order.get(gate, len(order))):
        yield _gate(name, *last[name])


def _gate(name: str, step: Row, result: dict[str, Any]) -> GateShown:
    found = [str(one.get("message", "")) for one in result.get("findings") or []]
    unverified = tuple(one_line(one) for one in result.get("unverified") or [])
    word = "failed" if found else "unknown" if unverified else "passed"
    told = found or [str(one) for one in result.get("notes") or []]
    return GateShown(
        name,
        MEANS.get(name, ""),
        step["step"],
        word,
        whole_words(one_line("; ".join(told)), LONG),
        unverified,
        between(step["started_at"], step["done_at"]) if step["done_at"] else "",
    )


def tries_of(steps: Sequence[Row], events: Sequence[Row]) -> Iterator[TryShown]:
    """Each run of the build, oldest first. Its verdict is that of the event which ended it."""
    runs: dict[int, list[Row]] = {}
    for step in steps:
        if step["phase"] in (Phase.BUILD, Phase.SPEC):
            runs.setdefault(step["run_no"], []).append(step)
    ends = [row for row in events if row["kind"] in (EventKind.ATTEMPT_REJECTED, EventKind.STORY_LANDED)]
    starts = [min(one["started_at"] for one in found) for found in runs.values()]
    for n, (run, found) in enumerate(runs.items()):
        until = starts[n + 1] if n + 1 < len(starts) else None
        end = next((e for e in ends if e["created_at"] >= starts[n] and (not until or e["created_at"] <= until)), None)
        yield _try(run, found, end)


def _try(run: int, steps: list[Row], end: Row | None) -> TryShown:
    began = min(step["started_at"] for step in steps)
    over = [step["done_at"] for step in steps if step["done_at"]]
    results = [result for step in steps for result in _results(step)]
    found = [one_line(one.get("message", "")) for result in results for one in result.get("findings") or []]
    files = [step["output"]["files_changed"] for step in steps if _output(step).get("files_changed")]
    landed = end is not None and end["kind"] == EventKind.STORY_LANDED
    body = end["body"] if end else {}
    return TryShown(
        run=run,
        since=began,
        took=between(began, max(over)) if over else "not done",
        files=tuple(str(path) for path in files[-1]) if files else (),
        steps=len(steps),
        passed=sum(not result.get("findings") for result in results),
        findings=tuple(whole_words(one, LONG) for one in found[:5]),
        verdict="passed" if landed else str(body.get("verdict") or "goes on"),
        message=whole_words(one_line(body.get("message") or came_to(steps[-1])), LONG) if not landed else "",
    )


def _results(step: Row) -> list[dict[str, Any]]:
    found = _output(step).get("results") if step["step"] in JUDGED else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _output(step: Row) -> dict[str, Any]:
    return step["output"] if isinstance(step["output"], dict) else {}
