"""Review: the pull request's head is judged again. Evidence of the same tree and command is shared: an honest candidate
costs no second run."""

from damascus.domain.ids import Sha
from damascus.domain.spec import parse_spec
from damascus.domain.verdict import Phase
from damascus.engine.judging import Judged, candidate_of, judge
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.red import proof_of_red

REVIEW = Step("review", Phase.REVIEW, StepKind.LOCAL, Judged, "its head is judged again")


def judge_again(run: Run, head: Sha) -> Judged:
    return run.local(REVIEW, lambda: _judge(run, head))


def _judge(run: Run, head: Sha) -> Judged:
    spec = parse_spec(run.item.spec, run.item.spec_path)
    assert run.item.base_commit is not None
    candidate = candidate_of(run, spec, head, run.item.base_commit, proof_of_red(run))
    gates = tuple(gate for gate in run.tools.gates_before if gate.again_at_review)
    return judge(run, (*gates, *run.tools.gates_after), candidate)
