"""CI that runs elsewhere and can't be judged yet: how long it is awaited, and what a person is asked (W1, W6)."""

from pathlib import Path

import pytest

from damascus.domain.errors import DamascusError
from damascus.domain.recovery import LOOK_AGAIN
from damascus.store import people
from tests.engine.elsewhere import GREEN, RUNNING, Elsewhere, Far, Look

NOTHING = Look()


@pytest.mark.req("W5", "W6", "W3")
def test_ci_is_awaited_by_its_sha_and_the_run_is_reported(tmp_path: Path, database_url: str) -> None:
    forge = Elsewhere(NOTHING, Look({"test": "waiting"}), RUNNING, GREEN)
    yard = Far(tmp_path, database_url, forge)
    item = yard.go()
    assert (item["phase"], item["attempts"]) == ("done", 0)
    assert set(forge.asked) == {item["merged_commit"]} and len(forge.asked) == 4
    assert yard.lines("PUSHED_TO_CI")[-1].endswith(f"commit {item['merged_commit'][:7]} - CI run #1")
    assert [body["kind"] for body in yard.told("item.waits")] == ["ci", "ci", "ci"]
    assert len(yard.told("agent.started")) == len(yard.told("ci.finished")) == 1


@pytest.mark.req("W1", "W5")
def test_progress_of_a_run_is_on_the_worker_record(tmp_path: Path, database_url: str) -> None:
    forge = Elsewhere(Look({"test": "running", "lint": "success"}), Look({"test": "success", "lint": "success"}))
    yard = Far(tmp_path, database_url, forge)
    seen: list[dict[str, object]] = []

    def boundary(step: str, point: str) -> None:
        if (step, point) == ("settle", "after"):
            seen.extend(yard.query("SELECT milestone, step, progress FROM worker_records"))

    yard.go(boundary)
    assert seen[0]["milestone"] == "PUSHED_TO_CI"
    assert seen[0]["progress"]["jobs_passed"] == 1 and seen[0]["progress"]["total_jobs"] == 2  # type: ignore[index]


@pytest.mark.req("W1")
@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({}, "Check that Actions are enabled"),
        ({"files": {}}, "It has no workflow"),
    ],
)
def test_a_commit_without_a_run_is_asked_about(
    tmp_path: Path, database_url: str, parts: dict[str, object], told: str
) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(then=NOTHING), **parts)
    item = yard.go()
    assert (item["phase"], item["attempts"], item["last_verdict"]) == ("blocked", 0, None)
    [question] = yard.questions()
    assert question.startswith(f"CI has not begun for {item['candidate'][:7]} of one") and told in question
    assert len(set(yard.elsewhere.asked)) == 1 and len(yard.elsewhere.asked) > 2


@pytest.mark.req("W1")
def test_no_message_of_ours_asks_for_no_ci(tmp_path: Path, database_url: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(), title="Faster [skip ci]")
    assert yard.go()["phase"] == "done" and yard.subjects()[0] == "feat: Faster (skip ci)"


@pytest.mark.req("W1")
def test_a_job_that_no_runner_takes_is_asked_about(tmp_path: Path, database_url: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(then=Look({"lint": "success", "test": "waiting"})))
    assert yard.go()["phase"] == "blocked"
    [question] = yard.questions()
    assert question.startswith("No runner takes the job test of CI run #1")


@pytest.mark.req("W1")
def test_a_job_that_runs_and_never_ends_is_asked_about(tmp_path: Path, database_url: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(then=RUNNING))
    item = yard.go()
    assert (item["phase"], item["attempts"]) == ("blocked", 0)
    [question] = yard.questions()
    assert question.startswith("The job test of CI run #1") and "[ci] running_seconds" in question


def test_a_run_whose_jobs_end_one_by_one_is_waited_for(tmp_path: Path, database_url: str) -> None:
    """What counts is that something ends, not how long all takes."""
    names = [f"job{n}" for n in range(8)]
    looks = [
        Look({name: "success" if n < ended else "running" for n, name in enumerate(names)})
        for ended in range(9)
        for _ in range(8)
    ]
    yard = Far(tmp_path, database_url, Elsewhere(*looks, then=looks[-1]), f"required = {names}\n")
    assert (yard.go()["phase"], yard.questions()) == ("done", [])


@pytest.mark.req("W1", "D8")
@pytest.mark.parametrize(
    "before",
    [
        NOTHING,
        RUNNING,
        Look({"test": "waiting"}),
        Look({"lint": "success"}),
        Look({"test": "success"}, provisional=True),
        Look({"test": "cancelled"}),
    ],
)
def test_after_the_trouble_ci_is_looked_at_again_and_no_agent_is_sent(
    tmp_path: Path, database_url: str, before: Look
) -> None:
    """Nobody wants to pay for the agent again because a runner was down."""
    yard = Far(tmp_path, database_url, Elsewhere(then=before))
    blocked = yard.go()
    assert blocked["phase"] == "blocked"
    again = yard.go()
    assert again["phase"] == "blocked", "nothing happens without a person's word"
    yard.elsewhere.then, yard.elsewhere.stays_for = GREEN, ""
    [issue] = yard.query("SELECT id, options FROM human_issues WHERE closed_at IS NULL")
    assert LOOK_AGAIN in issue["options"]
    people.look_again(yard.db, yard.row.id, "one")
    item = yard.go()
    assert (item["phase"], item["attempts"], item["merged_commit"]) == ("done", 0, blocked["candidate"])
    assert len(yard.told("agent.started")) == 1
    assert len(yard.told("story.resumed")) == 1


@pytest.mark.req("W1")
def test_what_is_still_wrong_is_asked_again_after_the_same_patience(tmp_path: Path, database_url: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(then=NOTHING))
    yard.go()
    people.look_again(yard.db, yard.row.id, "one")
    looked = len(yard.elsewhere.asked)
    assert yard.go()["phase"] == "blocked"
    assert len(yard.elsewhere.asked) > looked + 2, "waited for again, not asked at once"
    assert len(yard.told("agent.started")) == 1


def test_a_story_that_is_not_blocked_has_nothing_to_look_at_again(tmp_path: Path, database_url: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere())
    with pytest.raises(DamascusError, match="is not blocked"):
        people.look_again(yard.db, yard.row.id, "one")


def test_a_job_that_waits_for_one_that_runs_is_waited_for(tmp_path: Path, database_url: str) -> None:
    busy = Look({"build": "running", "test": "waiting"})
    looks = [busy] * 12 + [Look({"build": "success", "test": "success"})]
    yard = Far(tmp_path, database_url, Elsewhere(*looks, then=looks[-1]))
    assert (yard.go()["phase"], yard.questions()) == ("done", [])


@pytest.mark.req("W6")
def test_a_provisional_run_is_awaited_and_never_done(tmp_path: Path, database_url: str) -> None:
    guessed = Look({"test": "success"}, provisional=True)
    yard = Far(tmp_path, database_url, Elsewhere(guessed, guessed, GREEN))
    assert yard.go()["phase"] == "done"
    assert len(yard.elsewhere.asked) == 3 and len(yard.lines("DONE")) == 1


@pytest.mark.req("W6")
@pytest.mark.parametrize("state", ["success", "failure"])
def test_a_run_that_stays_provisional_proves_nothing(tmp_path: Path, database_url: str, state: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(then=Look({"test": state}, provisional=True)))
    item = yard.go()
    assert (item["phase"], item["attempts"], yard.lines("DONE")) == ("blocked", 0, [])
    assert "nothing proves that it was for" in yard.questions()[0]


@pytest.mark.req("W1")
@pytest.mark.parametrize(
    ("more", "states", "told"),
    [
        ("", {"lint": "success"}, ("The CI job test is missing", "the default")),
        ("", {"test": "skipped"}, ("The CI job test is skipped", "the default")),
        ('required = ["e2e"]\n', {"test": "success"}, ("The CI job e2e is missing", "[ci] required in damascus.toml")),
    ],
)
def test_a_required_job_that_did_not_run_is_asked_about(
    tmp_path: Path, database_url: str, more: str, states: dict[str, str], told: tuple[str, ...]
) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(then=Look(states)), more)
    item = yard.go()
    assert (item["phase"], item["attempts"], yard.lines("DONE")) == ("blocked", 0, [])
    assert all(word in yard.questions()[0] for word in told)


def test_a_job_that_comes_late_is_waited_for(tmp_path: Path, database_url: str) -> None:
    """The run of a pull request may begin when that of the push has ended."""
    yard = Far(tmp_path, database_url, Elsewhere(Look({"lint": "success"}), GREEN))
    assert (yard.go()["phase"], yard.questions()) == ("done", [])


@pytest.mark.req("W7", "W16")
def test_an_error_of_the_forge_never_triggers_ci(tmp_path: Path, database_url: str) -> None:
    broken = Look(fails=True)
    yard = Far(tmp_path, database_url, Elsewhere(broken, RUNNING, broken, GREEN))
    item = yard.go()
    assert (item["phase"], item["attempts"], yard.elsewhere.reruns) == ("done", 0, [])
    assert len(yard.told("build.pushed")) == 1 and len(yard.told("phase.transient_retry")) == 2


@pytest.mark.req("W16")
def test_the_local_forge_waits_for_nothing(tmp_path: Path, database_url: str) -> None:
    """Where CI runs here and now none of the steps of a forge elsewhere is taken."""
    from tests.engine.shell_stories import FILES, Watched, bad, good, shell_story
    from tests.yard import Yard

    yard = Yard(tmp_path, database_url, files=FILES)
    yard.add(shell_story("one"))
    yard.work(Watched(yard, {"one": [bad("one"), good("one")]}))
    steps = {row["step"] for row in yard.query("SELECT step FROM journal")}
    assert "ci" in steps and not steps & {"ci_since", "ci_begun", "ci_rerun", "ci_anew", "flaky", "diagnose", "mirror"}
    assert not [row for row in yard.events("one", "item.waits") if row["body"]["kind"] == "ci"]
