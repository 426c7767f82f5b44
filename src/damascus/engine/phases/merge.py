"""Merge: main moves to exactly the commit that was tested, when it is the first in the queue (engine/queue/places.py).

first in the queue → a person's approval, where the project asks for it → land → mirror → done

If main moved meanwhile (a person's commit) or somebody ahead was sent back, the candidate is built and judged anew in
its place: rebase → verify → receipt → push → propose → ci. Where CI runs elsewhere it is pushed to a branch of the
queue (stage), so that the pull request stays as it was reviewed. Nobody is blamed for that.
"""

from itertools import count

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha, short
from damascus.domain.outcome import Landed, NeedsPerson, Outcome, Wait
from damascus.domain.spec import Spec, parse_spec
from damascus.domain.verdict import Kind
from damascus.domain.waits import WaitKind
from damascus.engine.elsewhere import made_here
from damascus.engine.flow.commit import COMMIT
from damascus.engine.judging import objection
from damascus.engine.queue.places import MergeQueue, Tested, ToTest
from damascus.engine.run import Run
from damascus.engine.steps.approval import missing_approval
from damascus.engine.steps.ci import await_ci
from damascus.engine.steps.implement import IMPLEMENT, Made
from damascus.engine.steps.land import LAND, ask_about, begun, close_question, land, tries, wait_for_clean_path
from damascus.engine.steps.mirror import await_mirror
from damascus.engine.steps.propose import propose
from damascus.engine.steps.push import push, stage
from damascus.engine.steps.rebase import rebase
from damascus.engine.steps.receipt import missing_proof, write_receipt
from damascus.engine.steps.records import RECORDS
from damascus.engine.steps.tell import tell_green
from damascus.engine.steps.verify import verify
from damascus.engine.upstreams import pause

STEPS = (LAND,)


def merge(run: Run) -> Outcome:
    before = tries(run)
    outcome = _merged(run)
    held = isinstance(outcome, Wait) and outcome.kind == WaitKind.DIRTY
    if not held and (before or isinstance(outcome, Landed)):
        close_question(run)
    return outcome


def _merged(run: Run) -> Outcome:
    for turn in count(tries(run)):
        tested = begun(run, turn) or _first(run)
        if isinstance(tested, Outcome):
            return tested
        landing = land(run, tested, turn)
        match landing.how:
            case "landed":
                return _landed(run, tested)
            case "dirty":
                return wait_for_clean_path(run, landing)
            case "unrepairable":
                return ask_about(landing)
            case "moved":
                continue
    raise AssertionError("unreachable")


def _first(run: Run) -> Tested | Outcome:
    """Green and the first in the queue, with all that main needs and a person's word; or what is waited for."""
    spec, built = parse_spec(run.item.spec, run.item.spec_path), run.latest(IMPLEMENT, COMMIT, RECORDS)
    assert built is not None
    made, queue = made_here(run, built), MergeQueue(run, to_land=True)
    while True:
        place = queue.take_place(lambda onto: rebase(run, made, onto))
        if isinstance(place, Outcome):
            return place
        if isinstance(place, Tested):
            return pause(run.tools) or missing_approval(run, place.onto, place.commit) or place
        tested = _tested_anew(run, spec, made, place)
        if isinstance(tested, Tested):
            queue.keep_green(place, tested)
        elif (sent_back := queue.after(spec, place, tested)) is not None:
            return sent_back


def _tested_anew(run: Run, spec: Spec, made: Made, place: ToTest) -> Tested | Outcome:
    """verify → receipt → push → propose → ci, in its place; stage instead of push and propose where CI runs
    elsewhere."""
    judged = verify(run, spec, made, place.commit, place.onto)
    here = run.tools.forge.runs_ci
    publish = push if here else stage
    if (objected := objection(run, judged, made.files_changed)) is not None:
        return objected
    receipt = write_receipt(run, spec, made, judged, place.onto)
    if (refused := publish(run, place.commit)) is not None:
        return refused
    url = propose(run, spec, place.commit).url if here else str(run.item.pr_url)
    green = await_ci(run, spec, made, place.commit, place.onto, push=lambda again: publish(run, again))
    if isinstance(green, Outcome):
        return green
    tell_green(run, green)
    tested = Tested(Sha(green.sha), place.onto, url)
    return missing_proof(run, receipt, tested.onto, tested.commit) or tested


def _landed(run: Run, tested: Tested) -> Outcome:
    """Done means on main: asked of git, not remembered (X4)."""
    if not run.tools.forge.landed(tested.commit):
        question = (
            f"{run.item.story_id} was landed as {short(tested.commit)}, but main does not contain it. Look at main."
        )
        return NeedsPerson(None, question, ("retry", "cancel the story"), VerdictFeedback(message=question))
    mirrored = await_mirror(run, tested.commit)
    if isinstance(mirrored, Outcome):
        return mirrored
    run.tools.log.info("landed", story=run.item.story_id, commit=tested.commit, target=run.tools.target)
    proof = f"{tested.commit} is reachable from {run.tools.target}"
    files = () if _is_records(run) else tuple(f.path for f in run.tools.mirror.changed(tested.onto, tested.commit))
    return Landed(tested.commit, proof, tested.facts(), files)


def _is_records(run: Run) -> bool:
    """What Damascus writes itself is owned by nobody: whoever changes it later breaks no promise."""
    return parse_spec(run.item.spec, run.item.spec_path).kind is Kind.RECORDS
