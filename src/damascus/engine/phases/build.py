"""Build: a spec becomes a commit on its own branch, tested on top of main, with a pull request and green CI.

prepare → implement → red → a place in the queue → rebase → verify → receipt → push → propose → ci → review

With profile `full` twelve steps stand in the place of `implement` (engine/flow/full.py), for a plan three
(engine/flow/planning.py).

Where CI runs here, the story takes its place in the merge queue before the rebase: then its tree is tested once, on top
of exactly those that land before it. Where CI runs elsewhere it is tested on top of main, and queues only to land.
"""

from damascus.domain.errors import UsageError
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha
from damascus.domain.outcome import Advance, NeedsPerson, Outcome, Rejected
from damascus.domain.spec import Spec, parse_spec
from damascus.domain.verdict import Kind, Phase, Verdict
from damascus.engine.flow.full import full
from damascus.engine.flow.planning import plan
from damascus.engine.halts import missing_secret
from damascus.engine.judging import in_full, objection, rejected
from damascus.engine.queue.places import MainAlone, MergeQueue, Tested, ToTest
from damascus.engine.run import Run
from damascus.engine.steps.ci import CI, await_ci
from damascus.engine.steps.implement import IMPLEMENT, Made, implement
from damascus.engine.steps.prepare import PREPARE, prepare
from damascus.engine.steps.propose import PROPOSE, propose
from damascus.engine.steps.push import PUSH, push
from damascus.engine.steps.rebase import REBASE, rebase
from damascus.engine.steps.receipt import RECEIPT, leave_unfinished, missing_proof, receipt_of, write_receipt
from damascus.engine.steps.records import make_records
from damascus.engine.steps.red import RED, prove_red
from damascus.engine.steps.tell import tell_green
from damascus.engine.steps.verify import VERIFY, verify

STEPS = (PREPARE, IMPLEMENT, RED, REBASE, VERIFY, RECEIPT, PUSH, PROPOSE, CI)


def build(run: Run) -> Outcome:
    try:
        spec = parse_spec(run.item.spec, run.item.spec_path)
    except UsageError as err:
        return _back_to_spec(str(err))
    if spec.kind is Kind.RECORDS:
        return _proposed(run, spec, make_records(run, prepare(run)))
    if run.tools.agent is None:
        return _no_agent(run)
    if spec.contracts and (waits := missing_secret(run, spec)) is not None:
        return waits

    start = prepare(run)
    if spec.kind is Kind.PLAN:
        return _proposed(run, spec, plan(run, spec, start))
    if not in_full(spec, run.tools.read_config(start.base)):
        return _proposed(run, spec, implement(run, spec, start))
    outcome = _proposed(run, spec, full(run, spec, start))
    if isinstance(outcome, Rejected | NeedsPerson):
        leave_unfinished(run, spec, start, outcome)
    return outcome


def _proposed(run: Run, spec: Spec, made: Made | Outcome) -> Outcome:
    if isinstance(made, Outcome):
        return made

    red = prove_red(run, spec, made)
    if red.findings:
        return rejected(run, red, made.files_changed)

    queue = MergeQueue(run) if run.tools.forge.runs_ci else MainAlone(run)
    while True:
        place = queue.take_place(lambda onto: rebase(run, made, onto))
        if isinstance(place, Outcome):
            return place
        if isinstance(place, Tested):
            return _to_review(run, place)
        tested = _tested(run, spec, made, place)
        if isinstance(tested, Tested):
            return _to_review(run, tested)
        sent_back = queue.after(spec, place, tested)
        if sent_back is not None:
            return sent_back


def _tested(run: Run, spec: Spec, made: Made, place: ToTest) -> Tested | Outcome:
    """verify → receipt → push → propose → ci, in its place."""
    judged = verify(run, spec, made, place.commit, place.onto)
    if (objected := objection(run, judged, made.files_changed)) is not None:
        return objected
    write_receipt(run, spec, made, judged, place.onto)
    if (refused := push(run, place.commit)) is not None:
        return refused
    pull = propose(run, spec, place.commit)
    green = await_ci(run, spec, made, place.commit, place.onto, push=lambda again: push(run, again))
    if isinstance(green, Outcome):
        return green
    tell_green(run, green)
    return Tested(Sha(green.sha), place.onto, pull.url)


def _to_review(run: Run, tested: Tested) -> Outcome:
    """Green and proposed; what is not proved needs a person's word first."""
    receipt = receipt_of(run, tested.commit)
    asked = missing_proof(run, receipt, tested.onto, tested.commit) if receipt else None
    return asked or Advance(Phase.REVIEW, {**tested.facts(), "queue_green": tested.commit})


def _back_to_spec(reason: str) -> Outcome:
    """A spec that can't be read never reaches an agent (D3)."""
    question = f"the frozen spec can't be built: {reason} Add it again with: damascus add SPEC"
    options = ("edit the spec and add it again", "cancel the story")
    return NeedsPerson(Verdict.SPEC_WRONG, question, options, VerdictFeedback(message=reason))


def _no_agent(run: Run) -> Outcome:
    question = f"no coding agent is configured, so {run.item.story_id} can't be built. Name one and retry."
    return NeedsPerson(None, question, ("retry", "cancel the story"), VerdictFeedback(message=question))
