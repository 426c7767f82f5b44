"""From evidence to a receipt. No clock, no I/O: whoever has the same evidence computes the same bytes.

Agents' words come in last and can only lower: a critic's status, a requirement's, a number that no tool told.
"""

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, Field

from damascus.domain.claimed_numbers import Mismatch, baseless, mismatches, told_numbers
from damascus.domain.critique import RequirementStatus, RequirementWord, ReviewStatus
from damascus.domain.receipt import (
    EXIT_CODE,
    HARD_CODED,
    BuildReceipt,
    CodeOfReceipt,
    DocsOfReceipt,
    MutationOfReceipt,
    MutationStatus,
    Proof,
    RequirementLine,
    RequirementsOfReceipt,
    TestsOfReceipt,
)
from damascus.domain.requirement_status import ComputedStatus, RequirementEvidence, above, computed, standing
from damascus.domain.run_counts import MutationNumbers, RunCounts
from damascus.domain.said import Said, last_words

SELF_REVIEW, REPORT = "self_review", "report"
TEST_CRITIC, CODE_CRITIC = "critique_tests", "critique_code"
AFTER = (SELF_REVIEW, REPORT)
"""Whoever speaks here only repeats: a wrong number is his own."""
FULLY = RequirementStatus.FULLY_VERIFIED
WORST = (ReviewStatus.VERIFIED, ReviewStatus.UNVERIFIED, ReviewStatus.BLOCKED)


class ReceiptEvidence(BaseModel):
    """All that a receipt is made of. `proof` has everything that stands on it as it is."""

    run_id: str
    branch: str
    timestamp: str
    proof: Proof
    run: RunCounts
    """The story's Test Command on the commit."""
    other_runs: list[RunCounts] = Field(default_factory=list)
    """The red run, and others whose numbers somebody may speak of."""
    requirements: list[RequirementEvidence] = Field(default_factory=list)
    mutation: MutationNumbers = Field(default_factory=MutationNumbers)
    tests_refused: list[str] = Field(default_factory=list)
    """Gates of the tests that found something."""
    code_refused: list[str] = Field(default_factory=list)
    docs_updated: bool = False
    said: list[Said] = Field(default_factory=list)
    artifacts: list[str] = Field(default_factory=list)
    """Names that steps left in the run folder."""


def make_receipt(evidence: ReceiptEvidence) -> BuildReceipt:
    said = last_words(evidence.said)
    lines = [requirement_line(need, said, evidence.proof.red_base) for need in evidence.requirements]
    lied = overclaims(said, evidence.requirements)
    wrong = [found for one in said for found in mismatches(one, _runs(evidence), evidence.mutation)]
    numbers = _tests(evidence, said, lied, wrong)
    code = CodeOfReceipt(
        status=_lowered(evidence.code_refused, said, CODE_CRITIC, lied),
        summary_file=_left(evidence, "impl_changes_summary.md"),
    )
    binding = _binding(evidence, said)
    return BuildReceipt(
        run_id=evidence.run_id,
        branch=evidence.branch,
        timestamp=evidence.timestamp,
        status=_overall(numbers.status, code.status, binding, _touched(lines, evidence.requirements)),
        requirements=_requirements(lines, evidence.requirements),
        tests=numbers,
        code=code,
        mutation=_mutation(evidence.mutation),
        docs=DocsOfReceipt(updated=evidence.docs_updated),
        metrics_binding=binding,
        notes=_notes(evidence, lines, lied, wrong),
        requirement_lines=lines,
        proof=evidence.proof.model_copy(update={"said": [_without_prose(one) for one in said]}),
    )


def _runs(evidence: ReceiptEvidence) -> Sequence[RunCounts]:
    return (evidence.run, *evidence.other_runs)


# ── requirements ──────────────────────────────────────────────────────────────────────────────────────


def requirement_line(need: RequirementEvidence, said: Sequence[Said], base: str) -> RequirementLine:
    found, words = computed(need), _words(said, need.id)
    proving = [test for test in need.tests if test.passed and test.proves]
    status = standing(found, words)
    return RequirementLine(
        id=need.id,
        text=need.text,
        status=status,
        computed=found.status,
        critic=RequirementStatus.lowest(word.status for word in words) if words else None,
        tests=[test.id for test in need.tests],
        negative=[test.id for test in need.tests if test.negative],
        red_at=base if any(test.red for test in proving) else "",
        green=bool(proving) and not any(test.outcome in ("failed", "error") for test in need.tests),
        code=need.code,
        gap=_gap(found, status, words),
        unmeasured=found.unmeasured,
        claimed=sorted({name for word in words for name in (*word.tests, *word.code)} - _names(need)),
    )


def _names(need: RequirementEvidence) -> set[str]:
    return {test.id for test in need.tests} | set(need.code)


def _words(said: Iterable[Said], ident: str) -> list[RequirementWord]:
    return [word for one in said if one.critique for word in one.critique.requirements if word.id == ident]


def _gap(found: ComputedStatus, status: RequirementStatus, words: Sequence[RequirementWord]) -> str:
    if status is found.status or not words:
        return found.gap
    return "; ".join(part for part in (found.gap, f"a critic calls it {status}") if part)


def _touched(lines: Sequence[RequirementLine], needs: Sequence[RequirementEvidence]) -> list[RequirementLine]:
    touched = {need.id for need in needs if need.touched}
    return [line for line in lines if line.id in touched]


def _requirements(lines: Sequence[RequirementLine], needs: Sequence[RequirementEvidence]) -> RequirementsOfReceipt:
    return RequirementsOfReceipt(
        touched=[need.id for need in needs if need.touched],
        untouched=[need.id for need in needs if not need.touched],
        fr_status={line.id: line.status for line in lines},
    )


def overclaims(said: Sequence[Said], needs: Sequence[RequirementEvidence]) -> list[str]:
    """FULLY_VERIFIED, said by anybody, where evidence gives less."""
    gives = {need.id: computed(need).status for need in needs}
    found = []
    for one in said:
        for ident, status in sorted(_claimed_statuses(one).items()):
            known = gives.get(ident, RequirementStatus.UNKNOWN)
            if status == FULLY and above(FULLY, known):
                where = "evidence gives" if ident in gives else "no such requirement is known:"
                found.append(f"{ident} is claimed {FULLY} by {one.role} ({one.step}); {where} {known}")
    return list(dict.fromkeys(found))


def _claimed_statuses(one: Said) -> dict[str, str]:
    """By a critique, or by a mapping from ids to statuses among its claims."""
    claimed = {word.id: str(word.status) for word in one.critique.requirements} if one.critique else {}
    for key in ("fr_status", "requirements"):
        given = one.claims.get(key)
        if isinstance(given, dict):
            claimed |= {str(ident): str(status) for ident, status in given.items() if isinstance(status, str)}
    return claimed


# ── tests, code, the whole ────────────────────────────────────────────────────────────────────────────


def _lowered(refused: Sequence[str], said: Sequence[Said], step: str, lied: Sequence[str]) -> ReviewStatus:
    """By the gates first; whoever reviewed can only lower that, the self-reviewer too."""
    words = [ReviewStatus.UNVERIFIED if refused or lied else ReviewStatus.VERIFIED]
    for one in said:
        if one.step in (step, SELF_REVIEW) and (one.step == step or one.critique is not None):
            read = one.critique is not None and not one.critique.unreadable
            words.append(one.critique.status if one.critique and read else ReviewStatus.BLOCKED)
    return _worst(words)


def _worst(words: Iterable[ReviewStatus]) -> ReviewStatus:
    return max(words, key=WORST.index)


def _tests(
    evidence: ReceiptEvidence, said: Sequence[Said], lied: Sequence[str], wrong: Sequence[Mismatch]
) -> TestsOfReceipt:
    by_gates = _lowered(evidence.tests_refused, said, TEST_CRITIC, lied)
    early = [found for found in wrong if found.step not in AFTER]
    by_numbers = ReviewStatus.BLOCKED if early else ReviewStatus.UNVERIFIED if wrong else ReviewStatus.VERIFIED
    run = evidence.run
    return TestsOfReceipt(
        status=_worst([by_gates, by_numbers]),
        total=run.number("total"),
        passed=run.number("passed"),
        failed=run.number("failed"),
        xfailed=run.number("xfailed"),
        xpassed=run.number("xpassed"),
        skipped=run.number("skipped"),
        summary_file=_left(evidence, "test_changes_summary.md"),
        metrics_consistency="MISMATCH" if wrong else "OK",
    )


def _left(evidence: ReceiptEvidence, name: str) -> str | None:
    return name if f"build/{name}" in evidence.artifacts else None


def _binding(evidence: ReceiptEvidence, said: Sequence[Said]) -> str:
    if any(baseless(one, _runs(evidence), evidence.mutation) for one in said):
        return HARD_CODED
    run = evidence.run
    return " + ".join(run.runners) or "printed summary" if run.counted else EXIT_CODE


def _overall(tests: ReviewStatus, code: ReviewStatus, binding: str, touched: Sequence[RequirementLine]) -> ReviewStatus:
    proved = binding != HARD_CODED and all(line.status.ready for line in touched)
    return _worst([tests, code, ReviewStatus.VERIFIED if proved else ReviewStatus.UNVERIFIED])


def _mutation(numbers: MutationNumbers) -> MutationOfReceipt:
    if numbers.blocked:
        return MutationOfReceipt(status=MutationStatus.BLOCKED)
    if not numbers.ran:
        return MutationOfReceipt(status=MutationStatus.NOT_RUN)
    return MutationOfReceipt(
        status=MutationStatus.VERIFIED, score=numbers.share, killed=numbers.killed, total=numbers.total
    )


def _without_prose(one: Said) -> Said:
    """Of its prose the numbers that it claims, in its own words: whoever makes the receipt again needs no more."""
    return one.model_copy(update={"text": "\n".join(told_numbers(one))})


# ── notes ─────────────────────────────────────────────────────────────────────────────────────────────


def _notes(
    evidence: ReceiptEvidence, lines: Sequence[RequirementLine], lied: Sequence[str], wrong: Sequence[Mismatch]
) -> list[str]:
    notes = [f"{line.id} is {line.status}: {line.gap}" for line in lines if line.gap]
    notes += [f"metrics mismatch: {found.sentence}" for found in wrong]
    notes += [f"{claim}: tests and code are UNVERIFIED" for claim in lied]
    notes += [f"refused by gate {gate}" for gate in (*evidence.tests_refused, *evidence.code_refused)]
    notes += [f"the runner's report and its last line differ: {what}" for what in evidence.run.differs]
    notes += [f"mutation could not be run: {evidence.mutation.blocked}"] if evidence.mutation.blocked else []
    if evidence.mutation.ran and evidence.mutation.share is not None:
        told = f"{evidence.mutation.killed}/{evidence.mutation.total} killed"
        notes.append(f"Mutation score {evidence.mutation.share:g} % with {told}")
    notes += [f"{step} was left out: UNVERIFIED" for step in evidence.proof.left_out]
    notes += evidence.proof.left_open
    notes += [] if lines else ["the spec names no requirement"]
    if any(baseless(one, _runs(evidence), evidence.mutation) for one in last_words(evidence.said)):
        notes.append("an agent claims numbers that no tool told: metrics_binding is hard_coded")
    for one in evidence.proof.persons:
        notes.append(f"by a person's word: {one.about}" + (f" ({one.words})" if one.words else ""))
    return list(dict.fromkeys(notes))
