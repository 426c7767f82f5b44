"""Land: main moves to exactly the tested commit, by compare and swap, and the pull request is closed truthfully."""

from collections.abc import Callable
from datetime import timedelta
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, Field

from damascus.domain import recovery
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha
from damascus.domain.outcome import NeedsPerson, Wait
from damascus.domain.ports import Blocked, HeadNeeded, Pull, Stale
from damascus.domain.receipt import BuildReceipt
from damascus.domain.verdict import Phase
from damascus.domain.waits import WaitKind
from damascus.engine.queue.places import Tested
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.approval import approval_of, wanted
from damascus.engine.steps.push import drop_queue_branch, drop_story_branch, push_fenced
from damascus.engine.steps.receipt import put_note, receipt_of
from damascus.engine.steps.tell import tell_landed
from damascus.store import merge_queue, people

DIRTY_LOOK = timedelta(seconds=10)


class Landing(BaseModel):
    """How one try to move main ended."""

    how: Literal["landed", "moved", "dirty", "unrepairable"]
    commit: str
    message: str = ""
    paths: list[str] = Field(default_factory=list)
    untold: list[str] = Field(default_factory=list)
    """What the forge did not take of the proof, a sentence each."""


LAND = Step("land", Phase.MERGE, StepKind.EFFECT, Landing, "main moves to exactly the tested commit")


def tries(run: Run) -> int:
    """The try that is under way: each that ended without landing is recorded."""
    ended = 0
    while (found := run.result(LAND, str(ended))) and found.how != "landed":
        ended += 1
    return ended


def begun(run: Run, turn: int) -> Tested | None:
    """A landing that recorded its intent may have moved main: exactly that one is repeated, whatever the queue says."""
    intent = run.intent(LAND, str(turn))
    return Tested(Sha(intent.input["new"]), Sha(intent.input["old"]), str(run.item.pr_url)) if intent else None


def land(run: Run, tested: Tested, turn: int) -> Landing:
    receipt = cache(lambda: receipt_of(run, tested.commit))

    def do(given: dict[str, Any]) -> Landing:
        landing = _move_main(run, Sha(given["old"]), Sha(given["new"]), receipt)
        if landing.how == "landed":
            put_note(run, tested.commit, receipt(), given.get("approval"))
        return landing

    return run.effect(
        LAND,
        do,
        key=str(turn),
        intent=lambda: {
            "old": tested.onto,
            "new": tested.commit,
            "pull": run.item.pr_url,
            **_word(run, tested, receipt()),
        },
        with_done=lambda c, landing: merge_queue.landed(c, run.item.id) if landing.how == "landed" else None,
    )


def _word(run: Run, tested: Tested, receipt: BuildReceipt | None) -> dict[str, Any]:
    """Whose word it lands by, kept with the landing."""
    asked = wanted(run, tested.onto) or bool(receipt and receipt.unproved)
    found = approval_of(run, tested.onto, tested.commit) if asked else None
    return {"approval": found.model_dump() | {"commit": tested.commit}} if found else {}


def _move_main(run: Run, old: Sha, new: Sha, receipt: Callable[[], BuildReceipt | None]) -> Landing:
    """Fast-forward main from `old` to `new`, or find it there already; then the pull is merged truthfully."""
    forge = run.tools.forge
    pull = forge.find_pull(run.item.branch)
    try:
        run.assert_held()
        _land_or_merge(run, old, new, pull)
    except Stale:
        if not forge.landed(new):
            return Landing(how="moved", commit=new)
    except Blocked as err:
        how: Literal["dirty", "unrepairable"] = "unrepairable" if err.needs_person else "dirty"
        return Landing(how=how, commit=new, message=str(err), paths=err.paths)
    untold = tell_landed(run, pull, new, receipt()) if pull is not None else []
    if pull is not None:
        forge.close_merged(pull, new)
    if not forge.runs_ci:
        drop_queue_branch(run.tools, run.item.uuid)
        if run.tools.read_config(new).forge.delete_branches:
            drop_story_branch(run)
    return Landing(how="landed", commit=new, untold=untold)


def _land_or_merge(run: Run, old: Sha, new: Sha, pull: Pull | None) -> None:
    """A protected main is moved by the forge's own merge, for which the pull gets the commit that was tested."""
    try:
        run.tools.forge.land(old, new, pull)
    except HeadNeeded:
        push_fenced(run, new, run.item.branch)
        run.tools.forge.land(old, new, run.tools.forge.find_pull(run.item.branch))


# ── not landed ────────────────────────────────────────────────────────────────────────────────────────


def wait_for_clean_path(run: Run, landing: Landing) -> Wait:
    """A person's unsaved work is never overwritten. Its place in the queue is free meanwhile: others land. The inbox
    names the file, once."""
    told = f"{run.item.story_id} can't land: {landing.message}"
    known = people.landing_question(run.tools.db, run.item.id)
    if known is not None and known != told:
        people.close_landing_questions(run.tools.db, run.item.project_id, run.item.id, "another file is in the way")
    asked = "" if known == told else told
    options = (recovery.LAND_NOW, recovery.CANCEL)
    return Wait(
        WaitKind.DIRTY, ", ".join(landing.paths)[:500], DIRTY_LOOK, landing.message, question=asked, options=options
    )


def ask_about(landing: Landing) -> NeedsPerson:
    feedback = VerdictFeedback(message=landing.message, files_changed=landing.paths)
    return NeedsPerson(None, landing.message, ("retry", "cancel the story"), feedback)


def close_question(run: Run) -> None:
    """What was in the way of a landing is no longer."""
    people.close_landing_questions(run.tools.db, run.item.project_id, run.item.id, "it is out of the way")
