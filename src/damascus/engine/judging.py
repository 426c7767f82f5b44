"""How a commit is judged: the candidate that gates look at, the gates in order, and what their answer means.

The first gate that finds something is the last. Some gates run the same tests many times more (canary, mutation). They
begin once the tests are green and run beside the others, so that they cost no time where a core is free; their findings
count only if nothing before them found any.
"""

import threading
from base64 import b64decode
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from pydantic import BaseModel, Field

from damascus.domain.config import Config
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha
from damascus.domain.outcome import NeedsPerson, Rejected
from damascus.domain.pictures import SHOWN as PICTURES_SHOWN
from damascus.domain.pictures import Picture, question_start
from damascus.domain.ports import Candidate, Finding, Gate, GateName, GateResult, LandedBefore
from damascus.domain.recovery import ACCEPT_PICTURES, ACCEPT_TESTS, CANCEL, EDIT_SPEC, KEEP_TESTS, SEND_BACK
from damascus.domain.scope import Scope
from damascus.domain.spec import Spec, parse_spec
from damascus.domain.storable import clean
from damascus.domain.survivors import SHOWN, Survivor
from damascus.domain.verdict import Kind, Verdict
from damascus.engine.agent_step.sending import passed_on
from damascus.engine.run import Run
from damascus.store.db import sql
from damascus.store.equivalents import equivalents
from damascus.store.screenshots import accepted_in

OPTIONS = (ACCEPT_TESTS, KEEP_TESTS, EDIT_SPEC, CANCEL)
ABOUT_PICTURES = (ACCEPT_PICTURES, SEND_BACK, CANCEL)


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

    @property
    def survivors(self) -> list[Survivor]:
        return [one for result in self.results for one in result.survivors]

    @property
    def pictures(self) -> list[Picture]:
        return [one for result in self.results for one in result.pictures]

    def of(self, gate: str) -> GateResult | None:
        return next((result for result in self.results if result.gate == gate), None)


# ── the candidate ─────────────────────────────────────────────────────────────────────────────────────


def candidate_of(run: Run, spec: Spec, commit: Sha, base: Sha, red: Judged | None = None) -> Candidate:
    config = run.tools.read_config(base)
    run.folder.mkdir(parents=True, exist_ok=True)
    changed = run.tools.mirror.changed(base, commit)
    return Candidate(
        commit=commit,
        tree=run.tools.mirror.tree(commit),
        base=base,
        changed=changed,
        spec=spec,
        scope=Scope(run.item.file_scope),
        config=config,
        read=run.tools.reader(len(changed)),
        files=lambda treeish: run.tools.mirror.listing(treeish).files,
        logs=run.folder,
        private_logs=run.tools.folder / "held-out" / run.item.story_id / f"run-{run.item.run_no}",
        env=passed_on(config.workspace.env),
        acceptance=run.item.acceptance,
        red=red.of(GateName.RED) if red else None,
        full=in_full(spec, config),
        landed=_landed_before(run),
    )


def _landed_before(run: Run) -> LandedBefore | None:
    """Of a STALE story that is built anew: as it was before that (store/sql/stale.sql keeps it)."""
    change = run.item.change or {}
    original = change.get("original")
    if not original or not change.get("commit"):
        return None
    raw, path = b64decode(original["spec"]), str(original["spec_path"])
    return LandedBefore(Sha(change["commit"]), parse_spec(raw, path, rough=True), raw, path)


def in_full(spec: Spec, config: Config) -> bool:
    """By the story's own word, else by the project's rules."""
    return spec.kind is not Kind.RECORDS and (spec.flow or config.flow.profile) == "full"


# ── the gates ─────────────────────────────────────────────────────────────────────────────────────────


def judge(run: Run, gates: Sequence[Gate], candidate: Candidate, beside: Sequence[Gate] = ()) -> Judged:
    """A gate that raises has not passed: the exception ends the run (lifecycle.perform)."""
    judged = Judged(commit=candidate.commit, confinement=run.tools.level.value)
    first = 1 + next((n for n, gate in enumerate(gates) if gate.opens_beside), len(gates) - 1)
    note = partial(_log_verdict, run, candidate.commit)
    judged.results += in_order(gates[:first], candidate, note)
    if judged.findings:
        return judged
    given_up = threading.Event()
    with ThreadPoolExecutor(1, thread_name_prefix="beside") as lane:
        further = lane.submit(in_order, beside, replace(candidate, given_up=given_up.is_set), note)
        try:
            judged.results += in_order(gates[first:], candidate, note)
        finally:
            if judged.findings or len(judged.results) < len(gates):
                given_up.set()
        if not judged.findings:
            judged.results += further.result()
    return judged


def _log_verdict(run: Run, commit: str, result: GateResult) -> None:
    """By names: a finding's words may be a test's output."""
    asks = [*result.asks, *(one for one in result.pictures if one.asks)]
    said = {"mutants live": result.survivors, "asks": asks}
    verdict = result.findings[0].verdict if result.findings else next((k for k, v in said.items() if v), "passed")
    facts = {"run": run.item.run_no, "step": run.now, "commit": commit}
    run.tools.log.info("gate judged", story=run.item.story_id, gate=result.gate, verdict=str(verdict), **facts)


def in_order(gates: Sequence[Gate], candidate: Candidate, note: Callable[[GateResult], None]) -> list[GateResult]:
    results: list[GateResult] = []
    for gate in gates:
        if candidate.given_up():
            break
        results.append(gate.check(candidate))
        note(results[-1])
        if results[-1].findings:
            break
    return results


# ── what their answer means ───────────────────────────────────────────────────────────────────────────


def objection(run: Run, judged: Judged, files: list[str]) -> Rejected | NeedsPerson | None:
    """None: nothing is in the way."""
    if judged.findings:
        return rejected(run, judged, files)
    if alive := unanswered(run, judged.survivors):
        told = feedback(run, judged, [survived(alive)], files)
        return Rejected(Verdict.MUTANT_SURVIVED, told.model_copy(update={"survivors": alive[:SHOWN]}))
    for ask in judged.asks:
        answer = answer_to(run, ask)
        if answer is None:
            return _question(run, judged, ask, files)
        if answer != ACCEPT_TESTS:
            return Rejected(ask.verdict, _asked_feedback(run, judged, ask, files, answer))
    if unseen := _not_accepted(run, judged.pictures):
        return _show(run, judged, unseen, files)
    return None


def rejected(run: Run, judged: Judged, files: list[str]) -> Rejected:
    """The first finding's verdict, with all that the next attempt needs (D13, D16)."""
    return Rejected(judged.findings[0].verdict, feedback(run, judged, judged.findings, files))


def unanswered(run: Run, survivors: list[Survivor]) -> list[Survivor]:
    """Those that no person has called equivalent."""
    known = equivalents(run.tools.db, run.item.id) if survivors else {}
    return [one for one in survivors if one.refuses and one.mark not in known]


def survived(alive: list[Survivor]) -> Finding:
    shown = alive[:SHOWN]
    more = f" {len(alive) - SHOWN} more live." if len(alive) > SHOWN else ""
    return Finding(
        gate=GateName.MUTATION,
        verdict=Verdict.MUTANT_SURVIVED,
        message=f"mutants live: {'; '.join(one.told for one in shown)}.{more} Write a test that fails with each.",
        requirements=sorted({ident for one in alive for ident in one.requirements}),
        output="\n".join(one.diff for one in shown),
    )


def feedback(run: Run, judged: Judged, findings: list[Finding], files: list[str]) -> VerdictFeedback:
    first = findings[0]
    outside = [path for f in findings if f.verdict == first.verdict for path in f.paths]
    log = next(
        (e.log for r in judged.results for e in r.evidence if (r.findings or r.asks or r.survivors) and e.log), None
    )
    return VerdictFeedback(
        message=clean("; ".join(f.message for f in findings), 4000),
        gate=first.gate,
        test_output=clean(first.output) if first.output else None,
        failing_tests=sorted({t for f in findings for t in f.tests}),
        requirements=sorted({r for f in findings for r in f.requirements}),
        files_changed=files,
        out_of_scope=outside if first.verdict == Verdict.SCOPE_VIOLATION else [],
        touches_stories=stories_touched(run, files),
        log=log if GateName.tells_agents_its_log(first.gate) else None,
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


# ── a person's answer ─────────────────────────────────────────────────────────────────────────────────
# It is kept with the question, and the question names what was shown by its mark. So the same change is never asked
# about twice, whichever run, attempt or base it comes up in, and another change always is.


def answer_to(run: Run, ask: Finding) -> str | None:
    answers = [ACCEPT_TESTS, KEEP_TESTS]
    row = run.tools.db.one("answer_to", item=run.item.id, start=_start(ask), answers=answers)
    return str(row["answer"]) if row else None


def _start(ask: Finding) -> str:
    return f"Changed tests {ask.mark}: "


def _question(run: Run, judged: Judged, ask: Finding, files: list[str]) -> NeedsPerson:
    """What the story's own files say stands at the end: a mark in it means nothing."""
    text = (
        f"{_start(ask)}{run.item.story_id} is green but for this. {ask.message} The story worded them, or what they "
        f"rest on, anew. Which wording holds? All of it: {run.folder / 'old-tests.diff'}\n{ask.output}"
    )
    return NeedsPerson(ask.verdict, clean(text, 8000), OPTIONS, _asked_feedback(run, judged, ask, files, ""))


# ── pictures of pages ─────────────────────────────────────────────────────────────────────────────────
# The question begins with the marks of what it shows, and an answer accepts those very pictures in the database.


def _not_accepted(run: Run, pictures: list[Picture]) -> list[Picture]:
    """Those that look another way than accepted, but for what a person has accepted since."""
    asking = [one for one in pictures if one.asks]
    known = accepted_in(run.tools.db, run.item.id) if asking else {}
    return [one for one in asking if one.mark not in known]


def _show(run: Run, judged: Judged, pictures: list[Picture], files: list[str]) -> NeedsPerson:
    shown = pictures[:PICTURES_SHOWN]
    more = f" {len(pictures) - len(shown)} more are asked about after them." if len(pictures) > len(shown) else ""
    finding = Finding(
        gate=GateName.VISUAL,
        verdict=Verdict.PAGE_NOT_ACCEPTED,
        message=f"pages look another way than a person accepted: {'; '.join(one.told for one in shown)}.{more}",
        paths=[one.page for one in shown],
    )
    text = (
        f"{question_start(shown)}{run.item.story_id} is green but for how {len(pictures)} of its pages look, which no "
        f"person has accepted. Look at the pictures: {run.folder / 'visual'}{more and '.'}{more} Are they right?"
    )
    lines = [line for one in shown for line in (f"--- {one.told}", *(f"{k}: {v}" for k, v in one.files.items()))]
    question = clean("\n".join([text, *lines]), 30_000)
    return NeedsPerson(finding.verdict, question, ABOUT_PICTURES, feedback(run, judged, [finding], files))


def _asked_feedback(run: Run, judged: Judged, ask: Finding, files: list[str], answer: str) -> VerdictFeedback:
    said = f" A person answered: {answer}." if answer else ""
    return feedback(run, judged, [ask.model_copy(update={"message": ask.message + said})], files)
