"""Landing, closing and CI on a real Gitea, where it does what the other forges don't."""

import json
from pathlib import Path
from typing import cast

import pytest

from damascus.domain.errors import DamascusError
from damascus.domain.failures import CallRetry
from damascus.domain.ids import Sha
from damascus.domain.ports import CiRun, Forge, HeadNeeded, WantedJobs
from damascus.engine.retried_forge import RetriedForge
from damascus.forges.gitea.forge import GiteaForge
from damascus.git.mirror import Mirror
from damascus.trial_forge.server import GiteaServer
from tests.contracts.test_forges import GiteaWorld, workflow
from tests.waiting import eventually


@pytest.fixture
def world(real_gitea: GiteaServer, tmp_path: Path) -> GiteaWorld:
    return GiteaWorld(real_gitea, tmp_path)


def protect(world: GiteaWorld, **how: object) -> None:
    rule = {"rule_name": "main", "enable_push": False, **how}
    world.server.api("POST", f"/repos/{world.planted.full_name}/branch_protections", rule)


# ── a protected main ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D9")
def test_a_main_that_refuses_the_push_is_moved_by_the_guarded_merge(world: GiteaWorld) -> None:
    """Right after the push the merge is answered with "try again later": that is awaited."""
    old, new = world.forge.main_tip(), world.pushed("feat/S-1")
    protect(world)
    pull = world.forge.open_pull("feat/S-1", "t", "b", new)
    world.forge.land(old, new, pull)
    assert world.main() == new and world.forge.landed(new)
    world.forge.land(old, new, pull)
    world.forge.close_merged(pull, new)
    found = world.forge.find_pull("feat/S-1")
    assert found is not None and (found.state, found.merged_commit) == ("merged", new)


@pytest.mark.req("D9")
def test_a_protected_main_takes_a_commit_only_as_the_head_of_its_pull(world: GiteaWorld) -> None:
    old, head = world.forge.main_tip(), world.pushed("feat/S-1")
    protect(world)
    pull = world.forge.open_pull("feat/S-1", "t", "b", head)
    tested = world.commit({"story.py": "x = 1\n", "ahead.py": "1\n"})
    for offered in (pull, None):
        with pytest.raises(HeadNeeded, match="the pull's head"):
            world.forge.land(old, tested, offered)
    assert world.main() == old


@pytest.mark.req("D9")
def test_a_repository_without_fast_forward_merges_is_named(world: GiteaWorld) -> None:
    old, new = world.forge.main_tip(), world.pushed("feat/S-1")
    world.server.set_repository(world.planted.name, allow_fast_forward_only_merge=False, has_pull_requests=True)
    protect(world)
    pull = world.forge.open_pull("feat/S-1", "t", "b", new)
    with pytest.raises(DamascusError, match="fast-forward"):
        world.forge.land(old, new, pull)
    assert world.main() == old


@pytest.mark.req("D9")
def test_a_protected_story_branch_is_said_by_name(world: GiteaWorld) -> None:
    world.server.api(
        "POST",
        f"/repos/{world.planted.full_name}/branch_protections",
        {"rule_name": "feat/**", "enable_push": False},
    )
    with pytest.raises(DamascusError, match=r"refs/heads/feat/S-1.*branch protection"):
        world.pushed("feat/S-1")


# ── closing ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D9", "D20")
def test_where_manual_merges_are_forbidden_the_pull_is_closed_with_a_word(world: GiteaWorld) -> None:
    world.server.set_repository(world.planted.name, allow_manual_merge=False, has_pull_requests=True)
    old, new = world.forge.main_tip(), world.pushed("feat/S-1")
    pull = world.forge.open_pull("feat/S-1", "t", "b", new)
    world.forge.land(old, new)
    for _ in range(2):
        world.forge.close_merged(pull, new)
    found = world.forge.find_pull("feat/S-1")
    assert found is not None and found.state == "closed"
    assert [new in comment for comment in found.comments] == [True]


@pytest.mark.req("D9")
def test_a_pull_that_a_person_closed_is_found_and_a_new_one_is_opened(world: GiteaWorld) -> None:
    """`GET /pulls/{base}/{head}` may answer with any of them."""
    head = world.pushed("feat/S-1")
    first = world.forge.open_pull("feat/S-1", "t", "b", head)
    cast(GiteaForge, world.bare)._pulls.close(first.number)
    found = world.forge.find_pull("feat/S-1")
    assert found is not None and (found.number, found.state) == (first.number, "closed")
    second = world.forge.open_pull("feat/S-1", "t", "b", head)
    assert second.number > first.number and second.state == "open"
    assert world.forge.find_pull("feat/S-1") == second


@pytest.mark.req("D20")
def test_hosts_that_open_the_same_pull_end_with_one(world: GiteaWorld, tmp_path: Path) -> None:
    """They share no lock: each has a mirror of its own."""
    from concurrent.futures import ThreadPoolExecutor

    head = world.pushed("feat/S-1")
    hosts = [world._forge(Mirror.open(tmp_path / f"host-{n}.git", world.planted.url)) for n in range(3)]

    def open_it(forge: Forge) -> int:
        return RetriedForge(forge, CallRetry(5, 0.1, 1.0)).open_pull("feat/S-1", "t", "b", head).number

    with ThreadPoolExecutor(3) as pool:
        numbers = set(pool.map(open_it, hosts))
    still_open = world.server.api("GET", f"/repos/{world.planted.full_name}/pulls?state=open").json()
    assert numbers == {row["number"] for row in still_open} and len(numbers) == 1


# ── CI ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W1")
def test_a_job_of_push_and_pull_is_one_job_and_the_worst_counts(world: GiteaWorld) -> None:
    jobs = {"test": "test '${{ github.event_name }}' = push", "lint": "true"}
    files = {".gitea/workflows/ci.yml": workflow(jobs, on=["push", "pull_request"])}
    head = world.pushed("feat/S-1", files)
    world.forge.open_pull("feat/S-1", "t", "b", head)

    def both() -> CiRun | None:
        run = world.forge.ci(head, {})
        return run if run.finished and "," in run.run_id else None

    run = eventually(both, 60, "the runs of push and pull")
    assert run is not None
    assert {job.name: job.state for job in run.jobs} == {"test": "failure", "lint": "success"}


@pytest.mark.req("W2")
def test_a_job_skipped_on_the_branch_counts_by_its_run_on_main(world: GiteaWorld) -> None:
    """The commit is the same, because main is fast-forwarded to it."""
    told = (
        '{"on": "push", "jobs": {"mirror": {"if": "${{ github.ref == \'refs/heads/main\' }}", '
        '"runs-on": "ubuntu-latest", "steps": [{"run": "true"}]}}}'
    )
    old, head = world.forge.main_tip(), world.pushed("feat/S-1", {".gitea/workflows/ci.yml": told})
    assert [job.state for job in world.finished_ci(head).jobs] == ["skipped"]
    world.forge.land(old, head)
    eventually(lambda: world.forge.ci(head, {}).green(WantedJobs(("mirror",))), 60, "the mirror job on main")


def alone(jobs: dict[str, str]) -> dict[str, str]:
    """A workflow of which one run at most goes on."""
    one = {"group": "one", "cancel-in-progress": True}
    return {".gitea/workflows/ci.yml": json.dumps({**json.loads(workflow(jobs)), "concurrency": one})}


@pytest.mark.req("W1", "W7")
def test_a_run_that_a_later_push_ended_is_cancelled_and_not_red(world: GiteaWorld) -> None:
    """Gitea posts it as a failure of that commit."""
    first = world.pushed("feat/S-1", alone({"test": "while ! test -e stop; do sleep 0.1; done"}))
    eventually(lambda: [job.state for job in world.forge.ci(first, {}).jobs] == ["running"], 60, "the first run")
    world.pushed("feat/S-1", alone({"test": "true"}))
    assert [job.state for job in world.finished_ci(first).jobs] == ["cancelled"]
    posted = world.server.api("GET", f"/repos/{world.planted.full_name}/commits/{first}/status").json()
    assert posted["state"] == "failure", "Gitea says what it means by now: simplify"


@pytest.mark.req("W7")
def test_a_red_job_is_asked_for_once_more_on_the_same_commit(world: GiteaWorld, tmp_path: Path) -> None:
    tries = Path(f"/tmp/{world.planted.name}")
    head = world.pushed_with_ci("feat/S-1", {}, {"test": f"mkdir {tries} && exit 1; rmdir {tries}", "lint": "true"})
    red = world.finished_ci(head)
    assert {job.name: job.state for job in red.jobs} == {"test": "failure", "lint": "success"}
    assert world.forge.rerun(red, ["test"])
    green = eventually(lambda: world.forge.ci(head, {}).green(WantedJobs(("test", "lint"))), 60, "the second run")
    assert green and not world.forge.rerun(red, ["no such job"])


@pytest.mark.req("W1")
def test_a_status_of_another_system_is_a_job_by_its_whole_context(world: GiteaWorld) -> None:
    head = world.pushed("feat/S-1")
    path = f"/repos/{world.planted.full_name}/statuses/{head}"
    for context, state in (("ci/other/test", "pending"), ("coverage", "success"), ("ci/other/test", "failure")):
        world.server.api("POST", path, {"context": context, "state": state, "description": "Has been cancelled"})
    states = {job.name: job.state for job in world.forge.ci(Sha(head), {}).jobs}
    assert states == {"ci/other/test": "failure", "coverage": "success"}
