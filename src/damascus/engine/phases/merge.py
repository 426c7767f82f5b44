"""Merge: main moves to exactly the commit that was tested, through a queue of one at a time.

The landing lease is held from the rebase on, so main has usually not moved. If it has (a person's commit, a
restart that gave the lease away) the candidate is brought up to date and judged anew first.
"""

from datetime import timedelta
from itertools import count
from typing import Literal

from pydantic import BaseModel, Field

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha, short
from damascus.domain.outcome import Landed, NeedsPerson, Outcome, Wait
from damascus.domain.ports import Blocked, Stale
from damascus.domain.spec import parse_spec
from damascus.engine.phases.candidate import Fresh, bring_up_to_date, main_tip
from damascus.engine.phases.implement import Made
from damascus.engine.run import Run
from damascus.store.evidence import latest

DIRTY_LOOK = timedelta(seconds=10)


class Landing(BaseModel):
    """How one try to move main ended."""

    how: Literal["landed", "moved", "dirty", "unrepairable"]
    commit: str
    message: str = ""
    paths: list[str] = Field(default_factory=list)


def merge(run: Run) -> Outcome:
    item = run.item
    assert item.candidate is not None and item.base_commit is not None and item.pr_url is not None
    if not run.take_landing():
        return Wait("landing", f"{item.repo_id} {run.tools.target}", message="another story is landing")

    fresh: Fresh | Outcome = Fresh(item.candidate, item.base_commit, item.pr_url)
    for turn in count():
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
                fresh = _again(run, turn)
    raise AssertionError("unreachable")


def _land(run: Run, fresh: Fresh, turn: int) -> Landing:
    return run.effect(
        "land",
        Landing,
        lambda given: _move_main(run, Sha(given["old"]), Sha(given["new"])),
        key=_land_key(run, turn),
        intent=lambda: {"old": fresh.onto, "new": fresh.commit, "pull": run.item.pr_url},
    )


def _land_key(run: Run, turn: int) -> str:
    """A dirty path ends a try without a trace: the next look at it is a new one."""
    tries = 0
    while (found := run.result("land", Landing, f"{turn}.{tries}")) and found.how == "dirty":
        tries += 1
    return f"{turn}.{tries}"


def _move_main(run: Run, old: Sha, new: Sha) -> Landing:
    """Fast-forward main from `old` to `new`, or find it there already; then the pull is merged truthfully."""
    forge = run.tools.forge
    try:
        run.assert_held()
        forge.land(old, new)
    except Stale:
        if not forge.landed(new):
            return Landing(how="moved", commit=new)
    except Blocked as err:
        how: Literal["dirty", "unrepairable"] = "unrepairable" if err.needs_person else "dirty"
        return Landing(how=how, commit=new, message=str(err), paths=err.paths)
    pull = forge.find_pull(run.item.branch)
    if pull is not None:
        forge.close_merged(pull, new)
    return Landing(how="landed", commit=new)


def _landed(run: Run, fresh: Fresh) -> Outcome:
    """Done means on main: asked of git, not remembered (X4)."""
    if not run.tools.forge.landed(fresh.commit):
        question = (
            f"{run.item.story_id} was landed as {short(fresh.commit)}, but main does not contain it. Look at main."
        )
        return NeedsPerson(None, question, ("retry", "cancel the story"), VerdictFeedback(message=question))
    proof = f"{fresh.commit} is reachable from {run.tools.target}"
    files = tuple(file.path for file in run.tools.mirror.changed(fresh.onto, fresh.commit))
    return Landed(fresh.commit, proof, fresh.facts(), files)


def _wait_for_clean_path(run: Run, landing: Landing) -> Wait:
    """A person's unsaved work is never overwritten. The landing lease is free meanwhile: others land."""
    return Wait("dirty", ", ".join(landing.paths)[:500], DIRTY_LOOK, landing.message)


def _ask(run: Run, landing: Landing) -> NeedsPerson:
    feedback = VerdictFeedback(message=landing.message, files_changed=landing.paths)
    return NeedsPerson(None, landing.message, ("retry", "cancel the story"), feedback)


def _again(run: Run, turn: int) -> Fresh | Outcome:
    """Main moved: rebase, judge, push and test anew, on top of what is there now."""
    spec = parse_spec(run.item.spec, run.item.spec_path)
    made = Made.model_validate(latest(run.tools.db, run.item.id, "implement"))
    tip = main_tip(run, f"merge {turn}", lambda: run.start_over("main moved, brought up to date"))
    return bring_up_to_date(run, spec, made, tip)
