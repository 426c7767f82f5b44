"""What a critic of a full build is shown beside the files: what our own gates and our own run of the tests say of them.

Where there is no code yet the tests fail, and whether they do is what a critic of tests wants to see. Nobody is refused
here. The run is kept by tree and command: a gate that asks for the same one finds it.
"""

from damascus.domain.claimed_numbers import mismatches
from damascus.domain.handoff import HandoffSection, Priority
from damascus.domain.ids import Sha
from damascus.domain.ports import GateName, GateResult
from damascus.domain.said import Said
from damascus.domain.verdict import Phase, Verdict
from damascus.engine.evidence_shown import evidence_of, printed_by
from damascus.engine.flow.work import Work
from damascus.engine.judging import Judged, candidate_of, in_order
from damascus.engine.step import Step, StepKind, agent_steps
from damascus.evidence.receipt_evidence import mutation_numbers

RUN_TESTS = Step(
    "run_tests", Phase.BUILD, StepKind.LOCAL, Judged, "our own run of the story's tests, for the critic that reads next"
)


def shown(work: Work, key: str) -> tuple[HandoffSection, ...]:
    """Of the files as they are now: by the gates where these have seen them, else by a run. Nothing where no author has
    changed a file."""
    if work.made is None or work.made.commit is None:
        return ()
    seen = work.judged
    if seen is not None and seen.commit == work.made.commit:
        return (evidence_of(seen), *printed_by(seen))
    ran = work.run.local(RUN_TESTS, lambda: _run(work), key=key)
    work.seen.append(ran)
    return (*([evidence_of(seen)] if seen else []), evidence_of(ran), *printed_by(ran))


def invented(work: Work) -> tuple[HandoffSection, ...]:
    """Numbers in what was said that no run of ours has told: whoever reviews the whole has to put them right (F9)."""
    runs = [result.run for each in work.seen for result in each.results if result.run is not None]
    mutations = [mutation_numbers(each.of(GateName.MUTATION)) for each in work.seen]
    roles = {step.name: step.role for step in agent_steps()}
    said = [
        Said(step=step, role=roles.get(step, step), text=text)
        for step, parts in work.told.items()
        for text in parts.values()
    ]
    found = [f"- {each.sentence}" for one in said for each in mismatches(one, runs, mutations)]
    if not found:
        return ()
    return (HandoffSection(Priority.PLAN, "Metrics mismatch: put these right in your report", "\n".join(found)),)


def _run(work: Work) -> Judged:
    assert work.made is not None
    run = work.run
    candidate = candidate_of(run, work.spec, Sha(str(work.made.commit)), Sha(work.made.base))
    tests = [gate for gate in run.tools.gates_after if gate.opens_beside]
    results = [_of_this_run(result) for result in in_order(tests, candidate, lambda _: None)]
    return Judged(commit=candidate.commit, confinement=run.tools.level.value, results=results)


def _of_this_run(result: GateResult) -> GateResult:
    """Without what only the red run can tell, which is taken later."""
    found = [each for each in result.findings if each.verdict is not Verdict.NOT_RED]
    return result.model_copy(update={"findings": found})
