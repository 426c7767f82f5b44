"""A story of kind `plan` (docs/plan.md): an idea becomes a task graph. It stands in the place of `implement`.

write_plan → check_plan → critique_plan, and again, until the graph has no fault and the critic asks for no more, or the
run's budget is used. A graph with faults is never proposed. What follows is as for every story, and a person approves.
"""

from itertools import count

from pydantic import BaseModel, Field

from damascus.domain.critique import Critique, ReviewStatus
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.handoff import HandoffSection, Priority
from damascus.domain.ids import Sha
from damascus.domain.outcome import Outcome, Rejected
from damascus.domain.roles import Role
from damascus.domain.spec import Spec
from damascus.domain.storable import clean
from damascus.domain.verdict import Phase, Verdict
from damascus.engine.agent_step.reviewed import Reviewed, could_not_review
from damascus.engine.agent_step.workspace import StartingPoint
from damascus.engine.flow.carried import carry
from damascus.engine.flow.commit import commit
from damascus.engine.flow.opening import goes_on
from damascus.engine.flow.papers import review
from damascus.engine.flow.work import Ended, Work
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.implement import Made
from damascus.tasks.planned import SAMPLE, graph_faults

MOST_TOLD = 50
CRITIQUE_FILE = "build/plan_critique.md"


class PlanChecked(BaseModel):
    """What `tasks check` says of the graph; empty: nothing is wrong with it."""

    faults: list[str] = Field(default_factory=list)


WRITE_PLAN = Step(
    "write_plan", Phase.BUILD, StepKind.AGENT, Made, "of a plan: the planner writes the task graph", role=Role.PLANNER
)
CHECK_PLAN = Step(
    "check_plan", Phase.BUILD, StepKind.LOCAL, PlanChecked, "of a plan: the graph is checked as `tasks check` does"
)
CRITIQUE_PLAN = Step(
    "critique_plan", Phase.BUILD, StepKind.AGENT, Reviewed, "of a plan: the plan-critic judges it",
    role=Role.PLAN_CRITIC,
)  # fmt: skip


def plan(run: Run, spec: Spec, start: StartingPoint) -> Made | Outcome:
    """A commit to be judged, or what becomes of the story."""
    work = Work.begun(run, spec, start)
    asked: VerdictFeedback | None = None
    try:
        for turn in count(1):
            _write(work, turn, asked)
            asked = _check(work, turn) or _asked_by(work, _critique(work, turn))
            if asked is None:
                return commit(work)
    except Ended as ended:
        return ended.outcome
    raise AssertionError("the loop has no other end")


def _write(work: Work, turn: int, asked: VerdictFeedback | None) -> None:
    shape = HandoffSection(Priority.PLAN, f"The format of {_graph(work)}", SAMPLE, quoted=True)
    made = work.send(
        WRITE_PLAN, str(turn), feedback=asked, more=(shape,),
        leaves=lambda done: carry(work.run, done.commit, done.base),
    )  # fmt: skip
    work.goes_on_with(made)


def _check(work: Work, turn: int) -> VerdictFeedback | None:
    """Its faults go back to the planner, or end the run where its budget is used."""
    found = work.run.local(CHECK_PLAN, lambda: _checked(work), key=str(turn)).faults
    if not found:
        return None
    more = [f"and {len(found) - MOST_TOLD} more"] if len(found) > MOST_TOLD else []
    told = "The task graph can't be worked off:\n" + "\n".join(f"- {each}" for each in [*found[:MOST_TOLD], *more])
    feedback = VerdictFeedback(message=clean(told, 8000), gate="tasks check")
    if work.is_spent("plan"):
        raise Ended(Rejected(Verdict.PLAN_FAULTY, feedback), "the task graph has faults")
    return feedback


def _checked(work: Work) -> PlanChecked:
    name = _graph(work)
    read, base = work.run.tools.mirror.read, Sha(str(work.at.base))
    raw = read(Sha(str(work.at.start or base)), name)
    return PlanChecked(faults=[clean(each, 600) for each in graph_faults(raw, name, read(base, name))])


def _graph(work: Work) -> str:
    return work.config.tasks.graph


def _critique(work: Work, turn: int) -> Critique:
    done = work.send(
        CRITIQUE_PLAN, str(turn), failed=goes_on,
        leaves=lambda reviewed: work.run.leave(CRITIQUE_FILE, clean(review(reviewed.word), 400_000)),
    )  # fmt: skip
    if done.word.status is ReviewStatus.BLOCKED:
        raise Ended(could_not_review(work.run, CRITIQUE_PLAN.role, done.word), "the plan-critic could not review it")
    return done.word


def _asked_by(work: Work, critique: Critique) -> VerdictFeedback | None:
    """None: the critic asks for no more, or nobody pays for more. What is open then is on record."""
    if not critique.asks_for_more or work.is_spent("plan", critique):
        return None
    return VerdictFeedback(message="\n".join(f"- {concern.told}" for concern in critique.concerns))
