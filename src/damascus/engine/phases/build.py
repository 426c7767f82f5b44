"""Build: a spec becomes a commit on its own branch, tested on top of main, with a pull request and green CI.

prepare → implement → red → rebase → verify → push → propose → ci → review

Where CI runs here, the story takes its place in the merge queue before the rebase: then its tree is tested once, on top
of exactly those that land before it.
"""

from damascus.domain.errors import UsageError
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha
from damascus.domain.merge_queue import Entry
from damascus.domain.outcome import Advance, NeedsPerson, Outcome
from damascus.domain.spec import Spec, parse_spec
from damascus.domain.verdict import Phase, Verdict
from damascus.engine import judging
from damascus.engine.line import blamed, in_line
from damascus.engine.phases.candidate import Fresh, bring_up_to_date, main_tip, rebased
from damascus.engine.phases.implement import Made, implement
from damascus.engine.phases.prepare import prepare
from damascus.engine.phases.red import prove_red
from damascus.engine.run import Run


def build(run: Run) -> Outcome:
    try:
        spec = parse_spec(run.item.spec, run.item.spec_path)
    except UsageError as err:
        return back_to_spec(str(err))
    if run.tools.agent is None:
        return no_agent(run)

    prepared = prepare(run)
    made = implement(run, spec, prepared)
    if isinstance(made, Outcome):
        return made

    red = prove_red(run, spec, made)
    if red.findings:
        return judging.rejected(run, red, made.files_changed)

    here = run.tools.forge.runs_ci
    fresh = in_line(run, spec, made, to_land=False) if here else _on_its_own(run, spec, made)
    if isinstance(fresh, Outcome):
        return fresh
    return Advance(Phase.REVIEW, {**fresh.facts(), "queue_green": fresh.commit})


def _on_its_own(run: Run, spec: Spec, made: Made) -> Fresh | Outcome:
    """On top of main, where CI runs elsewhere. A main that fails by itself is not charged to the story."""
    tip = main_tip(run)
    fresh = bring_up_to_date(run, spec, made, tip)
    if isinstance(fresh, Fresh):
        return fresh
    tested = rebased(run, made, tip).commit
    return blamed(run, spec, Entry(run.item.id, tip, Sha(tested)), fresh) if tested else fresh


def back_to_spec(reason: str) -> Outcome:
    """A spec that can't be read never reaches an agent (D3)."""
    question = f"the frozen spec can't be built: {reason} Add it again with: damascus add SPEC"
    options = ("edit the spec and add it again", "cancel the story")
    return NeedsPerson(Verdict.SPEC_WRONG, question, options, VerdictFeedback(message=reason))


def no_agent(run: Run) -> Outcome:
    question = f"no coding agent is configured, so {run.item.story_id} can't be built. Name one and retry."
    return NeedsPerson(None, question, ("retry", "cancel the story"), VerdictFeedback(message=question))
