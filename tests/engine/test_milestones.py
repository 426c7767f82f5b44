"""Milestones: all moves of the table and no other; every report a fixed line with its required fields."""

from dataclasses import replace
from datetime import timedelta
from itertools import product
from pathlib import Path

import pytest

from damascus.domain.approval import Word
from damascus.domain.ids import Sha
from damascus.domain.ports import CiJob, CiRun, WantedJobs
from damascus.domain.verdict import Milestone, Phase
from damascus.engine import milestones
from damascus.engine.milestones import MilestoneRefused, checked
from damascus.engine.run import Run
from damascus.engine.steps.push import push
from damascus.store import leases, people
from tests.engine.shell_stories import FILES, Watched, config, good, shell_story
from tests.yard import Yard

M = Milestone
ALLOWED = {
    (None, M.WORKING),
    (M.WORKING, M.PUSHED_TO_CI),
    (M.PUSHED_TO_CI, M.FIXING_CI),
    (M.FIXING_CI, M.PUSHED_TO_CI),
    (M.PUSHED_TO_CI, M.DONE),
    *((now, to) for now in (None, *M) for to in (M.BLOCKED, M.TERMINATED)),
    *((now, now) for now in M),
}


@pytest.mark.req("W3")
@pytest.mark.parametrize(("now", "to"), list(product((None, *M), M)))
def test_the_moves_of_the_table_and_no_other(now: Milestone | None, to: Milestone) -> None:
    if (now, to) in ALLOWED:
        assert checked(now, to) == to
    else:
        with pytest.raises(MilestoneRefused, match=f"no milestone {to} after"):
            checked(now, to)


def ci(*states: str, run_id: str = "17") -> CiRun:
    jobs = [CiJob(name=f"job{n}", state=state) for n, state in enumerate(states)]  # type: ignore[arg-type]
    return CiRun(sha="a" * 40, run_id=run_id, jobs=jobs)


@pytest.mark.req("W3")
def test_the_published_lines() -> None:
    assert milestones.pushed_line("shop", "0123456789", "17") == "PUSHED_TO_CI: shop commit 0123456 - CI run #17"
    assert milestones.fixing_line("lint", "unused import") == "FIXING_CI: lint - unused import"
    assert milestones.working_line("Say hello") == "WORKING: Say hello"
    assert milestones.blocked_line("budget spent", "you") == "BLOCKED: budget spent - you must act"
    assert milestones.terminated_line("sent back") == "TERMINATED: sent back"


@pytest.mark.req("W4", "W1")
def test_done_proves_itself() -> None:
    line = milestones.done_line("shop", ci("success", "success"), WantedJobs(("job0", "job1")))
    assert line == "DONE: shop CI run #17 all green (job0 success, job1 success), mirror: not configured"


@pytest.mark.req("W4", "W1")
def test_done_names_what_was_optional_apart() -> None:
    line = milestones.done_line("shop", ci("success", "failure"), WantedJobs(("job0",), frozenset({"job1"})))
    assert line == "DONE: shop CI run #17 all green (job0 success; optional: job1 failure), mirror: not configured"


@pytest.mark.req("W4", "W1")
@pytest.mark.parametrize("state", ["failure", "cancelled", "skipped", "running", "waiting"])
def test_done_is_refused_while_a_required_job_is_not_a_success(state: str) -> None:
    with pytest.raises(MilestoneRefused, match="DONE needs"):
        milestones.done_line("shop", ci("success", state), WantedJobs(("job0",)))


@pytest.mark.req("W4", "W1")
def test_done_is_refused_without_run_id_jobs_mirror_or_a_named_job() -> None:
    for bad, required in [(ci("success", run_id=""), ("job0",)), (ci(), ("job0",)), (ci(), ()),
                          (ci("success"), ("job0", "missing"))]:  # fmt: skip
        with pytest.raises(MilestoneRefused):
            milestones.done_line("shop", bad, WantedJobs(required))
    with pytest.raises(MilestoneRefused):
        milestones.done_line("shop", ci("success"), WantedJobs(("job0",)), mirror="")


@pytest.mark.req("W3")
@pytest.mark.parametrize("before", [M.DONE, M.BLOCKED, M.TERMINATED, None])
def test_what_was_built_before_is_pushed_under_a_new_contract(
    tmp_path: Path, database_url: str, before: Milestone | None
) -> None:
    """A candidate that was green on top of one who then could not land goes back to what was built without it."""
    yard = Yard(tmp_path, database_url, files=FILES, config=config('[review]\napproval = "person"\n'))
    yard.add(shell_story("one"))
    yard.work(Watched(yard, {"one": [good("one")]}))
    people.approve(yard.db, yard.row.id, "one", Word("Ada <ada@example.invalid>", "terminal"))
    worker = yard.worker(Watched(yard, {}), slots=1)
    [item] = leases.claim(yard.db, yard.row.id, worker.id, 1, timedelta(hours=1))
    run = Run(replace(item, phase=Phase.MERGE, milestone=before), worker.tools)
    assert item.candidate is not None
    seen = len(yard.events("one", "milestone.changed"))

    assert push(run, Sha(item.candidate)) is None
    told = [row["body"]["milestone"] for row in yard.events("one", "milestone.changed")][seen:]
    assert told == [*(["TERMINATED"] if before else []), "WORKING", "PUSHED_TO_CI"]
    assert run.milestone is M.PUSHED_TO_CI
