"""Spec: a rough story becomes a spec with scope, TDD plan and Test Command, or a question for a person (D19).

(complete? → build) → refine → a person approves the text → build
"""

from pydantic import BaseModel

from damascus.domain import recovery
from damascus.domain.errors import UsageError
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.outcome import Advance, NeedsPerson, Outcome
from damascus.domain.refined import changed_by_refiner, marked
from damascus.domain.spec import Spec, digest, parse_spec
from damascus.domain.verdict import Phase, Verdict
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.refine import REFINE, questions_of, refine
from damascus.store.queueing import spans
from damascus.tasks.importers.story_specs import questions_in

EDIT_OR_CANCEL = ("edit the spec and add it again", "cancel the story")


class SpecApproval(BaseModel):
    """A person's word for one refined spec, known by its hash (store/people.py writes it)."""

    spec: str


APPROVED = Step(
    "approved", Phase.SPEC, StepKind.PERSON, SpecApproval, "a person's word for a refined spec, under its hash"
)
STEPS = (REFINE,)


def spec(run: Run) -> Outcome:
    rough = parse_spec(run.item.spec, run.item.spec_path, rough=True)
    missing = rough.missing()
    if not missing:
        return _accept(run, rough, run.item.spec)
    if (asked := questions_in(rough)) and not run.item.answers:
        return _ask(run, Verdict.SPEC_AMBIGUOUS, asked)
    if run.tools.agent is None or not run.tools.refiner:
        return _ask(run, Verdict.SPEC_AMBIGUOUS, [f"What is its {what}?" for what in missing])

    refined = refine(run, rough)
    if isinstance(refined, Outcome):
        return refined
    if refined.text is None:
        questions = questions_of(run, refined) or [f"What is its {what}? The refiner left none." for what in missing]
        return _ask(run, Verdict.SPEC_AMBIGUOUS, questions)
    try:
        whole = parse_spec(refined.text.encode(), "the refined spec")
    except UsageError as err:
        return _ask(run, Verdict.SPEC_WRONG, [str(err)])
    if whole.story != rough.story:
        return _ask(run, Verdict.SPEC_WRONG, [f"The refined spec describes {whole.story}, not {rough.story}."])
    raw = refined.text.encode()
    if changed := changed_by_refiner(run.item.spec, raw):
        told = "The refiner may fill what is missing and change nothing that you wrote, but: "
        return _ask(run, Verdict.SPEC_WRONG, [told + "; ".join(changed) + "."])
    return _accept(run, whole, raw) if _approved(run, raw) else _ask_for_approval(run, raw)


def _approved(run: Run, raw: bytes) -> bool:
    """By a person, who saw exactly this text or let a STALE story be derived anew in this run (A3); or by nobody, where
    the project says so: the receipt tells it."""
    if run.result(APPROVED, digest(raw)) is not None:
        return True
    if run.item.change is not None and run.item.change.get("approved_run") == run.item.run_no:
        run.local(APPROVED, lambda: SpecApproval(spec=digest(raw)), key=digest(raw))
        return True
    return run.tools.read_config(run.tools.forge.main_tip()).agent.refiner_approval == "auto"


def _ask_for_approval(run: Run, raw: bytes) -> NeedsPerson:
    told = f"An agent completed the spec of {run.item.story_id}. Shall it be built as it stands here? Added lines: +"
    options = (recovery.USE_SPEC, *EDIT_OR_CANCEL)
    return NeedsPerson(None, f"{told}\n{marked(run.item.spec, raw)}", options, VerdictFeedback(message=told))


def _accept(run: Run, whole: Spec, raw: bytes) -> Advance:
    """The spec is frozen anew, by content hash."""
    assert whole.scope is not None
    facts: dict[str, object] = {
        "spec": raw,
        "spec_hash": digest(raw),
        "file_scope": list(whole.scope.patterns),
        "spans": spans(run.tools.project, whole),
        "rough": False,
    }
    return Advance(Phase.BUILD, facts)


def _ask(run: Run, verdict: Verdict, questions: list[str]) -> NeedsPerson:
    text = f"{run.item.story_id} can't be built yet. " + " ".join(questions)
    return NeedsPerson(verdict, text, EDIT_OR_CANCEL, VerdictFeedback(message=text))
