"""Prepare: where an attempt starts. Looks at main, decides the base, saves what an earlier attempt left."""

from collections.abc import Callable

from damascus.domain.ids import Sha
from damascus.domain.roles import writes_files
from damascus.domain.verdict import Phase
from damascus.engine.agent_step.workspace import StartingPoint, save, tree_here
from damascus.engine.flow.carried import have_tree
from damascus.engine.run import Run
from damascus.engine.step import Outputs, Step, StepKind
from damascus.engine.steps.rebase import REBASE

PREPARE = Step(
    "prepare", Phase.BUILD, StepKind.LOCAL, StartingPoint,
    "looks at main, decides the base, saves what lies in the workspace",
)  # fmt: skip


def prepare(run: Run) -> StartingPoint:
    """Look at main, decide the base, save what an earlier attempt left in the workspace."""
    return run.local(PREPARE, lambda: _prepare(run))


def _prepare(run: Run) -> StartingPoint:
    tip = run.tools.forge.main_tip()
    run.tools.read_config(tip)  # no attempt begins on rules that can't be read
    start = starting_point(run, tip, run.item.run_no, saved=lambda base: _saved(run, base))
    if run.item.base_commit != tip or start.base != tip:
        run.correct_base(start.base, tip)
    return start


def starting_point(
    run: Run, tip: Sha, run_no: int, saved: Callable[[str], str | None] = lambda _: None
) -> StartingPoint:
    """A further attempt keeps its base until the rebase; after a conflict it starts from the merge on main. A person's
    retry starts from main as it is now with the work so far, a new spec from main alone.

    `saved` keeps what lies in the workspace and returns its tree; who only looks keeps nothing.
    """
    last = run.before(PREPARE, REBASE, run_no=run_no) if run_no > 1 else Outputs({})
    before, feedback = last.of(PREPARE), run.item.last_feedback
    if before is None or feedback is None:
        return StartingPoint(base=tip)
    rebase = last.of(REBASE)
    merged = rebase.conflict_tree if rebase else None
    if feedback.conflict is not None and merged and tree_here(run, merged):
        return StartingPoint(base=feedback.conflict.their_sha, start=merged)
    start = saved(before.base) or _made(run, run_no)
    if run.item.attempts == 0:
        return StartingPoint(base=tip, start=start, was=before.base)
    return StartingPoint(base=before.base, start=start)


def _saved(run: Run, base: str) -> str | None:
    """The tree of what lies in the workspace, if who worked there last may write, and wrote what it may where each of
    several roles has files of its own."""
    last = run.tools.db.one("last_agent", item=run.item.id, run=run.item.run_no)
    tree = save(run, "left", Sha(base), by=last["run_no"] if last else None)
    return None if last and (last["overstepped"] or not writes_files(last["role"])) else tree


def _made(run: Run, run_no: int) -> str | None:
    """What the last author of the last attempt made, or the last candidate, which any host can have."""
    made = run.tools.db.one("last_work", item=run.item.id, run=run_no)
    if made is not None and have_tree(run, made["tree"]):
        return str(made["tree"])
    candidate = run.item.candidate
    return run.tools.mirror.tree(candidate) if candidate and run.tools.forge.have(candidate) else None
