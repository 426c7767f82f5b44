"""The mirror job on the landed commit of main: success, or nothing is done (W1, W2, W4)."""

import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.ids import Sha
from damascus.domain.outcome import NeedsPerson, Wait
from damascus.domain.ports import Stale
from damascus.engine import lifecycle
from damascus.engine.run import Run
from damascus.engine.steps.mirror import await_mirror
from damascus.store import leases
from damascus.toolset import make_tools
from tests.engine.elsewhere import GREEN, Elsewhere, Far, Look
from tests.engine.test_ci_red import EXIT, HEAD

MIRROR = 'mirror_job = "radicle"\n'
SKIPPED = Look({"test": "success", "radicle": "skipped"})
DONE = Look({"test": "success", "radicle": "success"})


class Landed(Exception):
    """The story is on main; what follows is the test's."""


class Shore:
    """A story that has just landed, and the claim that landed it."""

    def __init__(self, folder: Path, database_url: str, more: str = MIRROR) -> None:
        self.forge = Elsewhere(then=GREEN)
        self.yard = Far(folder, database_url, self.forge, more)
        self.tools = make_tools(self.yard.app, self.yard.project, self.yard.agent_seen, lambda: False, self._boundary)
        self.forge.forge = self.tools.forge
        self.tools = replace(self.tools, forge=self.forge)
        [item] = leases.claim(self.yard.db, self.yard.row.id, "one:boot:1:2", 1, timedelta(seconds=60))
        self.run = Run(item, self.tools)
        with pytest.raises(Landed):
            while True:
                following = lifecycle.settle(self.run, lifecycle.SCRIPTS[self.run.item.phase](self.run))
                assert following is not None
                self.run = Run(following, self.tools, entries={})
        self.merged = Sha(self.yard.main())
        self.forge.asked.clear()

    def _boundary(self, step: str, point: str) -> None:
        if (step, point) == ("land", "after_done"):
            raise Landed

    def look(self, *looks: Look) -> Any:
        """One look after the other until something else than a wait comes out of it; the time is the database's."""
        self.forge.looks = list(looks)
        self.forge.then = looks[-1]
        until = time.monotonic() + 20
        while True:
            found = await_mirror(self.run, self.merged)
            if not isinstance(found, Wait) or len(looks) == 1 or time.monotonic() > until:
                return found

    def restarted(self) -> "Shore":
        """Another claim, from the journal."""
        self.run._commit(lambda c: None)
        self.run = Run(self.run.item, self.tools)
        return self

    def told(self) -> list[str]:
        self.run._commit(lambda c: None)
        return self.yard.lines("DONE")


@pytest.fixture
def shore(tmp_path: Path, database_url: str) -> Shore:
    return Shore(tmp_path, database_url)


@pytest.mark.req("W1", "W4")
def test_done_carries_the_mirrors_state(shore: Shore) -> None:
    assert "mirror: radicle awaited on main" in shore.told()[0]
    assert shore.look(DONE) == "radicle success"
    assert shore.told()[1].endswith("all green (test success), mirror: radicle success")
    [told] = shore.yard.told("ci.mirrored")
    assert (told["commit"], told["state"]) == (shore.merged, "radicle success")
    assert shore.forge.asked == [shore.merged]


@pytest.mark.req("W1")
def test_without_a_mirror_job_nothing_is_asked(tmp_path: Path, database_url: str) -> None:
    shore = Shore(tmp_path, database_url, "")
    assert shore.look(DONE) == "not configured" and shore.forge.asked == []
    assert "mirror: not configured" in shore.told()[0]


@pytest.mark.req("W1", "W2")
@pytest.mark.parametrize("state", ["running", "waiting", None])
def test_what_is_not_a_success_yet_is_waited_for(shore: Shore, state: str | None) -> None:
    states = {"test": "success", "radicle": state} if state else {"test": "running"}
    waits = shore.look(Look(states))  # type: ignore[arg-type]
    assert isinstance(waits, Wait) and (waits.kind, waits.key) == ("mirror", shore.merged)
    assert waits.after == timedelta(seconds=0.05) and len(shore.told()) == 1
    assert shore.restarted().look(DONE) == "radicle success"


@pytest.mark.req("W2")
@pytest.mark.parametrize(
    ("look", "told"),
    [
        (Look({"test": "success", "radicle": "failure"}, {"radicle": f"{HEAD}no{EXIT}"}),  "ended as failure: the"),
        (Look({"test": "success", "radicle": "cancelled"}), "ended as cancelled: it was cancelled"),
        (Look({"test": "failure", "radicle": "skipped"}, {"test": f"{HEAD}x{EXIT}"}), "main is red at"),
        (Look({"test": "success"}), "There is no job radicle in CI of"),
        (Look({"test": "success", "radicle": "waiting"}), "No runner takes the job radicle of"),
        (Look({"test": "success", "radicle": "running"}), "has not ended for 2 s"),
    ],
)  # fmt: skip
def test_a_person_is_asked_about_a_mirror_that_failed(shore: Shore, look: Look, told: str) -> None:
    asked = shore.look(look, look)
    assert isinstance(asked, NeedsPerson) and told in asked.question and asked.verdict is None
    assert shore.yard.main() == shore.merged, "nothing was pushed"


@pytest.mark.req("W6")
def test_a_provisional_success_proves_nothing(shore: Shore) -> None:
    assert isinstance(shore.look(Look(DONE.states, provisional=True)), Wait)


@pytest.mark.req("W2")
def test_the_skipped_job_of_the_branchs_run_is_not_the_last_word(shore: Shore) -> None:
    """The same SHA was tested on its branch; main's own run begins a moment after the push."""
    assert shore.look(SKIPPED, SKIPPED, DONE) == "radicle success"
    assert shore.yard.main() == shore.merged


@pytest.mark.req("W2")
def test_a_skipped_mirror_job_gets_one_push_event(shore: Shore) -> None:
    before = shore.yard.git("rev-parse", "main^{tree}")
    waits = None
    while not isinstance(waits, Wait) or waits.key == shore.merged:
        waits = shore.look(SKIPPED)
    tip = shore.yard.main()
    assert waits.key == tip != shore.merged
    assert shore.yard.git("rev-parse", "main^{tree}") == before and shore.yard.git("rev-parse", "main^") == shore.merged
    assert f"Damascus-Mirror: {shore.merged}" in shore.yard.git("log", "-1", "--format=%B", "main")
    shore.restarted().forge.asked.clear()
    assert shore.look(SKIPPED, DONE) == "radicle success"
    assert shore.forge.asked == [shore.merged, tip]
    assert shore.yard.main() == tip


@pytest.mark.req("W2")
def test_skipped_again_is_a_persons_affair(shore: Shore) -> None:
    asked = shore.look(SKIPPED, SKIPPED)
    assert isinstance(asked, NeedsPerson) and "was skipped again, after an empty commit was pushed" in asked.question
    assert shore.yard.git("rev-list", "--count", f"{shore.merged}..main") == "1"


@pytest.mark.req("W2")
def test_a_retrigger_that_was_cut_short_is_found(shore: Shore) -> None:
    """Killed after the push and before it was recorded: the next claim pushes nothing more."""

    class Gone(Exception):
        pass

    def boundary(step: str, point: str) -> None:
        if (step, point) == ("mirror_retrigger", "after_effect"):
            raise Gone

    shore.run.tools = replace(shore.tools, boundary=boundary)
    with pytest.raises(Gone):
        shore.look(SKIPPED, SKIPPED)
    tip = shore.yard.main()
    shore.restarted()
    asked = shore.look(SKIPPED, SKIPPED)
    assert isinstance(asked, NeedsPerson) and shore.yard.main() == tip != shore.merged


@pytest.mark.req("W2")
def test_main_that_moved_meanwhile_is_an_event_of_its_own(shore: Shore, monkeypatch: pytest.MonkeyPatch) -> None:
    def moved(old: Sha, new: Sha, pull: object = None) -> None:
        if shore.yard.main() == shore.merged:
            shore.yard.commit({"hand.txt": "by hand\n"}, "by hand")
        raise Stale

    shore.forge.land = moved  # type: ignore[attr-defined]
    waits = None
    while not isinstance(waits, Wait) or waits.key == shore.merged:
        waits = shore.look(SKIPPED)
    assert waits.key == shore.yard.main()
    assert shore.restarted().look(SKIPPED, DONE) == "radicle success"


@pytest.mark.req("W2")
def test_a_later_commit_that_contains_ours_carries_it(shore: Shore) -> None:
    """Its own run was cancelled by the next push: that one's mirror job mirrors both."""
    tip = shore.yard.commit({"hand.txt": "by hand\n"}, "by hand")
    cancelled = Look({"test": "cancelled", "radicle": "cancelled"})
    assert shore.look(cancelled, DONE) == "radicle success"
    assert shore.forge.asked == [shore.merged, tip]


@pytest.mark.req("W1", "W2", "W4")
def test_a_landed_story_is_done_only_when_its_mirror_job_succeeded(tmp_path: Path, database_url: str) -> None:
    running = Look({"test": "success", "radicle": "running"})
    yard = Far(tmp_path, database_url, Elsewhere(GREEN, SKIPPED, running, DONE), MIRROR)
    seen: list[tuple[str, str, str]] = []

    def boundary(step: str, point: str) -> None:
        if (step, point) == ("settle", "after"):
            row = yard.item("one")
            seen.append((row["phase"], row["state"], str(row["wait_kind"])))

    item = yard.go(boundary)
    assert item["phase"] == "done" and item["merged_commit"] == yard.main()
    assert ("merge", "waiting", "mirror") in seen
    assert yard.lines("DONE")[-1].endswith("mirror: radicle success")
