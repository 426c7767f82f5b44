"""The traps of Gitea's and Forgejo's CI API, version by version, as their sources and clients show them."""

from collections.abc import Iterator
from typing import Any

import pytest

from damascus.domain.ids import Sha
from damascus.domain.ports import CiJob, CiRun, WantedJobs
from damascus.forges.gitea.ci import Features, GiteaCi
from tests.forges.scripted_gitea import PATH, Reply, ScriptedGitea, scripted

SHA = Sha("01cd873a7da9ea32d12d70eb2092841f883940e6")
OTHER = Sha("24158c7b1f8b86062ca74c289ccf18a58a719bc8")
GITEA_123, GITEA_124, GITEA_125, GITEA_126 = "1.23.8", "1.24.7", "1.25.5", "1.26.4"
FORGEJO_12, FORGEJO_15, FORGEJO_16 = "12.0.1+gitea-1.22.0", "15.0.3+gitea-1.22.0", "16.0.0+gitea-1.22.0"
BY_STATUS = (GITEA_123, GITEA_124, FORGEJO_12, FORGEJO_15)
BY_RUNS = (GITEA_125, GITEA_126, FORGEJO_16)


@pytest.fixture(params=[GITEA_126])
def forge(request: pytest.FixtureRequest) -> Iterator[ScriptedGitea]:
    with scripted(request.param) as server:
        nothing(server)
        yield server


def nothing(server: ScriptedGitea) -> None:
    """A commit without a status: `pending`, or in older versions no state and no list at all."""
    server.on("GET", f"/commits/{SHA}/status", {"state": "pending", "sha": "", "total_count": 0, "statuses": None})
    server.on("GET", "/actions/runs", {"workflow_runs": [], "total_count": 0})


def look(server: ScriptedGitea) -> CiRun:
    return GiteaCi(server.api, PATH).ci(SHA)


def states(run: CiRun) -> dict[str, str]:
    return {job.name: job.state for job in run.jobs}


def status(context: str, state: str, description: str, run: int | None = 7, sha: str = SHA) -> dict[str, Any]:
    target = f"/o/r/actions/runs/{run}/jobs/0" if run else "https://ci.example/1"
    return {
        "context": context, "status": state, "description": description, "target_url": target,
        "url": f"https://forge.example/api/v1/repos/o/r/statuses/{sha}",
    }  # fmt: skip


def statuses(server: ScriptedGitea, *rows: dict[str, Any], state: str = "pending") -> None:
    told = {"state": state, "sha": SHA, "total_count": len(rows), "statuses": list(rows)}
    server.on("GET", f"/commits/{SHA}/status", told)


def runs(server: ScriptedGitea, *rows: dict[str, Any]) -> None:
    server.on("GET", "/actions/runs", {"workflow_runs": list(rows), "total_count": len(rows)})


def run(number: int, event: str = "push", ref: str = "refs/heads/feat/a", **more: Any) -> dict[str, Any]:
    """As Gitea tells it: `id` and `run_number` are two spaces."""
    told = {"id": number + 100, "run_number": number, "event": event, "head_sha": SHA, "path": f"ci.yml@{ref}"}
    return {**told, "status": "completed", "conclusion": "success", **more}


def jobs(server: ScriptedGitea, run_id: int, *rows: tuple[str, str, str]) -> None:
    told = [
        {"id": run_id * 10 + n, "name": name, "status": state, "conclusion": conclusion, "head_sha": SHA}
        for n, (name, state, conclusion) in enumerate(rows)
    ]
    server.on("GET", f"/actions/runs/{run_id}/jobs", {"jobs": told, "total_count": len(told)})


# ── by full SHA ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W1", "W6")
@pytest.mark.parametrize("text", ["", SHA[:12], SHA + "0", "main", SHA.upper()])
def test_nothing_is_asked_without_a_full_sha(forge: ScriptedGitea, text: str) -> None:
    """An empty filter is no filter: it answers with everybody's runs."""
    ci = GiteaCi(forge.api, PATH)
    for asking in (ci.ci, ci.run_id, lambda sha: ci.rerun(sha, ["test"])):
        with pytest.raises(ValueError, match="full commit id"):
            asking(Sha(text))
    assert forge.asked == []


@pytest.mark.req("W1", "W6")
def test_rows_of_another_commit_are_dropped(forge: ScriptedGitea) -> None:
    runs(forge, run(3, head_sha=OTHER), run(4), run(5, head_sha=""))
    for number, conclusion in ((103, "failure"), (104, "success"), (105, "failure")):
        jobs(forge, number, ("test", "completed", conclusion))
    statuses(forge, status("coverage", "failure", "", None, OTHER))
    found = look(forge)
    assert states(found) == {"test": "success"} and found.run_id == "4"
    assert forge.calls("GET", "/actions/runs")[0].query["head_sha"] == SHA


@pytest.mark.req("W6")
@pytest.mark.parametrize("forge", [FORGEJO_12, FORGEJO_15, FORGEJO_16], indirect=True)
def test_forgejo_names_the_commit_otherwise_and_has_two_numbers(forge: ScriptedGitea) -> None:
    rows = [
        {"id": 11130, "index_in_repo": 6881, "commit_sha": SHA, "status": "success", "workflow_id": "ci.yml"},
        {"id": 11131, "index_in_repo": 6882, "commit_sha": OTHER, "status": "failure", "workflow_id": "ci.yml"},
    ]
    runs(forge, *rows)
    statuses(forge, status("CI / test (push)", "success", "Successful in 3s"), state="success")
    told = {"id": 5, "name": "test", "status": "success"}
    forge.on("GET", "/actions/runs/11130/jobs", {"jobs": [told], "total_count": 1})
    forge.on("GET", "/actions/runs/6881/jobs", {"jobs": [{**told, "status": "failure"}], "total_count": 1})
    assert GiteaCi(forge.api, PATH).run_id(SHA) == "6881"
    assert states(look(forge)) == {"test": "success"}
    assert all(asked.query["page"] for asked in forge.calls("GET", "/actions/runs")), "else the limit is ignored"


# ── what the statuses say ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W1")
@pytest.mark.parametrize("forge", [*BY_STATUS, *BY_RUNS], indirect=True)
def test_pending_without_a_status_is_nothing_that_has_begun(forge: ScriptedGitea) -> None:
    found = look(forge)
    assert found.jobs == [] and found.run_id == "" and not found.finished and not found.green(WantedJobs(("test",)))


@pytest.mark.req("W1")
@pytest.mark.parametrize("forge", BY_STATUS, indirect=True)
def test_without_the_runs_api_the_statuses_tell(forge: ScriptedGitea) -> None:
    statuses(
        forge,
        status("CI / test (push)", "success", "Successful in 3s"),
        status("/ the lint (push)", "failure", "Failing after 1s"),
        status("/ m (1) (push)", "skipped", "Has been skipped"),
        status("ci/other/test", "warning", "", None),
        state="failure",
    )
    found = look(forge)
    assert states(found) == {
        "test": "success",
        "the lint": "failure",
        "m (1)": "skipped",
        "ci/other/test": "failure",
    }
    others = frozenset({"the lint", "m (1)", "ci/other/test"})
    assert found.run_id == "7" and found.finished and found.green(WantedJobs(("test",), others))
    assert not found.green(WantedJobs(("test",), others - {"m (1)"}))  # skipped is no success


@pytest.mark.req("W1")
@pytest.mark.parametrize("forge", BY_STATUS, indirect=True)
def test_a_red_status_beside_a_pending_one_is_not_the_end(forge: ScriptedGitea) -> None:
    """The combined state is `failure` already."""
    red = status("/ test (pull_request)", "failure", "Failing after 1s")
    statuses(forge, red, status("/ test (push)", "pending", "Has started running", 8), state="failure")
    assert states(look(forge)) == {"test": "running"} and not look(forge).finished
    statuses(forge, red, status("/ test (push)", "success", "Successful in 3s", 8), state="failure")
    assert states(look(forge)) == {"test": "failure"} and look(forge).finished and look(forge).run_id == "7,8"


@pytest.mark.req("W7")
@pytest.mark.parametrize("forge", BY_STATUS, indirect=True)
def test_a_cancelled_job_posts_a_failure(forge: ScriptedGitea) -> None:
    statuses(forge, status("/ test (push)", "failure", "Has been cancelled"), state="failure")
    assert states(look(forge)) == {"test": "cancelled"} and not look(forge).green(WantedJobs(("test",)))


@pytest.mark.req("W1")
@pytest.mark.parametrize("forge", BY_STATUS, indirect=True)
def test_a_status_that_nobody_knows_is_no_success(forge: ScriptedGitea) -> None:
    statuses(forge, status("/ test (push)", "splendid", ""))
    assert states(look(forge)) == {"test": "failure"}


@pytest.mark.req("W1")
@pytest.mark.parametrize("forge", BY_STATUS, indirect=True)
def test_more_statuses_than_a_page(forge: ScriptedGitea) -> None:
    """The body counts the page, the header counts them all; an administrator may have made pages smaller."""
    rows = [status(f"/ job {n} (push)", "success", "") for n in range(45)]

    def page(asked: Any) -> Reply:
        first = 20 * (int(asked.query["page"]) - 1)
        told = rows[first : first + 20]
        return Reply(body={"sha": SHA, "total_count": len(told), "statuses": told}, headers={"X-Total-Count": "45"})

    forge.on("GET", f"/commits/{SHA}/status", page)
    assert len(look(forge).jobs) == 45


@pytest.mark.req("W1")
def test_a_commit_that_the_forge_does_not_have(forge: ScriptedGitea) -> None:
    forge.on("GET", f"/commits/{SHA}/status", Reply(404, {"errors": ["object does not exist"], "message": "not found"}))
    with pytest.raises(LookupError):
        look(forge)
    assert GiteaCi(forge.api, PATH).run_id(SHA) == ""


# ── runs and jobs ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W1", "W7")
@pytest.mark.parametrize("forge", BY_RUNS, indirect=True)
@pytest.mark.parametrize(
    ("one", "other", "worst"),
    [
        (("completed", "success"), ("completed", "failure"), "failure"),
        (("completed", "failure"), ("in_progress", ""), "running"),
        (("completed", "failure"), ("queued", ""), "waiting"),
        (("waiting", ""), ("completed", "success"), "waiting"),
        (("completed", "cancelled"), ("completed", "success"), "cancelled"),
        (("completed", "skipped"), ("completed", "success"), "success"),
        (("completed", "skipped"), ("completed", "skipped"), "skipped"),
        (("completed", "neutral"), ("completed", "success"), "failure"),
        (("running", ""), ("success", ""), "running"),
        (("blocked", ""), ("success", ""), "waiting"),
        (("failure", ""), ("success", ""), "failure"),
        (("resting", ""), ("success", ""), "waiting"),
    ],
)
def test_one_job_in_two_runs(forge: ScriptedGitea, one: tuple[str, str], other: tuple[str, str], worst: str) -> None:
    runs(forge, run(1), run(2, "pull_request", "refs/pull/1/head"))
    jobs(forge, 101, ("test", *one), ("lint", "completed", "success"))
    jobs(forge, 102, ("test", *other))
    found = look(forge)
    assert states(found) == {"test": worst, "lint": "success"} and found.run_id == "1,2"
    assert found.finished == (worst not in ("running", "waiting"))


@pytest.mark.req("W1")
@pytest.mark.parametrize("forge", BY_RUNS, indirect=True)
def test_the_newest_run_of_a_workflow_event_and_branch_counts(forge: ScriptedGitea) -> None:
    """A pull that was closed and opened again has two; the first may have been cancelled by the second."""
    runs(forge, run(3), run(2), run(1, ref="refs/heads/main"))
    for number, conclusion in ((103, "success"), (102, "cancelled"), (101, "success")):
        jobs(forge, number, ("test", "completed", conclusion))
    assert look(forge).green(WantedJobs(("test",))) and look(forge).run_id == "1,3"


@pytest.mark.req("W1")
@pytest.mark.parametrize("forge", BY_RUNS, indirect=True)
def test_statuses_of_actions_are_not_counted_beside_their_jobs_but_others_are(forge: ScriptedGitea) -> None:
    runs(forge, run(1))
    jobs(forge, 101, ("test", "completed", "success"))
    statuses(
        forge,
        status("/ test (push)", "failure", "Failing after 1s", 101),
        status("ci/other", "pending", "waits", None),
    )
    assert states(look(forge)) == {"test": "success", "ci/other": "waiting"} and not look(forge).finished


@pytest.mark.req("W1")
def test_a_version_that_lacks_what_it_should_have_is_read_by_its_statuses() -> None:
    with scripted("development") as forge:
        statuses(forge, status("/ test (push)", "success", "Successful in 3s"))
        assert look(forge).green(WantedJobs(("test",)))


# ── logs, re-runs, versions ───────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W5")
@pytest.mark.parametrize("forge", [GITEA_126, FORGEJO_16], indirect=True)
def test_a_log_that_is_not_there(forge: ScriptedGitea) -> None:
    ci, job = GiteaCi(forge.api, PATH), CiJob(name="test", state="failure", id="101/7")
    forge.on("GET", "/actions/jobs/7/logs", Reply(404, {"message": "job not started"}), Reply(raw=b"bad\n"))
    assert (ci.log(job), ci.log(job), ci.log(CiJob(name="test", state="failure"))) == ("", "bad\n", "")


@pytest.mark.req("W5", "W7")
@pytest.mark.parametrize("forge", [GITEA_123, FORGEJO_12, FORGEJO_15], indirect=True)
def test_what_a_version_does_not_have_is_not_asked_for(forge: ScriptedGitea) -> None:
    ci = GiteaCi(forge.api, PATH)
    assert ci.log(CiJob(name="test", state="failure", id="101/7")) == "" and not ci.rerun(SHA, ["test"])
    assert [asked.path for asked in forge.asked] == ["/version"]


@pytest.mark.req("W7")
def test_only_what_is_not_green_and_at_rest_is_run_again(forge: ScriptedGitea) -> None:
    runs(forge, run(1), run(2, "pull_request", "refs/pull/1/head"))
    jobs(forge, 101, ("test", "completed", "failure"), ("lint", "completed", "failure"))
    jobs(forge, 102, ("test", "completed", "success"))
    forge.on("POST", "/actions/runs/101/rerun-failed-jobs", Reply(201, {}))
    assert GiteaCi(forge.api, PATH).rerun(SHA, ["test", "lint"]), "once for both: the forge refuses a second request"
    jobs(forge, 101, ("test", "queued", ""), ("lint", "queued", ""))
    assert GiteaCi(forge.api, PATH).rerun(SHA, ["test"]), "a first try whose answer was lost is found"
    assert len([asked for asked in forge.asked if asked.method == "POST"]) == 1


@pytest.mark.req("D9")
@pytest.mark.parametrize(
    ("version", "has"),
    [
        ("1.23.8", ""),
        ("1.24.7", "logs"),
        ("1.25.5", "runs jobs logs"),
        ("1.26.4", "runs jobs logs rerun"),
        ("1.27.0+dev-12-gabcdef", "runs jobs logs rerun"),
        ("development", "runs jobs logs rerun"),
        ("11.0.3+gitea-1.22.0", ""),
        ("12.0.1+gitea-1.22.0", "runs"),
        ("15.0.3+gitea-1.22.0", "runs"),
        ("16.0.0-dev-3+gitea-1.22.0", "runs jobs logs"),
    ],
)
def test_what_each_version_has(version: str, has: str) -> None:
    found = Features.of(version)
    assert " ".join(name for name in ("runs", "jobs", "logs", "rerun") if getattr(found, name)) == has
