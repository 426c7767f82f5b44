"""A story's way through the merge queue: on top of those ahead, judged there, and first in line in the end.

`domain/merge_queue.turn` says what is next; here it is done. The queue's own rows are the memory: whoever is killed in
here finds its place again, and every step is keyed by the commit that it is about.
"""

import time
from dataclasses import replace
from datetime import timedelta
from typing import TypeGuard

from damascus.domain import merge_queue as rules
from damascus.domain.errors import Stopping
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha, short
from damascus.domain.merge_queue import Entry, Move
from damascus.domain.outcome import NeedsPerson, Outcome, Rejected, Wait
from damascus.domain.ports import CiRun
from damascus.domain.spec import Spec
from damascus.domain.verdict import Milestone, Phase, Verdict
from damascus.engine.phases.candidate import Fresh, Rebase, conflict, prove, rebased
from damascus.engine.phases.ci import ci_jobs, project_jobs, wanted_jobs
from damascus.engine.phases.implement import Made
from damascus.engine.run import Run
from damascus.store import merge_queue
from damascus.store.merge_queue import Line

LOOK = 0.25
PATIENCE = 10.0
AHEAD_LOOK = timedelta(seconds=1)
PLACE_LOOK = timedelta(minutes=1)
"""Who has no place is woken for one that becomes free. If the one that was woken never takes it (it conflicts, it is
cancelled), nobody tells the next: it looks by itself."""
NOWHERE = Sha("0" * 40)


def in_line(run: Run, spec: Spec, made: Made, *, to_land: bool) -> Fresh | Outcome:
    """The candidate, green on top of all who are ahead; with `to_land` not before it is the first."""
    queue = (run.item.repo_id, run.tools.target)
    until = time.monotonic() + PATIENCE
    while True:
        heard = run.tools.bell.rings()
        line = merge_queue.look(run.tools.db, *queue)
        mine = line.mine(run.item.id)
        placed = _at_hand(run, mine)
        turn = rules.turn(placed, line.ahead(run.item.id), run.tools.forge.landed, run.tools.forge.main_tip)
        if turn.move == Move.STACK:
            refused = _stack(run, made, turn.ahead, line)
            if refused is not None:
                return refused
            continue
        assert mine is not None
        if turn.move == Move.LAND or (mine.state == "green" and not to_land):
            return Fresh(mine.commit, mine.base, str(run.item.pr_url))
        if turn.move == Move.WAIT:
            if not _soon(run, heard, until):
                return waits(run, line)
            continue
        tested = _test(run, spec, made, mine)
        if isinstance(tested, Fresh):
            if not to_land:
                return tested
            _keep_green(run, mine, tested)
        elif _says_red(tested) and turn.move != Move.LEAVE:
            _mark_red(run, mine)
        else:
            return blamed(run, spec, mine, tested)


def _at_hand(run: Run, mine: Entry | None) -> Entry | None:
    """A place keeps, with a commit built anew, where its commit was only on a host that is gone."""
    return mine if mine is None or run.tools.forge.have(mine.commit) else replace(mine, base=NOWHERE)


def waits(run: Run, line: Line) -> Wait:
    key = f"{run.item.repo_id} {run.tools.target}"
    return Wait("landing", key, message="others are ahead in the queue", version=line.version)


def _soon(run: Run, heard: int, until: float) -> bool:
    """Those ahead are tested at this moment, perhaps by this very process: a short wait is cheaper than a claim."""
    if run.tools.stopping():
        raise Stopping
    if not run.off_slot or time.monotonic() > until:
        return False
    run.tools.bell.wait(heard, LOOK)
    return True


# ── on top of those ahead ─────────────────────────────────────────────────────────────────────────────


def _stack(run: Run, made: Made, ahead: Entry | None, line: Line) -> Outcome | None:
    """Take a place, or keep it with another commit. None: look again."""
    if ahead is not None and not run.tools.forge.have(ahead.commit):  # another host has not pushed it yet
        return replace(waits(run, line), after=AHEAD_LOOK)
    if line.mine(run.item.id) is None and len(line.entries) >= min(line.width, run.tools.window):
        return _for_a_place(run, line)
    onto = ahead.commit if ahead else run.tools.forge.main_tip()
    placed = _as_reviewed(run, onto)
    if placed is None:
        rebase = rebased(run, made, onto, lambda: _starts_over(run, onto))
        if rebase.commit is None:
            return _for_a_place(run, line) if ahead else conflict(rebase, made)
        placed = Entry(run.item.id, onto, Sha(rebase.commit))
    queue, entry = (run.item.repo_id, run.tools.target), placed
    answer = run.write(lambda c: merge_queue.put(c, queue, entry, run.tools.window))
    if answer == "in" and run.tools.forge.runs_ci:
        run.leave_slot()  # tests of the queue are CI: they take no agent's slot
    return _for_a_place(run, line) if answer == "full" else None


def _for_a_place(run: Run, line: Line) -> Wait:
    return replace(waits(run, line), after=PLACE_LOOK)


def _as_reviewed(run: Run, onto: Sha) -> Entry | None:
    """The candidate that was judged, green and reviewed needs nothing more where it sits on what is ahead."""
    item = run.item
    if item.phase != Phase.MERGE or item.base_commit != onto or item.candidate is None:
        return None
    return Entry(item.id, onto, item.candidate, "green")


def _starts_over(run: Run, onto: Sha) -> tuple[tuple[str, dict[str, object]], ...]:
    return run.start_over(f"built anew on {short(onto)}") if run.milestone == Milestone.DONE else ()


# ── judged there ──────────────────────────────────────────────────────────────────────────────────────


def _test(run: Run, spec: Spec, made: Made, mine: Entry) -> Fresh | Outcome:
    tree = run.tools.mirror.tree(mine.commit)
    return prove(run, spec, made, Rebase(commit=mine.commit, tree=tree, onto=mine.base))


def _keep_green(run: Run, mine: Entry, tested: Fresh) -> None:
    """CI that had to be asked with another commit of the same tree was green for that one: that one lands."""
    entry = Entry(mine.item, mine.base, tested.commit, "green")
    run.write(lambda c: merge_queue.put(c, (run.item.repo_id, run.tools.target), entry, run.tools.window))


def _says_red(tested: Outcome) -> TypeGuard[Rejected | NeedsPerson]:
    """A verdict on the commit, be it with a question; anything else is no verdict."""
    return isinstance(tested, Rejected) or (isinstance(tested, NeedsPerson) and tested.verdict is not None)


def _mark_red(run: Run, mine: Entry) -> None:
    run.write(lambda c: merge_queue.mark(c, mine.item, mine.commit, "red"))


def blamed(run: Run, spec: Spec, mine: Entry, tested: Outcome) -> Outcome:
    """Nothing unproven was beneath what is red: main is looked at, then it is sent back. No verdict stays none."""
    red = _red_on_main(run, spec, mine) if _says_red(tested) and tested.verdict == Verdict.CI_FAILED else []
    return _main_is_red(run, mine.base, red) if red else tested


def _red_on_main(run: Run, spec: Spec, mine: Entry) -> list[str]:
    """The jobs that failed, as far as they fail without the story too. A Test Command says nothing about main."""
    here = run.result("ci", CiRun, mine.commit)
    wanted = wanted_jobs(run, mine.base)
    red = {job.name for job in here.judged(wanted) if job.state == "failure"} if here else set()
    ran, there = ci_jobs(run, spec, mine.commit, mine.base), project_jobs(run, mine.base)
    same = {name: job for name, job in there.items() if name in red and ran[name].command == job.command}
    if run.tools.forge.runs_ci and not same:
        return []
    main = run.tools.forge.ci(mine.base, same)
    return [job.name for job in main.jobs if job.name in red and job.state == "failure"]


def _main_is_red(run: Run, main: Sha, jobs: list[str]) -> NeedsPerson:
    named = ", ".join(jobs)
    question = (
        f"{run.tools.target} itself is red at {short(main)} ({named}), so {run.item.story_id} can't be judged; it is "
        f"not blamed. Mend {run.tools.target}, then retry."
    )
    feedback = VerdictFeedback(message=question, gate="ci", failing_tests=jobs)
    return NeedsPerson(None, question, ("retry", "cancel the story"), feedback, event="blocked.main_red")
