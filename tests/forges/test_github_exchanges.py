"""The GitHub adapter against recorded exchanges of GitHub's documented API: what it asks, and what it makes of it."""

import pytest

from damascus.domain.errors import DamascusError, TransientError, UsageError
from damascus.domain.ids import Sha
from damascus.domain.ports import CiJob, CiRun, Pull, WantedJobs
from damascus.forges.address import Address
from damascus.forges.github.api import Forbidden, api_root
from damascus.forges.github.ci import GithubCi
from damascus.forges.github.pulls import GithubPulls
from tests.forges.recorded_github import LOG, TOKEN, Recording, recorded

SHA = Sha("6dcb09b5b57875f334f61aebed695e2e4193db5e")
OTHER = Sha("ec26c3e57ca3a959ca5aad62de7213c562f8c821")
MERGE = Sha("e5bd3914e2e596debea16f433f57875b5b90bcd6")
TITLE, BODY = "Amazing new feature", "Please pull these awesome changes in!"


def pulls(github: Recording) -> GithubPulls:
    def pause(seconds: float) -> None:
        assert seconds <= 4.0

    return GithubPulls(github.api, "main", pause)


def opened(github: Recording, title: str = TITLE) -> Pull:
    return pulls(github).open("feat/S-1", title, BODY, SHA)


# ── pulls ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D9")
@pytest.mark.parametrize("name", ["open_pull", "open_pull_duplicate", "open_pull_updates"])
def test_a_pull_is_opened_once_or_found_or_brought_up_to_date(name: str) -> None:
    with recorded(name) as github:
        pull = opened(github)
    assert (pull.number, pull.url) == (1347, "https://github.com/example/repo/pull/1347")
    assert (pull.head, pull.base, pull.head_sha, pull.title, pull.body) == ("feat/S-1", "main", SHA, TITLE, BODY)
    assert (pull.state, pull.merged_commit) == ("open", None), "an open pull names a merge that was only tried"


@pytest.mark.req("D9")
def test_a_title_can_not_skip_ci() -> None:
    with recorded("open_pull_with_a_skip_mark") as github:
        assert opened(github, "Amazing [skip ci] feature").number == 1347


def test_the_recording_refuses_what_is_not_in_it() -> None:
    with pytest.raises(AssertionError, match="Another title"):
        with recorded("open_pull") as github, pytest.raises(DamascusError, match="418"):
            opened(github, "Another title")


@pytest.mark.req("D20")
def test_a_late_worker_finds_what_its_heir_has_merged() -> None:
    with recorded("open_pull_merged_already") as github:
        assert opened(github).state == "merged"


@pytest.mark.req("D9", "T1")
def test_no_pull_without_its_branch_its_commits_or_its_listing() -> None:
    with recorded("open_pull_not_pushed") as github, pytest.raises(LookupError, match="was not pushed"):
        opened(github)
    with recorded("open_pull_no_commits") as github, pytest.raises(DamascusError, match="No commits between main"):
        opened(github)
    with recorded("open_pull_not_listed_yet") as github, pytest.raises(TransientError, match="does not list yet"):
        opened(github)
    with recorded("no_repository") as github, pytest.raises(DamascusError, match="is not there, or the token may not"):
        opened(github)


@pytest.mark.req("D14")
def test_of_many_pulls_the_open_one_of_exactly_this_branch_is_found() -> None:
    with recorded("find_pull_of_many") as github:
        pull = pulls(github).find("feat/S-1")
    assert pull is not None and (pull.number, pull.comments) == (5, ["proved", "a person's word"])


@pytest.mark.req("X4")
@pytest.mark.parametrize(
    ("name", "state", "commit"),
    [("find_pull_merged", "merged", MERGE), ("find_pull_landed", "merged", SHA), ("find_pull_closed", "closed", None)],
)
def test_merged_is_what_github_says_or_our_own_closing_word(name: str, state: str, commit: str | None) -> None:
    with recorded(name) as github:
        pull = pulls(github).find("feat/S-1")
    assert pull is not None and (pull.state, pull.merged_commit) == (state, commit)


@pytest.mark.req("D20")
@pytest.mark.parametrize("name", ["comment", "comment_on_the_second_page"])
def test_a_comment_is_written_once(name: str) -> None:
    with recorded(name) as github:
        pulls(github).comment(1347, "receipt-1", "proved")


@pytest.mark.req("X4", "D20")
def test_a_pull_is_closed_by_github_or_with_our_word() -> None:
    with recorded("close_marked_by_github") as github:
        pulls(github).close_merged(1347, SHA, on_main=True)
    for name in ("close_with_a_comment", "close_after_a_kill"):
        with recorded(name) as github:
            pulls(github).close_merged(1347, OTHER, on_main=True)


# ── CI ────────────────────────────────────────────────────────────────────────────────────────────────


def ci(github: Recording) -> CiRun:
    return GithubCi(github.api).of(SHA)


def states(run: CiRun) -> dict[str, str]:
    return {job.name: job.state for job in run.jobs}


@pytest.mark.req("W1", "W6")
def test_check_runs_and_statuses_are_both_read() -> None:
    with recorded("ci_green") as github:
        run = ci(github)
    assert (run.sha, run.run_id, run.finished, run.provisional) == (SHA, "29679449", True, False)
    assert states(run) == {"test": "success", "lint": "success", "ci/jenkins": "success"}
    assert run.green(WantedJobs(("test", "lint", "ci/jenkins"))) and not run.green(WantedJobs(("test", "absent")))
    assert [job.id for job in run.jobs] == ["job:399444496", "job:399444497", ""]


@pytest.mark.req("W1")
def test_nothing_is_not_green_and_not_finished() -> None:
    with recorded("ci_nothing_yet") as github:
        run = ci(github)
    assert (run.jobs, run.run_id, run.finished) == ([], "", False)


@pytest.mark.req("W1")
def test_only_success_is_success() -> None:
    with recorded("ci_every_word") as github:
        run = ci(github)
    assert states(run) == {
        "success": "success", "neutral": "skipped", "skipped": "skipped", "cancelled": "cancelled",
        "stale": "cancelled", "timed_out": "failure", "action_required": "failure", "failure": "failure",
        "startup_failure": "failure", "a_word_of_tomorrow": "failure", "queued": "waiting", "in_progress": "running",
        "waiting": "waiting", "requested": "waiting", "pending": "waiting", "status/success": "success",
        "status/failure": "failure", "status/error": "failure", "status/pending": "running",
    }  # fmt: skip


@pytest.mark.req("W6")
def test_what_is_about_another_commit_is_dropped() -> None:
    with recorded("ci_of_another_commit_is_dropped") as github:
        run = ci(github)
    assert (states(run), run.run_id) == ({"lint": "success"}, "2")


@pytest.mark.req("W1")
def test_of_two_jobs_with_one_name_the_worse_speaks() -> None:
    with recorded("ci_two_of_one_name") as github:
        run = ci(github)
    assert states(run) == {"test": "failure", "lint": "waiting", "doc": "success"}
    assert run.run_id == "1,2"


@pytest.mark.req("W1")
def test_jobs_on_the_second_page_count() -> None:
    with recorded("ci_pages") as github:
        assert states(ci(github)) == {"test": "success", "lint": "success"}


@pytest.mark.req("W1")
def test_between_two_jobs_a_run_is_not_finished() -> None:
    """⚑ a job that needs another has no check run before its turn: everything that is listed has passed"""
    with recorded("ci_between_two_jobs") as github:
        run = ci(github)
    assert not run.finished and states(run) == {"build": "success", "workflow CI": "running"}


@pytest.mark.req("W1")
def test_a_workflow_that_never_started_is_seen() -> None:
    with recorded("ci_startup_failure") as github:
        run = ci(github)
    assert states(run) == {"dco": "success", "workflow .github/workflows/ci.yml": "failure"}


@pytest.mark.req("W1", "W7")
def test_other_services_have_a_run_and_what_they_say_is_their_log() -> None:
    with recorded("ci_of_other_services") as github:
        run = ci(github)
        log = GithubCi(github.api).log(run.jobs[0])
    assert run.run_id == "check-suite-77" and run.jobs[0].summary == "failure: Task Summary"
    assert log.endswith("misspelled words on lines 2 and 4.")
    with recorded("ci_statuses_alone") as github:
        run = ci(github)
        assert GithubCi(github.api).log(run.jobs[0]) == ""
    assert run.run_id == f"status-{SHA[:12]}" and states(run) == {"ci/jenkins": "failure"}


@pytest.mark.req("W6")
def test_a_commit_is_known_by_its_full_id_and_must_be_there() -> None:
    with recorded("ci_unknown_commit") as github:
        with pytest.raises(ValueError, match="full commit id"):
            GithubCi(github.api).of(Sha(SHA[:12]))
        with pytest.raises(ValueError, match="full commit id"):
            GithubCi(github.api).of(Sha(""))
        with pytest.raises(LookupError):
            ci(github)


# ── logs and re-runs ──────────────────────────────────────────────────────────────────────────────────

JOB = CiJob(name="test", state="failure", id="job:399444496")


@pytest.mark.req("W7")
def test_a_log_is_read_from_another_host_that_never_sees_the_token() -> None:
    with recorded("job_log") as github:
        assert GithubCi(github.api).log(JOB) == LOG
    [headers] = github.elsewhere
    assert "authorization" not in headers and TOKEN not in str(headers)


@pytest.mark.req("W7")
def test_a_log_that_is_gone_is_empty_and_one_without_tls_is_not_read() -> None:
    with recorded("job_log_gone") as github:
        assert GithubCi(github.api).log(JOB) == ""
    with recorded("job_log_without_tls") as github, pytest.raises(DamascusError, match="no log is read without TLS"):
        GithubCi(github.api).log(JOB)


def rerun(name: str, state: str = "failure", jobs: tuple[str, ...] = ("test",)) -> bool:
    job = JOB.model_copy(update={"state": state})
    status = CiJob(name="ci/jenkins", state="failure")
    with recorded(name) as github:
        return GithubCi(github.api).rerun(CiRun(sha=SHA, run_id="29679449", jobs=[job, status]), jobs)


@pytest.mark.req("W7")
def test_jobs_are_run_again_once_in_the_way_that_fits() -> None:
    assert rerun("rerun_failed")
    assert rerun("rerun_cancelled", "cancelled")
    assert rerun("rerun_passed", "success")
    assert rerun("rerun_runs_already")
    assert rerun("rerun_lost_a_race")


@pytest.mark.req("W7")
def test_what_can_not_be_run_again_is_said() -> None:
    assert not rerun("rerun_too_old")
    assert not rerun("rerun_of_another_commit")
    with recorded("rerun_failed") as github:
        run = CiRun(sha=SHA, run_id="1", jobs=[JOB, CiJob(name="ci/jenkins", state="failure")])
        assert not GithubCi(github.api).rerun(run, ["ci/jenkins"]), "a commit status has nothing to run again"
        assert GithubCi(github.api).rerun(run, ["test"])
    with pytest.raises(Forbidden, match=r"It needs actions=write\. Give the token that right"):
        rerun("rerun_without_right")


# ── limits, rights, trouble ───────────────────────────────────────────────────────────────────────────


def asked(name: str) -> object:
    with recorded(name) as github:
        return github.api.get("/actions/runs/29679449")


@pytest.mark.req("T1")
@pytest.mark.parametrize(
    ("name", "wait"),
    [
        ("limit_primary", 1800.0),
        ("limit_secondary_with_a_time", 37.0),
        ("limit_secondary_without_a_time", 60.0),
        ("limit_429", 60.0),
        ("trouble_502", None),
    ],
)
def test_a_limit_is_transient_and_says_how_long(name: str, wait: float | None) -> None:
    """The primary limit's end is told as a moment of GitHub's clock, and its answer says what time it is there."""
    with pytest.raises(TransientError) as caught:
        asked(name)
    assert caught.value.wait == wait


@pytest.mark.req("T1")
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no_right", r"not accessible by personal access token\. It needs actions=read\. Give the token that right"),
        ("bad_token", r"does not accept the token \(Bad credentials\)\. Make a new one"),
        ("moved", r"redirects to https://api\.github\.com/repositories/1/actions/runs/29679449\. Correct"),
    ],
)
def test_what_a_person_must_do_is_one_sentence(name: str, sentence: str) -> None:
    with pytest.raises(DamascusError, match=sentence) as caught:
        asked(name)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("https://github.com/example/repo", "https://api.github.com/repos/example/repo"),
        ("https://github.com/example/repo.git", "https://api.github.com/repos/example/repo"),
        ("https://ghe.example.com/example/repo/", "https://ghe.example.com/api/v3/repos/example/repo"),
    ],
)
def test_the_api_of_github_and_of_an_enterprise_server(url: str, root: str) -> None:
    assert api_root(Address.parse(url)) == root
    with pytest.raises(UsageError):
        Address.parse("https://somebody:secret@github.com/example/repo")
