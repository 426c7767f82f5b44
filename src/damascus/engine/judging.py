"""Runs gates on a candidate, in order, and stops at the first that finds something.

Some gates run the same tests many times more (canary, mutation). They begin once the tests are green and run beside
the others, so that they cost no time where a core is free; their findings count only if nothing before them found any.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from pydantic import BaseModel, Field

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.outcome import Rejected
from damascus.domain.ports import Candidate, Finding, Gate, GateResult
from damascus.domain.storable import clean
from damascus.engine.run import Run
from damascus.store.db import sql


class Judged(BaseModel):
    """What the gates said of one commit."""

    commit: str
    confinement: str = "unconfined"
    change: str = ""
    """What the story changes, as a hash: the same wherever it sits."""
    results: list[GateResult] = Field(default_factory=list)

    @property
    def findings(self) -> list[Finding]:
        return [finding for result in self.results for finding in result.findings]

    @property
    def asks(self) -> list[Finding]:
        return [ask for result in self.results for ask in result.asks]

    def of(self, gate: str) -> GateResult | None:
        return next((result for result in self.results if result.gate == gate), None)


def judge(run: Run, gates: Sequence[Gate], candidate: Candidate, beside: Sequence[Gate] = ()) -> Judged:
    """A gate that raises has not passed: the exception ends the run (lifecycle.perform)."""
    judged = Judged(commit=candidate.commit, confinement=run.tools.level.value)
    first = 1 + next((n for n, gate in enumerate(gates) if gate.name == "tests"), len(gates) - 1)
    judged.results += in_order(gates[:first], candidate)
    if judged.findings:
        return judged
    given_up = threading.Event()
    with ThreadPoolExecutor(1, thread_name_prefix="beside") as lane:
        further = lane.submit(in_order, beside, replace(candidate, given_up=given_up.is_set))
        try:
            judged.results += in_order(gates[first:], candidate)
        finally:
            if judged.findings or len(judged.results) < len(gates):
                given_up.set()
        if not judged.findings:
            judged.results += further.result()
    return judged


def in_order(gates: Sequence[Gate], candidate: Candidate) -> list[GateResult]:
    results: list[GateResult] = []
    for gate in gates:
        if candidate.given_up():
            break
        results.append(gate.check(candidate))
        if results[-1].findings:
            break
    return results


def rejected(run: Run, judged: Judged, files: list[str]) -> Rejected:
    """The first finding's verdict, with all that the next attempt needs (D13, D16)."""
    return Rejected(judged.findings[0].verdict, feedback(run, judged, judged.findings, files))


def feedback(run: Run, judged: Judged, findings: list[Finding], files: list[str]) -> VerdictFeedback:
    first = findings[0]
    outside = [path for f in findings if f.verdict == first.verdict for path in f.paths]
    log = next((e.log for r in judged.results for e in r.evidence if (r.findings or r.asks) and e.log), None)
    return VerdictFeedback(
        message=clean("; ".join(f.message for f in findings), 4000),
        gate=first.gate,
        test_output=clean(first.output) if first.output else None,
        failing_tests=sorted({t for f in findings for t in f.tests}),
        requirements=sorted({r for f in findings for r in f.requirements}),
        files_changed=files,
        out_of_scope=outside if first.verdict == "scope_violation" else [],
        touches_stories=stories_touched(run, files),
        log=None if first.gate in ("acceptance", "canary") else log,
    )


def stories_touched(run: Run, files: list[str]) -> list[str]:
    """Other stories in flight whose scopes hold a file that this attempt changed (D16)."""
    if not files:
        return []
    owner = f"{run.item.project_id}/{run.item.repo_id}:"
    points = [owner + clean(path) for path in files]  # a name may hold bytes that are no text
    found = run.tools.db.run(
        lambda c: c.execute(sql("stories_touched"), {"item": run.item.id, "points": points}).fetchall()
    )
    return [row["story_id"] for row in found]
