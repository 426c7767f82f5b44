"""What a receipt is made of, gathered from what gates said: the same for the step of a build and for whoever verifies
it elsewhere."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, GateName, GateResult
from damascus.domain.receipt import (
    BuildReceipt,
    GateLine,
    LandedOfReceipt,
    PersonsWord,
    PolicyOfReceipt,
    Proof,
    SpecOfReceipt,
)
from damascus.domain.receipt_making import ReceiptEvidence, make_receipt
from damascus.domain.requirement_status import MappedTest, RequirementEvidence, RequirementTag
from damascus.domain.run_counts import MutationNumbers, RunCounts
from damascus.domain.said import Said
from damascus.domain.scope import SETTINGS_FILE
from damascus.domain.spec import Requirement, digest
from damascus.domain.survivors import MUTATION_OFF, NO_FUNCTION, Survivor
from damascus.domain.verdict import Kind
from damascus.git.mirror import Mirror

OF_TESTS = (
    GateName.WEAKENED_TESTS, GateName.RED, GateName.TESTS, GateName.REQUIREMENTS, GateName.TEST_CONTRACTS,
    GateName.SUITE, GateName.OLD_TESTS, GateName.ACCEPTANCE, GateName.CANARY,
)  # fmt: skip
"""Gates that judge the tests; all others judge the code."""
DOCUMENT = re.compile(r"(?:.*/)?(?:docs?/.*|README[^/]*|CHANGELOG[^/]*|[^/]*\.(?:md|rst|adoc))", re.IGNORECASE)
NOTHING_TO_DO = (MUTATION_OFF, NO_FUNCTION)


@dataclass(frozen=True)
class Subject:
    """What is judged, beside the candidate itself: facts that no run changes."""

    story: str
    title: str
    branch: str
    spec_path: str
    spec: bytes
    policy: str
    """The blob of the base's damascus.toml; "": it has none."""
    timestamp: str
    change: str
    red_base: str
    confinement: str
    profile: str = "direct"


@dataclass(frozen=True)
class Spoken:
    """What agents and people said. `equivalent`: by a survivor's mark, a person's reason."""

    said: Sequence[Said] = ()
    left_out: Sequence[str] = ()
    left_open: Sequence[str] = ()
    """What a run's budget kept from being cured."""
    equivalent: Mapping[str, str] = field(default_factory=dict)
    accepted: Sequence[PersonsWord] = ()
    artifacts: Collection[str] = ()
    runs: Sequence[RunCounts] = ()
    """What the tools told agents before the commit was made."""
    mutations: Sequence[MutationNumbers] = ()
    unfinished: str = ""
    """Why the run ended before its commit was proved."""


def changed_content(mirror: Mirror, candidate: Candidate) -> str:
    """What the story changes, wherever it sits, as a hash: the same paths with the same content."""
    files = mirror.listing(candidate.commit).files
    told = sorted(f"{file.path} {file.mode} {files[file.path].sha if file.path in files else ''}"
                  for file in candidate.changed)  # fmt: skip
    return digest("\n".join([candidate.spec.test_command, *told]).encode(errors="surrogateescape"))


def policy_at(mirror: Mirror, base: Sha) -> str:
    """The blob of the rules that a candidate on this base is judged by."""
    found = mirror.objects.entries([(base, "")])[base, ""].get(SETTINGS_FILE)
    return found.sha if found else ""


def receipt_from(subject: Subject, candidate: Candidate, results: Sequence[GateResult], spoken: Spoken) -> BuildReceipt:
    return make_receipt(gather(subject, candidate, results, spoken))


def gather(subject: Subject, candidate: Candidate, results: Sequence[GateResult], spoken: Spoken) -> ReceiptEvidence:
    """`results` in the order in which they were given: of each gate the last answer counts."""
    last = {result.gate: result for result in results}
    alive = [one for result in last.values() for one in result.survivors if one.mark not in spoken.equivalent]
    called = [one for result in last.values() for one in result.survivors if one.mark in spoken.equivalent]
    red, tests = last.get(GateName.RED), last.get(GateName.TESTS)
    green = tests.green_tests if tests else []
    proof = Proof(
        story=subject.story,
        title=subject.title,
        kind=candidate.spec.kind.value,
        profile=subject.profile,
        commit=candidate.commit,
        tree=candidate.tree,
        base=candidate.base,
        red_base=subject.red_base,
        change=subject.change,
        spec=SpecOfReceipt.of(subject.spec_path, subject.spec),
        built_before=_landed(candidate),
        policy=PolicyOfReceipt(blob=subject.policy),
        summary=tests.run.summary if tests and tests.run else "",
        red_tests=sorted(red.red_tests) if red else [],
        green_tests=sorted(green),
        gates=[_line(result) for _, result in sorted(last.items())],
        unverified=sorted({name for result in last.values() for name in result.unverified}),
        survivors=alive,
        persons=[*(_equivalent(one, spoken.equivalent[one.mark]) for one in called), *spoken.accepted],
        left_out=list(spoken.left_out),
        left_open=list(spoken.left_open),
        runs=list(spoken.runs),
        mutations=list(spoken.mutations),
        unfinished=spoken.unfinished,
        held_out=candidate.acceptance is not None,
        confinement=subject.confinement,
    )
    refused = [*(name for name, result in sorted(last.items()) if result.findings)]
    refused += [] if tests else [f"{GateName.TESTS} (not run)"]
    return ReceiptEvidence(
        run_id=subject.story,
        branch=subject.branch,
        timestamp=subject.timestamp,
        proof=proof,
        run=tests.run if tests and tests.run else RunCounts(),
        other_runs=[result.run for result in results if result.run is not None],
        requirements=[_requirement(need, candidate, last, alive) for need in candidate.spec.requirements],
        mutation=mutation_numbers(last.get(GateName.MUTATION)),
        tests_refused=[name for name in refused if name.partition(" ")[0] in OF_TESTS],
        code_refused=[name for name in refused if name.partition(" ")[0] not in OF_TESTS],
        docs_updated=any(DOCUMENT.fullmatch(file.path) for file in candidate.changed),
        said=list(spoken.said),
        artifacts=sorted(spoken.artifacts),
    )


def _landed(candidate: Candidate) -> LandedOfReceipt | None:
    before = candidate.landed
    return LandedOfReceipt(commit=before.commit, spec=SpecOfReceipt.of(before.path, before.raw)) if before else None


def _line(result: GateResult) -> GateLine:
    first = result.evidence[0] if result.evidence else None
    return GateLine(
        gate=result.gate,
        passed=not result.findings,
        command=first.command if first else "",
        exit_code=first.exit_code if first else None,
        tree=first.tree if first else "",
        summary="; ".join(one.summary for one in result.evidence if one.summary),
        unverified=result.unverified,
        notes=result.notes,
    )


def _equivalent(one: Survivor, words: str) -> PersonsWord:
    return PersonsWord(
        about=f"the mutant {one.path}:{one.line} {one.operator} changes nothing", words=words, mark=one.mark
    )


# ── requirements ──────────────────────────────────────────────────────────────────────────────────────


def _requirement(
    need: Requirement, candidate: Candidate, last: Mapping[str, GateResult], alive: Iterable[Survivor]
) -> RequirementEvidence:
    mapped = last.get(GateName.REQUIREMENTS, GateResult(gate=GateName.REQUIREMENTS))
    flaky = {test for result in last.values() for test in result.flaky}
    tests = [_without_luck(test, flaky) for test in mapped.tests_of.get(need.id, [])]
    return RequirementEvidence(
        id=need.id,
        text=need.text,
        tag=_tag(need.tag),
        tests=tests,
        code=_code(need.id, last),
        survivors=[one.told for one in alive if need.id in one.requirements],
        tests_unmeasured=mapped.unmapped.get(need.id, ""),
        code_unmeasured=_why_no_code(candidate, last, tests),
    )


def _tag(word: str) -> RequirementTag:
    return RequirementTag(word) if word in list(RequirementTag) else RequirementTag.MVP


def _without_luck(test: MappedTest, flaky: Collection[str]) -> MappedTest:
    """A test that was green and red on one tree proves nothing."""
    return test.model_copy(update={"proves": False}) if test.id in flaky else test


def _code(ident: str, last: Mapping[str, GateResult]) -> list[str]:
    """The lines that its tests run; where nobody can tell these, those of which they notice a change."""
    for gate in (GateName.COVERAGE, GateName.MUTATION):
        if gate in last and (code := [one.told for one in last[gate].lines if one.requirement == ident]):
            return code
    return []


def _why_no_code(candidate: Candidate, last: Mapping[str, GateResult], tests: Sequence[MappedTest]) -> str:
    """Empty only where lines and mutants were both looked at, with nothing left out, and no test of it turned green by
    the change: then there is code, be it a constant or a file of data."""
    if candidate.spec.kind is not Kind.FEATURE:
        return f"kind {candidate.spec.kind.value}: nobody asks which changed lines its tests run"
    for gate in (GateName.COVERAGE, GateName.MUTATION):
        result = last.get(gate)
        if result is None:
            return f"{gate} was not run, so its code can't be told"
        if result.unverified:
            return f"its code can't be told: {result.unverified[0]}"
    if not any(last[gate].lines for gate in (GateName.COVERAGE, GateName.MUTATION)):
        return "its code can't be told: neither lines nor mutants show which test needs which part"
    if any(test.red and test.passed for test in tests):
        return "its tests turned green by the change, but no line of it is known to be run or needed by them"
    return ""


# ── mutants ───────────────────────────────────────────────────────────────────────────────────────────


def mutation_numbers(result: GateResult | None) -> MutationNumbers:
    if result is None:
        return MutationNumbers()
    score = result.score or result.bodies
    if score is not None:
        return MutationNumbers(ran=True, scores=[score])
    trouble = [name for name in result.unverified if name not in NOTHING_TO_DO]
    trouble += [finding.message for finding in result.findings]
    return MutationNumbers(blocked=trouble[0] if trouble else "")
