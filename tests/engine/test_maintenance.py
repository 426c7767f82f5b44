"""Housekeeping: done is looked at again, workspaces go only as snapshots, disk and logs stay bounded."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.errors import TransientError
from damascus.domain.ids import Sha, StoryId
from damascus.engine.guards import disk_guard
from damascus.engine.maintenance.landed import check_landed
from damascus.engine.maintenance.reaper import reap_workspaces
from damascus.engine.steps.push import queue_branch
from damascus.engine.tools import nothing
from damascus.store import people
from tests.engine.elsewhere import Elsewhere, Far, Look
from tests.engine.shell_stories import FILES, Watched, bad, config, good, shell_story
from tests.waiting import eventually
from tests.yard import Yard


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    yard = Yard(tmp_path, database_url, files=FILES, config=config(keep_workspaces_hours=0))
    yard.add(shell_story("one"))
    yard.work(Watched(yard, {"one": [good("one")]}))
    assert yard.item("one")["phase"] == "done"
    return yard


# ── done means on main ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("X4")
def test_done_and_on_main_is_no_news(yard: Yard) -> None:
    yard.commit({"later.txt": "x\n"}, "later")
    assert check_landed(yard.tools()) == [] and yard.questions() == []


@pytest.mark.req("X4")
def test_done_but_not_on_main_is_an_alarm_once(yard: Yard) -> None:
    yard.git("reset", "-q", "--hard", "HEAD~1")
    tools = yard.tools()
    assert check_landed(tools) == ["one"]
    assert check_landed(tools) == []
    assert len(yard.events("one", "story.not_on_main")) == 1
    [question] = yard.questions()
    assert "one is done, but its commit" in question and "is not on main" in question
    [issue] = yard.query("SELECT owner, options FROM human_issues")
    assert issue["owner"] == "you" and issue["options"]
    assert yard.item("one")["phase"] == "done"


@pytest.mark.req("X4", "D11")
def test_an_alarm_tells_of_its_question(yard: Yard) -> None:
    yard.git("reset", "-q", "--hard", "HEAD~1")
    check_landed(yard.tools())
    assert [row["kind"] for row in yard.events("one")][-2:] == ["story.not_on_main", "issue.opened"]


@pytest.mark.req("X4")
def test_a_later_revert_is_reported_as_reverted_once(yard: Yard) -> None:
    yard.git("revert", "--no-edit", "HEAD")
    tools = yard.tools()
    assert check_landed(tools) == [] and check_landed(tools) == []
    [event] = yard.events("one", "story.reverted")
    assert "was reverted" in event["body"]["message"] and yard.questions() == []


@pytest.mark.req("X4")
def test_a_squash_by_a_person_is_found_by_its_patch(yard: Yard) -> None:
    landed = yard.main()
    yard.git("reset", "-q", "--hard", "HEAD~1")
    yard.commit({"between.txt": "x\n"}, "between")
    yard.git("cherry-pick", "--no-commit", landed)
    yard.git("commit", "-qm", "squashed by a person")
    assert check_landed(yard.tools()) == [] and yard.events("one", "story.not_on_main") == []


# ── workspaces ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("X2")
def test_a_workspace_is_removed_only_as_a_snapshot(yard: Yard) -> None:
    tools = yard.tools()
    place = tools.workspaces.path(StoryId("one"))
    (place / "thoughts.txt").write_text("not lost\n")
    (place / "ignored").mkdir()
    (place / "ignored" / "kept.txt").write_text("ignored, not lost\n")

    def refuse(*_: object, **__: object) -> None:
        raise TransientError("the mirror is away")

    broken = replace(tools, snapshots=type("Broken", (), {"save": refuse})())
    with pytest.raises(TransientError):
        reap_workspaces(broken)
    assert (place / "thoughts.txt").exists()

    assert reap_workspaces(tools) == 1 and not place.exists()
    newest = tools.snapshots.chain(StoryId("one"))[0]
    assert newest.step == "reap"
    tools.snapshots.restore(newest.commit, yard.folder / "restored")
    assert (yard.folder / "restored" / "thoughts.txt").read_text() == "not lost\n"
    assert (yard.folder / "restored" / "ignored" / "kept.txt").read_text() == "ignored, not lost\n"
    assert reap_workspaces(tools) == 0


@pytest.mark.req("W15")
def test_the_queues_branch_of_a_cancelled_story_goes_with_its_workspace(tmp_path: Path, database_url: str) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(then=Look({"test": "waiting"})))
    item = yard.go()
    assert item["phase"] == "blocked"
    forge = yard.elsewhere
    tools = replace(yard.tools(), forge=forge)
    branch = queue_branch(tools, item["uuid"])
    forge.move(branch, Sha(item["candidate"]), None)
    people.cancel(yard.db, yard.row.id, "one")
    yard.query("UPDATE work_items SET updated_at = updated_at - interval '73 hours' RETURNING id")

    class Away(Elsewhere):
        def remote_refs(self, *_: object) -> None:
            raise TransientError("the forge is away")

    away = Away()
    away.forge = forge.forge
    assert reap_workspaces(replace(tools, forge=away)) == 0
    assert tools.workspaces.exists(StoryId("one")), "nothing is forgotten while the forge is away"
    assert reap_workspaces(tools) == 1
    assert forge.remote_refs(branch, "refs/x").branch is None
    assert forge.remote_refs(item["branch"], "refs/x").branch is not None, "what was proposed stays"


@pytest.mark.req("X2")
def test_a_blocked_storys_workspace_stays_for_the_person(yard: Yard) -> None:
    yard.add(shell_story("two"), budget=1)
    yard.work(Watched(yard, {"two": [bad("two")]}))
    tools = yard.tools()
    reap_workspaces(tools)
    assert yard.item("two")["phase"] == "blocked" and tools.workspaces.exists(StoryId("two"))


def test_a_workspace_stays_as_long_as_the_project_says(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES)
    yard.add(shell_story("one"))
    yard.work(Watched(yard, {"one": [good("one")]}))
    tools = yard.tools()
    assert reap_workspaces(tools) == 0 and tools.workspaces.exists(StoryId("one"))
    yard.query("UPDATE work_items SET updated_at = updated_at - interval '73 hours' RETURNING id")
    assert reap_workspaces(tools) == 1


def test_left_over_checkouts_are_swept(yard: Yard) -> None:
    """A killed worker's clean checkouts hold nothing of anybody's."""
    import os
    import time

    tools = yard.tools()
    old, young = (yard.project.folder / "checkouts" / name for name in ("old", "young"))
    for folder in (old, young):
        folder.mkdir(parents=True)
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    reap_workspaces(tools)
    assert not old.exists() and young.exists()


# ── disk and logs ─────────────────────────────────────────────────────────────────────────────────────


def test_too_little_disk_pauses_claims_until_there_is_room(tmp_path: Path, database_url: str) -> None:
    yard = Yard(
        tmp_path,
        database_url,
        files=FILES,
        config=config().replace("disk_reserve_mb = 0", "disk_reserve_mb = 999999999"),
    )
    yard.add(shell_story("one"))
    worker = yard.worker(Watched(yard, {"one": [good("one")]}))
    working = threading.Thread(target=worker.run, args=(nothing,))
    working.start()
    try:
        eventually(lambda: worker.paused, what="the guard")
        assert "the reserve is 999999999 MB" in str(worker.paused)
        assert (yard.item("one")["state"], yard.item("one")["claims"]) == ("ready", 0)
        worker.guard = lambda: None
        working.join(30)
        assert yard.item("one")["phase"] == "done"
    finally:
        worker.stop()
        working.join(30)


def test_the_guard_names_place_and_reserve(tmp_path: Path) -> None:
    assert disk_guard(tmp_path, 0) is None
    said = disk_guard(tmp_path, 10**9)
    assert said is not None and str(tmp_path) in said and "free some" in said


@pytest.mark.req("D13")
def test_a_flood_of_output_is_cut_in_logs_and_rows(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES, config=config(log_max_mb=1))
    yard.add(shell_story("one"), budget=1)
    agent = yard.agent(
        """
        for n in range(3):
            sys.stdout.write("x" * 1_000_000 + "\\0")
        pathlib.Path("tests").mkdir(exist_ok=True)
        pathlib.Path("one.sh").write_text("echo bye\\n")
        pathlib.Path("tests/test_one.sh").write_text(
            "# REQ-001\\necho HEAD\\nhead -c 3000000 /dev/zero | tr '\\\\0' y\\necho TAIL\\nexit 1\\n")
        """
    )
    yard.work(agent)
    item = yard.item("one")
    assert item["last_verdict"] == "tests_failed"
    output = item["last_feedback"]["test_output"]
    assert len(output) < 40_000 and output.rstrip().endswith("TAIL")
    sizes = {path.name: path.stat().st_size for path in (yard.project.folder / "runs").rglob("*") if path.is_file()}
    assert sizes["transcript.txt"] <= 1_000_000 and max(sizes.values()) <= 1_000_000, sizes


@pytest.mark.req("X4")
def test_a_story_that_lands_while_we_look_is_no_alarm(yard: Yard) -> None:
    """Main was read before it landed, the queue after: main is looked at once more before anybody is alarmed."""
    tools, before = yard.tools(), yard.git("rev-parse", "HEAD~1")
    tips = [Sha(before)]

    class Forge:
        def __getattr__(self, name: str) -> Any:
            if name == "main_tip":
                return lambda: tips.pop() if tips else tools.forge.main_tip()
            return getattr(tools.forge, name)

    assert check_landed(replace(tools, forge=Forge())) == [] and not tips
    assert yard.questions() == []
