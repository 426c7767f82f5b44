"""From evidence to a receipt. No clock, no I/O: whoever has the same evidence computes the same bytes.

Agents' words come in last and can only lower: a critic's status, a requirement's, a number that no tool told.
"""

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, Field

from damascus.domain.claimed_numbers import Mismatch, baseless, mismatches, told_numbers
from damascus.domain.critique import Critique, RequirementStatus, RequirementWord, ReviewStatus
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
REVIEWERS = ("review_code", "review_security")
"""Those who read the pull request."""
AFTER = (SELF_REVIEW, *REVIEWERS, REPORT)
"""Whoever speaks here only repeats: a wrong number is his own."""
OF_TESTS, OF_CODE = (TEST_CRITIC, SELF_REVIEW), (CODE_CRITIC, SELF_REVIEW, *REVIEWERS)
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
    wrong = [found for one in said for found in mismatches(one, _runs(evidence), _mutations(evidence))]
    numbers = _tests(evidence, said, lied, wrong)
    code = CodeOfReceipt(
        status=_lowered([*evidence.code_refused, *_unfinished(evidence)], said, OF_CODE, lied),
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
    return (evidence.run, *evidence.other_runs, *evidence.proof.runs)


def _mutations(evidence: ReceiptEvidence) -> Sequence[MutationNumbers]:
    return (evidence.mutation, *evidence.proof.mutations)


def _unfinished(evidence: ReceiptEvidence) -> list[str]:
    """Nothing is VERIFIED of a run that ended early, whatever was seen of it until then."""
    return [evidence.proof.unfinished] if evidence.proof.unfinished else []


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
        landed_before=need.landed_before,
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


def _lowered(refused: Sequence[str], said: Sequence[Said], steps: Sequence[str], lied: Sequence[str]) -> ReviewStatus:
    """By the gates first; whoever reviewed can only lower that, the self-reviewer too."""
    words = [ReviewStatus.UNVERIFIED if refused or lied else ReviewStatus.VERIFIED]
    return _worst([*words, *(_review_of(one).status for one in said if one.step in steps and _reviews(one))])


def _reviews(one: Said) -> bool:
    return one.step != SELF_REVIEW or one.critique is not None


def _review_of(one: Said) -> Critique:
    """What counts of it: BLOCKED wherever there is no review."""
    why = one.critique.unreadable if one.critique else "there is none"
    return one.critique if one.critique and not why else Critique.none_because(f"a readable report: {why}")


def _worst(words: Iterable[ReviewStatus]) -> ReviewStatus:
    return max(words, key=WORST.index)


def _tests(
    evidence: ReceiptEvidence, said: Sequence[Said], lied: Sequence[str], wrong: Sequence[Mismatch]
) -> TestsOfReceipt:
    by_gates = _lowered([*evidence.tests_refused, *_unfinished(evidence)], said, OF_TESTS, lied)
    early = [found for found in wrong if found.step not in AFTER]
    run = evidence.run
    blocked = early or run.differs
    by_numbers = ReviewStatus.BLOCKED if blocked else ReviewStatus.UNVERIFIED if wrong else ReviewStatus.VERIFIED
    return TestsOfReceipt(
        status=_worst([by_gates, by_numbers]),
        total=run.number("total"),
        passed=run.number("passed"),
        failed=run.number("failed"),
        xfailed=run.number("xfailed"),
        xpassed=run.number("xpassed"),
        skipped=run.number("skipped"),
        summary_file=_left(evidence, "test_changes_summary.md"),
        metrics_consistency="MISMATCH" if wrong or run.differs else "OK",
    )


def _left(evidence: ReceiptEvidence, name: str) -> str | None:
    return name if f"build/{name}" in evidence.artifacts else None


def _binding(evidence: ReceiptEvidence, said: Sequence[Said]) -> str:
    if any(baseless(one, _runs(evidence), _mutations(evidence)) for one in said):
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
    said = last_words(evidence.said)
    notes = [f"the run ended before its commit was proved: {why}" for why in _unfinished(evidence)]
    notes += [f"{line.id} is {line.status}: {line.gap}" for line in lines if line.gap]
    notes += [f"metrics mismatch: {found.sentence}" for found in wrong]
    notes += [f"{claim}: tests and code are UNVERIFIED" for claim in lied]
    notes += [note for one in said if (note := _not_reviewed(one))]
    notes += [f"refused by gate {gate}" for gate in (*evidence.tests_refused, *evidence.code_refused)]
    notes += [f"metrics mismatch: the runner's report and its last line differ: {it}" for it in evidence.run.differs]
    notes += [f"mutation could not be run: {evidence.mutation.blocked}"] if evidence.mutation.blocked else []
    if evidence.mutation.ran and evidence.mutation.share is not None:
        told = f"{evidence.mutation.killed}/{evidence.mutation.total} killed"
        notes.append(f"Mutation score {evidence.mutation.share:g} % with {told}")
    notes += [f"{step} was left out: UNVERIFIED" for step in evidence.proof.left_out]
    notes += evidence.proof.left_open
    notes += [] if lines else ["the spec names no requirement"]
    if any(baseless(one, _runs(evidence), _mutations(evidence)) for one in said):
        notes.append("an agent claims numbers that no tool told: metrics_binding is hard_coded")
    return list(dict.fromkeys([*notes, *words_of_persons(evidence.proof)]))


def words_of_persons(proof: Proof) -> list[str]:
    return [f"by a person's word: {one.about}" + (f" ({one.words})" if one.words else "") for one in proof.persons]


def _not_reviewed(one: Said) -> str:
    """Why a review left what it is about BLOCKED; "" if it did not."""
    about = [name for name, steps in (("tests", OF_TESTS), ("code", OF_CODE)) if one.step in steps]
    review = _review_of(one)
    if not about or not _reviews(one) or review.status is not ReviewStatus.BLOCKED:
        return ""
    told = f"{one.role} ({one.step}) could not review it, missing: {'; '.join(review.missing)}"
    return f"{' and '.join(about)} BLOCKED: {told}"
