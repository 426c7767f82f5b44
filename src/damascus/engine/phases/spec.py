"""Spec: a rough story becomes a spec with scope, TDD plan and Test Command, or a question for a person (D19)."""

from pydantic import BaseModel

from damascus.domain.errors import Stopping, TransientError, UsageError
from damascus.domain.failures import AGENT_UNAVAILABLE
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha
from damascus.domain.outcome import Advance, NeedsPerson, Outcome
from damascus.domain.ports import Watch
from damascus.domain.spec import Spec, digest, parse_spec
from damascus.domain.verdict import Phase, Verdict
from damascus.engine import briefs
from damascus.engine.phases.attempt import end_leftovers, passed_on
from damascus.engine.run import Run
from damascus.store.queueing import spans

SPEC_LIMIT = 1_000_000


class Refined(BaseModel):
    """What the refiner left as `spec.md` in its artifacts folder, and what it asks."""

    text: str | None = None
    questions: list[str] = []


def spec(run: Run) -> Outcome:
    rough = parse_spec(run.item.spec, run.item.spec_path, rough=True)
    missing = rough.missing()
    if not missing:
        return _accept(run, rough, run.item.spec)
    if run.tools.agent is None or not run.tools.refiner:
        return _ask(run, Verdict.SPEC_AMBIGUOUS, [f"What is its {what}?" for what in missing])

    refined = run.effect("refine", Refined, lambda _: _refine(run, rough), intent=lambda: {"role": "spec-refiner"})
    if refined.text is None:
        questions = refined.questions or [f"What is its {what}? The refiner left none." for what in missing]
        return _ask(run, Verdict.SPEC_AMBIGUOUS, questions)
    try:
        whole = parse_spec(refined.text.encode(), "the refined spec")
    except UsageError as err:
        return _ask(run, Verdict.SPEC_WRONG, [str(err)])
    if whole.story != rough.story:
        return _ask(run, Verdict.SPEC_WRONG, [f"The refined spec describes {whole.story}, not {rough.story}."])
    return _accept(run, whole, refined.text.encode())


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
    options = ("edit the spec and add it again", "cancel the story")
    return NeedsPerson(verdict, text, options, VerdictFeedback(message=text))


def _refine(run: Run, rough: Spec) -> Refined:
    """The refiner reads a workspace at main's tip and writes `spec.md` into its artifacts folder."""
    tools, story = run.tools, run.item.story_id
    agent = tools.agent
    assert agent is not None
    end_leftovers(run)
    base = tools.forge.main_tip()
    if tools.workspaces.exists(story):
        tools.snapshots.save(
            tools.workspaces.path(story), story, run_no=run.item.run_no, step="refine", fence=run.item.fence, base=base
        )
        run.assert_held()  # as in attempt.fresh_workspace
        tools.workspaces.remove(story)
    workspace = tools.workspaces.create(story, base)
    run.folder.mkdir(parents=True, exist_ok=True)
    (run.folder / "spec.md").unlink(missing_ok=True)
    given = briefs.brief(run, rough, "spec-refiner", base)
    done = agent.run(given, workspace.path, _watch(run, briefs.refiner_prompt(given), base))
    if done.stopped:
        raise Stopping
    if done.exit_code == AGENT_UNAVAILABLE:
        raise TransientError("the agent says that its provider is unavailable (exit 75)")
    if done.exit_code != 0:
        return Refined(questions=[f"The refiner failed (exit {done.exit_code}); see {run.folder / 'transcript.txt'}."])
    return Refined(text=_written(run), questions=done.report.concerns if done.report else [])


def _watch(run: Run, prompt: str, base: Sha) -> Watch:
    config = run.tools.read_config(base)
    return Watch(
        prompt=prompt,
        brief_file=run.folder / "brief.json",
        report_file=run.folder / "report.json",
        transcript=run.folder / "transcript.txt",
        timeout=config.agent.timeout_seconds,
        stopping=run.stopping,
        started=lambda process: run.note("refine", "", {"role": "spec-refiner", "process": dict(process)}),
        env=passed_on(config.workspace.env),
    )


def _written(run: Run) -> str | None:
    path = run.folder / "spec.md"
    if not path.is_file() or path.is_symlink() or path.stat().st_size > SPEC_LIMIT:
        return None
    return path.read_bytes().decode("utf-8", errors="replace").replace("\x00", "")
