"""Merge: main moves to exactly the commit that was tested, when it is the first in the queue (engine/line.py).

If main moved meanwhile (a person's commit) or somebody ahead was sent back, the candidate is built and judged anew in
its place; nobody is blamed for that.
"""

from datetime import timedelta
from itertools import count
from typing import Any, Literal

from pydantic import BaseModel, Field

from damascus.domain import recovery
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha, short
from damascus.domain.outcome import Landed, NeedsPerson, Outcome, Wait
from damascus.domain.ports import Blocked, HeadNeeded, Pull, Stale
from damascus.domain.spec import parse_spec
from damascus.engine.approval import approval_of, missing_approval, wanted
from damascus.engine.elsewhere import made_here
from damascus.engine.line import in_line
from damascus.engine.phases.candidate import Fresh, drop_queue_branch, drop_story_branch, push_fenced, staged
from damascus.engine.phases.implement import Made
from damascus.engine.phases.mirror_job import await_mirror
from damascus.engine.run import Run
from damascus.engine.upstreams import pause
from damascus.store import merge_queue, people
from damascus.store.evidence import latest

DIRTY_LOOK = timedelta(seconds=10)


class Landing(BaseModel):
    """How one try to move main ended."""

    how: Literal["landed", "moved", "dirty", "unrepairable"]
    commit: str
    message: str = ""
    paths: list[str] = Field(default_factory=list)


def merge(run: Run) -> Outcome:
    before = _tries(run)
    outcome = _merged(run)
    held = isinstance(outcome, Wait) and outcome.kind == "dirty"
    if not held and (before or isinstance(outcome, Landed)):
        people.close_landing_questions(run.tools.db, run.item.project_id, run.item.id, "it is out of the way")
    return outcome


def _merged(run: Run) -> Outcome:
    item = run.item
    assert item.candidate is not None and item.base_commit is not None and item.pr_url is not None
    for turn in count(_tries(run)):
        fresh = _begun(run, turn) or _first(run)
        if isinstance(fresh, Outcome):
            return fresh
        landing = _land(run, fresh, turn)
        match landing.how:
            case "landed":
                return _landed(run, fresh)
            case "dirty":
                return _wait_for_clean_path(run, landing)
            case "unrepairable":
                return _ask(run, landing)
            case "moved":
                continue
    raise AssertionError("unreachable")


def _first(run: Run) -> Fresh | Outcome:
    spec = parse_spec(run.item.spec, run.item.spec_path)
    made = Made.model_validate(latest(run.tools.db, run.item.id, "implement"))
    fresh = in_line(run, spec, made_here(run, made), to_land=True)
    if isinstance(fresh, Outcome):
        return fresh
    return pause(run.tools) or missing_approval(run, fresh.onto, fresh.commit) or fresh


def _tries(run: Run) -> int:
    """The try that is under way: each that ended without landing is recorded."""
    tries = 0
    while (found := run.result("land", Landing, str(tries))) and found.how != "landed":
        tries += 1
    return tries


def _begun(run: Run, turn: int) -> Fresh | None:
    """A landing that recorded its intent may have moved main: exactly that one is repeated, whatever the queue says."""
    begun = run.intent("land", str(turn))
    return Fresh(Sha(begun.input["new"]), Sha(begun.input["old"]), str(run.item.pr_url)) if begun else None


def _land(run: Run, fresh: Fresh, turn: int) -> Landing:
    return run.effect(
        "land",
        Landing,
        lambda given: _move_main(run, Sha(given["old"]), Sha(given["new"])),
        key=str(turn),
        intent=lambda: {"old": fresh.onto, "new": fresh.commit, "pull": run.item.pr_url, **_word(run, fresh)},
        with_done=lambda c, landing: merge_queue.landed(c, run.item.id) if landing.how == "landed" else None,
    )


def _word(run: Run, fresh: Fresh) -> dict[str, Any]:
    """Whose word it lands by, kept with the landing."""
    found = approval_of(run, fresh.onto, fresh.commit) if wanted(run, fresh.onto) else None
    return {"approval": found.model_dump() | {"commit": fresh.commit}} if found else {}


def _move_main(run: Run, old: Sha, new: Sha) -> Landing:
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
    if pull is not None:
        forge.close_merged(pull, new)
    if staged(run):
        drop_queue_branch(run.tools, run.item.uuid)
        if run.tools.read_config(new).forge.delete_branches:
            drop_story_branch(run)
    return Landing(how="landed", commit=new)


def _land_or_merge(run: Run, old: Sha, new: Sha, pull: Pull | None) -> None:
    """A protected main is moved by the forge's own merge, for which the pull gets the commit that was tested."""
    try:
        run.tools.forge.land(old, new, pull)
    except HeadNeeded:
        push_fenced(run, new, run.item.branch)
        run.tools.forge.land(old, new, run.tools.forge.find_pull(run.item.branch))


def _landed(run: Run, fresh: Fresh) -> Outcome:
    """Done means on main: asked of git, not remembered (X4)."""
    if not run.tools.forge.landed(fresh.commit):
        question = (
            f"{run.item.story_id} was landed as {short(fresh.commit)}, but main does not contain it. Look at main."
        )
        return NeedsPerson(None, question, ("retry", "cancel the story"), VerdictFeedback(message=question))
    mirrored = await_mirror(run, fresh.commit)
    if isinstance(mirrored, Outcome):
        return mirrored
    proof = f"{fresh.commit} is reachable from {run.tools.target}"
    files = tuple(file.path for file in run.tools.mirror.changed(fresh.onto, fresh.commit))
    return Landed(fresh.commit, proof, fresh.facts(), files)


def _wait_for_clean_path(run: Run, landing: Landing) -> Wait:
    """A person's unsaved work is never overwritten. Its place in the queue is free meanwhile: others land. The inbox
    names the file, once."""
    told = f"{run.item.story_id} can't land: {landing.message}"
    known = people.landing_question(run.tools.db, run.item.id)
    if known is not None and known != told:
        people.close_landing_questions(run.tools.db, run.item.project_id, run.item.id, "another file is in the way")
    asked = "" if known == told else told
    options = (recovery.LAND_NOW, recovery.CANCEL)
    return Wait("dirty", ", ".join(landing.paths)[:500], DIRTY_LOOK, landing.message, question=asked, options=options)


def _ask(run: Run, landing: Landing) -> NeedsPerson:
    feedback = VerdictFeedback(message=landing.message, files_changed=landing.paths)
    return NeedsPerson(None, landing.message, ("retry", "cancel the story"), feedback)
