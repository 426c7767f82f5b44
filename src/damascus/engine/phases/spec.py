"""Spec: a rough story becomes a spec with scope, TDD plan and Test Command, or a question for a person (D19)."""

from pydantic import BaseModel

from damascus.domain import recovery
from damascus.domain.errors import AgentBroken, UsageError
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha
from damascus.domain.outcome import Advance, NeedsPerson, Outcome
from damascus.domain.ports import Usage
from damascus.domain.refined import changed_by_refiner, marked
from damascus.domain.roles import REFINER
from damascus.domain.spec import Spec, digest, parse_spec
from damascus.domain.verdict import Phase, Verdict
from damascus.engine import agent_fault, briefs, endings
from damascus.engine.endings import Ending
from damascus.engine.phases.implement import end_leftovers
from damascus.engine.run import Run
from damascus.engine.sending import purse_for, raise_if_outside, send
from damascus.engine.spending import Purse, Refused
from damascus.engine.writing import pipeline
from damascus.store.queueing import spans

SPEC_LIMIT = 100_000
"""What is longer is no spec that a person reads before they approve it."""


EDIT_OR_CANCEL = ("edit the spec and add it again", "cancel the story")
APPROVED = "approved"


class Approved(BaseModel):
    """A person's word for one refined spec, known by its hash (store/people.py writes it)."""

    spec: str


class Refined(BaseModel):
    """What the refiner left as `spec.md` in its artifacts folder, and what it asks."""

    text: str | None = None
    questions: list[str] = []
    usage: Usage = Usage()
    ending: Ending = Ending()


def spec(run: Run) -> Outcome:
    rough = parse_spec(run.item.spec, run.item.spec_path, rough=True)
    missing = rough.missing()
    if not missing:
        return _accept(run, rough, run.item.spec)
    if run.tools.agent is None or not run.tools.refiner:
        return _ask(run, Verdict.SPEC_AMBIGUOUS, [f"What is its {what}?" for what in missing])

    refined = _refined(run, rough)
    if isinstance(refined, Outcome):
        return refined
    if (asked := endings.question(run, refined.ending, VerdictFeedback())) is not None:
        return asked
    if refined.text is None:
        questions = refined.questions or [f"What is its {what}? The refiner left none." for what in missing]
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
    """By a person, who saw exactly this text; or by nobody, where the project says so: the receipt tells it."""
    if run.result(APPROVED, Approved, digest(raw)) is not None:
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


def _refined(run: Run, rough: Spec) -> Refined | Outcome:
    """The agent step of this phase, paid for and overseen like every other."""
    if (done := run.result("refine", Refined)) is not None:
        return done
    base = run.tools.forge.main_tip()
    purse = purse_for(run, run.tools.read_config(base), "refine", REFINER)
    try:
        agent_fault.refuse(run, purse)
        return run.effect(
            "refine",
            Refined,
            lambda _: _refine(run, rough, base, purse),
            intent=lambda: {"role": REFINER},
            with_intent=purse.reserve,
            with_done=lambda c, refined: purse.settle(c, refined.usage),
        )
    except Refused as refused:
        return refused.outcome
    except AgentBroken as err:
        purse.give_up()
        return agent_fault.stop(run, err, purse.config, REFINER)
    except BaseException:
        purse.give_up()
        raise


def _refine(run: Run, rough: Spec, base: Sha, purse: Purse) -> Refined:
    """The refiner reads a workspace at main's tip and writes `spec.md` into its artifacts folder."""
    tools, story = run.tools, run.item.story_id
    end_leftovers(run)
    if tools.workspaces.exists(story):
        tools.snapshots.save(
            tools.workspaces.path(story), story, run_no=run.item.run_no, step="refine", fence=run.item.fence, base=base
        )
        run.assert_held()  # as in implement.fresh_workspace
        tools.workspaces.remove(story)
    workspace = tools.workspaces.create(story, base)
    run.folder.mkdir(parents=True, exist_ok=True)
    (run.artifacts / "spec.md").unlink(missing_ok=True)
    given = briefs.brief(run, rough, REFINER, base)
    writes = pipeline(run, rough, purse.config, workspace, given)
    try:
        sent = send(run, given, workspace, writes, purse)
    finally:
        writes.finish()
    raise_if_outside(sent)
    done, refined = sent.done, Refined(usage=sent.usage, ending=endings.of(sent, purse))
    if done.exit_code != 0 or sent.ended:
        how = endings.reason(refined.ending) if sent.ended else f"exit {done.exit_code}"
        failed = f"The refiner failed ({how}); see {run.folder / 'transcript.txt'}."
        return refined.model_copy(update={"questions": [failed]})
    return refined.model_copy(
        update={"text": _written(run), "questions": done.report.concerns if done.report else []}
    )  # fmt: skip


def _written(run: Run) -> str | None:
    path = run.artifacts / "spec.md"
    if not path.is_file() or path.is_symlink() or path.stat().st_size > SPEC_LIMIT:
        return None
    return path.read_bytes().decode("utf-8", errors="replace").replace("\x00", "")
