"""Red: the agent's commit before anything else is done with it. Its new tests must fail without its code."""

from damascus.domain.ids import Sha
from damascus.domain.spec import Spec
from damascus.domain.verdict import Phase
from damascus.engine.judging import Judged, candidate_of, judge
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.implement import Made

RED = Step(
    "red", Phase.BUILD, StepKind.LOCAL, Judged, "scope, secrets, weakened tests; the new tests fail without the code"
)


def prove_red(run: Run, spec: Spec, made: Made) -> Judged:
    """Scope, secrets, weakened tests, and the proof that the new tests fail without the code (D7)."""
    assert made.commit is not None
    commit, base = Sha(made.commit), Sha(made.base)
    return run.local(RED, lambda: judge(run, run.tools.gates_before, candidate_of(run, spec, commit, base)))


def proof_of_red(run: Run) -> Judged | None:
    """What the red run showed stands for the rebased commit, too: of this run, or of the one that built the story."""
    return run.result(RED) or run.latest(RED)
