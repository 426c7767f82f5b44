"""Every job that CI shows for the commit must be a success, named or not; what may be anything is told by name (W1)."""

from pathlib import Path

import pytest

from damascus.store.receipts import evidence
from tests.engine.elsewhere import GREEN, Elsewhere, Far, Look
from tests.engine.shell_stories import FILES, Watched, config, good, shell_story
from tests.yard import Yard

pytestmark = pytest.mark.req("W1")

OPTIONAL = "optional = ['lint']\n"


def unverified(yard: Yard) -> list[str]:
    return [name for name in evidence(yard.db, yard.row, "one")["unverified"] if name.startswith("CI job")]


@pytest.mark.parametrize("required", ["", "required = ['test']\n"])
def test_a_red_job_that_nobody_named_sends_the_story_back(tmp_path: Path, database_url: str, required: str) -> None:
    red = Look({"test": "success", "lint": "failure"}, {"lint": "E501 line too long"})
    yard = Far(tmp_path, database_url, Elsewhere(red, red), required)
    item = yard.go()
    assert (item["phase"], item["attempts"]) == ("done", 1)
    assert "lint" in str(yard.told("attempt.rejected")) and len(yard.elsewhere.reruns) == 1
    assert item["merged_commit"] != yard.elsewhere.asked[0]


@pytest.mark.parametrize("state", ["failure", "cancelled", "skipped", "waiting", "running"])
def test_an_optional_job_holds_nobody_and_is_listed(tmp_path: Path, database_url: str, state: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(then=Look({"test": "success", "lint": state})), OPTIONAL)
    item = yard.go()
    assert (item["phase"], item["attempts"], yard.questions()) == ("done", 0, [])
    assert unverified(yard) == [f"CI job lint: optional, {state}"]
    assert f"test success; optional: lint {state}" in yard.lines("DONE")[0]


def test_an_optional_job_that_is_green_is_nothing_to_tell(tmp_path: Path, database_url: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(then=Look({"test": "success", "lint": "success"})), OPTIONAL)
    assert yard.go()["phase"] == "done" and unverified(yard) == []


def test_a_job_that_appears_while_only_optional_ones_are_at_work_counts(tmp_path: Path, database_url: str) -> None:
    """A forge may show a job only when its turn has come."""
    early = {"test": "success", "lint": "running"}
    late = Look({**early, "deploy": "failure"}, {"deploy": "FAILED tests/test_one.py::test_one"})
    yard = Far(
        tmp_path, database_url, Elsewhere(Look(early), late, late, then=Look({**early, "deploy": "success"})), OPTIONAL
    )
    assert yard.go()["phase"] == "done"
    assert "deploy" in str(yard.told("ci.again"))  # seen, and run once more


def test_a_skipped_job_that_nobody_named_is_asked_about(tmp_path: Path, database_url: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(then=Look({"test": "success", "lint": "skipped"})))
    item = yard.go()
    assert (item["phase"], item["attempts"]) == ("blocked", 0)
    [question] = yard.questions()
    assert "The CI job lint is skipped" in question and "[ci] optional" in question


def test_the_mirror_job_is_skipped_on_a_storys_commit(tmp_path: Path, database_url: str) -> None:
    looks = [Look({"test": "success", "mirror": "skipped"})] * 2
    forge = Elsewhere(*looks, then=Look({"test": "success", "mirror": "success"}))
    yard = Far(tmp_path, database_url, forge, "mirror_job = 'mirror'\n")
    assert (yard.go()["phase"], yard.questions()) == ("done", []) and unverified(yard) == []


def test_red_in_an_optional_job_blames_neither_story_nor_main(tmp_path: Path, database_url: str) -> None:
    red = Look({"test": "failure", "lint": "failure"}, {"test": "FAILED one", "lint": "E501"})
    yard = Far(tmp_path, database_url, Elsewhere(red, red, then=GREEN), OPTIONAL)
    assert yard.go()["phase"] == "done"
    [told] = yard.told("attempt.rejected")
    assert "lint" not in str(told)


@pytest.mark.parametrize(
    ("more", "phase", "listed"),
    [("required = ['test']\n", "blocked", []), (OPTIONAL, "done", ["CI job lint: optional, failure"])],
)
def test_the_same_holds_for_jobs_that_run_here(
    tmp_path: Path, database_url: str, more: str, phase: str, listed: list[str]
) -> None:
    jobs = f"[ci]\n{more}[ci.jobs]\ntest = 'true'\nlint = 'false'\n"
    yard = Yard(tmp_path, database_url, files=FILES, config=config(jobs))
    yard.add(shell_story("one"), budget=1)
    yard.work(Watched(yard, {"one": [good("one")]}))
    assert yard.item("one")["phase"] == phase and unverified(yard) == listed
