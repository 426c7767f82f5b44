"""Verify: every gate on the commit that will be main, in a clean checkout."""

from damascus.domain.ids import Sha
from damascus.domain.ports import GateResult
from damascus.domain.spec import Spec
from damascus.domain.verdict import Phase
from damascus.engine.ci.flaky import tell_unsteady
from damascus.engine.flow.hardening import MUTATE
from damascus.engine.judging import Judged, candidate_of, judge
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.implement import Made
from damascus.engine.steps.red import proof_of_red
from damascus.evidence.receipt_evidence import changed_content

VERIFY = Step(
    "verify", Phase.BUILD, StepKind.LOCAL, Judged,
    "every gate on the rebased commit, in a clean checkout",
    also=(Phase.MERGE,),
)  # fmt: skip


def verify(run: Run, spec: Spec, made: Made, commit: Sha, onto: Sha) -> Judged:
    """Only a commit that passed here is ever pushed (D8)."""
    judged = run.local(VERIFY, lambda: _verify(run, spec, made, commit, onto), key=commit)
    tell_unsteady(run, judged)
    return judged


def _verify(run: Run, spec: Spec, made: Made, commit: Sha, onto: Sha) -> Judged:
    """Every gate on the rebased commit; those before the rebase again if it moved. The red run stands."""
    candidate = candidate_of(run, spec, commit, onto, proof_of_red(run))
    moved = commit != made.commit
    again = tuple(gate for gate in run.tools.gates_before if not gate.once_per_story) if moved else ()
    change = changed_content(run.tools.mirror, candidate)
    known = _seen_of(run, change)
    judged = judge(run, (*again, *run.tools.gates_after), candidate, () if known else run.tools.gates_beside)
    return judged.model_copy(update={"change": change, "results": [*judged.results, *known]})


def _seen_of(run: Run, change: str) -> list[GateResult]:
    """What canary and mutants showed of the same change on top of other stories, or before it was committed, holds:
    they try its own tests and its own functions, while the tests themselves are run on each commit."""
    names = [gate.name for gate in run.tools.gates_beside]
    if not names:
        return []
    latest = run.latest(VERIFY)
    for judged in [*run.results(VERIFY), *run.results(MUTATE), *([latest] if latest else [])]:
        found = [result for name in names if (result := judged.of(name)) is not None]
        if judged.change == change and len(found) == len(names) and not judged.findings:
            return found
    return []
