"""CI that is red elsewhere: whose failure, once more on the same commit, flaky or the agent's (W7, T1)."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.ids import Sha
from damascus.engine.ci import red as ci_red
from damascus.engine.phases import build
from damascus.engine.steps.ci import await_ci
from damascus.store import flaky, leases
from damascus.store.stats import stats
from damascus.telling.stats import lines as lines_of_stats
from tests.engine.elsewhere import GREEN, RUNNING, Elsewhere, Far, Look
from tests.engine.test_review_and_ci import once_before

HEAD = "r(version:v1.0.8) received task 1 of job test, be triggered by event: push\n::group::Run sh ./check\n"
EXIT = "\n##[error]Process completed with exit code 1.\nJob failed\n"
SUMMARY = "=== short test summary info ===\nFAILED tests/test_io.py::test_{} - assert 1 == 2"


def red(*tests: str, job: str = "test", **states: str) -> Look:
    printed = "\n".join(SUMMARY.format(name) for name in tests[:1])
    printed += "".join(f"\nFAILED tests/test_io.py::test_{name} - assert" for name in tests[1:])
    return Look({job: "failure", **states}, {job: f"{HEAD}{printed or 'it broke'}{EXIT}"})


CANCELLED = Look({"test": "cancelled"})
LOST = Look({"test": "failure"}, {"test": HEAD + "half a line"})


# ── the infrastructure's ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W7", "T1")
@pytest.mark.parametrize("look", [CANCELLED, LOST], ids=["cancelled", "runner lost"])
def test_what_the_infrastructure_broke_is_run_again_and_not_charged(
    tmp_path: Path, database_url: str, look: Look
) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(look, RUNNING, look, GREEN))
    item = yard.go()
    commit = item["merged_commit"]
    assert (item["phase"], item["attempts"]) == ("done", 0)
    assert yard.elsewhere.reruns == [(commit, ["test"])] * 2
    assert [body["why"] for body in yard.told("ci.again")] == ["infrastructure"] * 2
    assert yard.told("test.flaky") == [] and yard.lines("FIXING_CI") == []
    assert len(yard.told("agent.started")) == 1


@pytest.mark.req("W7")
def test_after_three_more_runs_a_person_is_asked(tmp_path: Path, database_url: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(then=CANCELLED))
    item = yard.go()
    assert (item["phase"], item["attempts"], len(yard.elsewhere.reruns)) == ("blocked", 0, 3)
    [question] = yard.questions()
    assert "could not judge the commit, also after 3 more runs (test: it was cancelled)" in question


@pytest.mark.req("W7")
def test_a_forge_that_cannot_repeat_a_run_gets_the_same_tree_as_another_commit(
    tmp_path: Path, database_url: str
) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(CANCELLED, CANCELLED, GREEN, can_rerun=False))
    item = yard.go()
    first, second, third = (Sha(commit) for commit in dict.fromkeys(yard.elsewhere.asked))
    mirror = yard.project.mirror
    assert (item["phase"], item["attempts"], item["merged_commit"]) == ("done", 0, third)
    assert mirror.tree(first) == mirror.tree(second) == mirror.tree(third)
    assert mirror.parent(first) == mirror.parent(second) == mirror.parent(third)
    assert [line for line in mirror.message(third).splitlines() if "Rerun" in line] == ["Damascus-Rerun: 2"]
    assert f"Damascus-Item: {item['uuid']}\n" in mirror.message(third)
    assert [body["commit"] for body in yard.told("build.pushed")] == [first, second, third]
    assert len(yard.told("agent.started")) == 1


@pytest.mark.req("W7")
def test_new_commits_are_counted_like_other_runs(tmp_path: Path, database_url: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(then=CANCELLED, can_rerun=False))
    item = yard.go()
    assert (item["phase"], item["attempts"], len(set(yard.elsewhere.asked))) == ("blocked", 0, 4)
    assert "also after 3 more runs" in yard.questions()[0]


def test_without_a_way_to_push_again_a_person_is_asked(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(*given: Any, push: object) -> object:
        return await_ci(*given)

    monkeypatch.setattr(build, "await_ci", without)
    yard = Far(tmp_path, database_url, Elsewhere(then=CANCELLED, can_rerun=False))
    item = yard.go()
    assert (item["phase"], item["attempts"]) == ("blocked", 0)
    assert "was cut short" in yard.questions()[0]


# ── the agent's ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W7", "W3", "T6")
def test_what_is_red_twice_goes_to_the_agent(tmp_path: Path, database_url: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(red("a", "b"), red("a", "b"), GREEN))
    item = yard.go()
    assert (item["phase"], item["attempts"], len(yard.elsewhere.reruns)) == ("done", 1, 1)
    [rejected] = yard.told("attempt.rejected")
    assert rejected["verdict"] == "ci_failed"
    told = "2 tests failed: tests/test_io.py::test_a, tests/test_io.py::test_b"
    assert yard.lines("FIXING_CI") == [f"FIXING_CI: test - {told}"]
    (_, _, _), (brief, prompt, _) = yard.agent_seen.given
    assert brief.feedback is not None and brief.feedback.failing_tests == [
        "tests/test_io.py::test_a",
        "tests/test_io.py::test_b",
    ]
    assert (
        "── job test [tests]: 2 tests failed" in prompt and "assert 1 == 2" in prompt and "received task" not in prompt
    )
    assert "The work was pushed and CI has judged that commit" in prompt
    assert "received task" in Path(str(brief.feedback.log)).read_text()
    first, second = dict.fromkeys(yard.elsewhere.asked)
    assert second == item["merged_commit"] != first


@pytest.mark.req("W7")
def test_a_forge_that_cannot_repeat_leaves_no_doubt(tmp_path: Path, database_url: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(red("a"), GREEN, can_rerun=False))
    item = yard.go()
    assert (item["phase"], item["attempts"], yard.elsewhere.reruns) == ("done", 1, [])
    assert len(yard.told("build.pushed")) == 2


@pytest.mark.req("W7", "W1")
def test_a_required_job_skipped_because_another_failed_is_that_ones_failure(tmp_path: Path, database_url: str) -> None:
    look = red(job="build", test="skipped")
    yard = Far(tmp_path, database_url, Elsewhere(look, look, GREEN))
    item = yard.go()
    assert (item["phase"], item["attempts"]) == ("done", 1)
    assert yard.lines("FIXING_CI") == ["FIXING_CI: build - the step 'sh ./check' exited 1"]


@pytest.mark.req("W7")
def test_five_repairs_and_then_a_person(tmp_path: Path, database_url: str) -> None:
    looks = [look for n in range(9) for look in [red(f"n{n}")] * 2]
    yard = Far(tmp_path, database_url, Elsewhere(*looks), "fixes = 2\n")
    item = yard.go()
    assert (item["phase"], item["attempts"], item["last_verdict"]) == ("blocked", 2, "ci_failed")
    assert len(yard.told("agent.started")) == 3 and len(yard.told("blocked.ci_failed")) == 1
    assert yard.questions()[0].startswith(
        "one is red in CI after 2 repairs: CI run #3 is not green: test (1 test failed"
    )


@pytest.mark.req("W7")
def test_a_new_budget_counts_repairs_anew(tmp_path: Path, database_url: str) -> None:
    from damascus.store import people

    looks = [look for n in range(4) for look in [red(f"n{n}")] * 2]
    yard = Far(tmp_path, database_url, Elsewhere(*looks), "fixes = 1\n")
    assert yard.go()["phase"] == "blocked"
    people.retry(yard.db, yard.row.id, "one")
    assert yard.go()["phase"] == "blocked" and len(yard.told("agent.started")) == 4


def test_a_log_that_is_late_is_waited_for(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ci_red, "LOG_WAIT", 0.3)
    yard = Far(tmp_path, database_url, Elsewhere(Look({"test": "failure"}), GREEN))
    item = yard.go()
    assert (item["phase"], item["attempts"]) == ("done", 0)
    waits = [body["message"] for body in yard.told("item.waits")]
    assert "the log of the CI job test is not there yet" in waits
    assert [body["why"] for body in yard.told("ci.again")] == ["infrastructure"]


# ── flaky ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W7")
def test_what_fails_and_passes_on_one_commit_is_flaky(tmp_path: Path, database_url: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(red("a", "b"), RUNNING, GREEN))
    item = yard.go()
    commit = item["merged_commit"]
    assert (item["phase"], item["attempts"], yard.elsewhere.reruns) == ("done", 0, [(commit, ["test"])])
    assert [body["why"] for body in yard.told("ci.again")] == ["doubt"]
    names = ["tests/test_io.py::test_a", "tests/test_io.py::test_b"]
    assert [(body["test"], body["job"], body["commit"]) for body in yard.told("test.flaky")] == [
        (name, "test", commit) for name in names
    ]
    rows = yard.query("SELECT test, job, times, last_sha FROM flaky_tests ORDER BY test")
    assert [(row["test"], row["times"], row["last_sha"]) for row in rows] == [(name, 1, commit) for name in names]
    found = stats(yard.db, yard.row)
    assert [row["test"] for row in found["flaky"]] == names
    [shown] = [value for name, value in lines_of_stats(found) if name == "flaky"]
    assert shown == f"{names[0]} (job test, 1 time), {names[1]} (job test, 1 time)"
    [comment] = yard.elsewhere.comments
    assert all(name in comment for name in names) and commit[:7] in comment
    assert yard.lines("FIXING_CI") == [] and len(yard.lines("DONE")) == 1


def test_a_flaky_job_without_names_is_told_and_not_quarantined(tmp_path: Path, database_url: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(red(), GREEN, red(), red(), GREEN))
    assert yard.go()["phase"] == "done"
    [row] = yard.query("SELECT test, job FROM flaky_tests")
    assert (row["test"], row["job"]) == ("", "test") and "the whole job" in yard.elsewhere.comments[0]


def quarantine(yard: Far, *tests: str) -> None:
    for test in tests:
        yard.query(
            "INSERT INTO flaky_tests (project_id, repo_id, job, test, last_sha)"
            " VALUES (%s, %s, 'test', %s, 'x') RETURNING 1",
            yard.row.id, yard.row.repo_id, f"tests/test_io.py::test_{test}",
        )  # fmt: skip


def test_a_flaky_test_is_counted_once_for_each_commit(tmp_path: Path, database_url: str) -> None:
    """However often a transaction is repeated after a lost connection."""
    yard = Far(tmp_path, database_url, Elsewhere())
    [item] = leases.claim(yard.db, yard.row.id, "one:boot:1:2", 1, timedelta(seconds=60))
    found = [flaky.FlakyTest(job="test", test="a")]
    for sha in ("x" * 40, "x" * 40, "y" * 40):
        yard.db.run(lambda c, sha=sha: flaky.record(c, item, found, sha))  # type: ignore[misc]
    assert [(row["test"], row["times"]) for row in flaky.listed(yard.db, yard.row.id, 9)] == [("a", 2)]
    assert flaky.quarantined(yard.db, yard.row.repo_id) == {"a"}


@pytest.mark.req("W7")
def test_quarantined_tests_get_two_more_runs(tmp_path: Path, database_url: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(red("a"), red("a", "b"), red("b"), GREEN))
    quarantine(yard, "a", "b")
    item = yard.go()
    assert (item["phase"], item["attempts"]) == ("done", 0)
    assert [body["why"] for body in yard.told("ci.again")] == ["doubt", "flaky", "flaky"]
    rows = yard.query("SELECT test, times FROM flaky_tests")
    assert [row["times"] for row in rows] == [2, 2], "once for each commit"


@pytest.mark.req("W7")
def test_quarantine_never_turns_red_into_green(tmp_path: Path, database_url: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(*[red("a")] * 4, GREEN))
    quarantine(yard, "a")
    item = yard.go()
    assert (item["phase"], item["attempts"], len(yard.elsewhere.reruns)) == ("done", 1, 3)
    assert [body["verdict"] for body in yard.told("attempt.rejected")] == ["ci_failed"]


def test_a_quarantine_ends_when_a_test_has_not_been_flaky_for_a_month(tmp_path: Path, database_url: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere())
    quarantine(yard, "a", "b")
    yard.query("UPDATE flaky_tests SET last_seen = now() - interval '31 days' WHERE test LIKE '%%_a' RETURNING 1")
    assert flaky.quarantined(yard.db, yard.row.repo_id) == {"tests/test_io.py::test_b"}
    assert len(flaky.listed(yard.db, yard.row.id, 9)) == 2, "what was is still told"


def test_one_test_that_is_not_quarantined_is_enough(tmp_path: Path, database_url: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(red("a", "new"), red("a", "new"), GREEN))
    quarantine(yard, "a")
    item = yard.go()
    assert (item["attempts"], len(yard.elsewhere.reruns)) == (1, 1)


# ── killed, and lost replies ──────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W7", "W16")
@pytest.mark.parametrize("call", ["rerun", "ci_log"])
def test_a_lost_reply_charges_nobody(tmp_path: Path, database_url: str, call: str) -> None:
    forge = Elsewhere(CANCELLED if call == "rerun" else red("a"), GREEN, GREEN)
    forge.trouble_with = {call}
    yard = Far(tmp_path, database_url, forge)
    item = yard.go()
    assert (item["phase"], item["attempts"]) == ("done", 0)
    assert len(yard.told("build.pushed")) == 1 and len(yard.told("ci.again")) == 1


class Gone(BaseException):
    """The worker is killed."""


@pytest.mark.req("W16")
@pytest.mark.parametrize("step", ["ci", "diagnose", "ci_rerun", "flaky", "ci_red"])
def test_a_worker_killed_around_ci_is_replaced_by_what_ci_says(tmp_path: Path, database_url: str, step: str) -> None:
    again = GREEN if step == "flaky" else red("a")
    yard = Far(tmp_path, database_url, Elsewhere(red("a"), again, GREEN))
    with suppress(Gone):
        yard.go(kills(step))
    yard.query("SELECT rescue_item(item_id, fence, 12, 'test') FROM leases")
    item = yard.go()
    assert len(yard.told("run.resumed")) == 1
    assert (item["phase"], item["attempts"]) == ("done", 0 if step == "flaky" else 1)
    assert len(yard.told("ci.again")) == 1
    assert [row["times"] for row in yard.query("SELECT times FROM flaky_tests")] == ([1] if step == "flaky" else [])


def test_what_the_forge_says_right_after_it_was_asked_is_not_believed(tmp_path: Path, database_url: str) -> None:
    """A forge may need a moment to begin what it was asked for; a worker that is killed looks again at once."""
    forge = Elsewhere(red("a"), GREEN)
    forge.lags = True
    yard = Far(tmp_path, database_url, forge, look=2.0)
    with suppress(Gone):
        yard.go(once_before("ci_rerun", die, "after_done"))
    yard.query("SELECT rescue_item(item_id, fence, 12, 'test') FROM leases")
    item = yard.go()
    assert (item["phase"], item["attempts"], len(forge.asked)) == ("done", 0, 3)


def die() -> None:
    raise Gone


def kills(step: str) -> Callable[[str, str], None]:
    """At the first point of the step after which something of it has happened."""
    point = {"ci_rerun": "after_effect", "flaky": "after_effect"}.get(step, "after")
    return once_before(step, die, point)
