"""[review] approval = "person": nothing lands before a person has approved exactly that change."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.approval import Word, change_of
from damascus.domain.errors import DamascusError
from damascus.domain.ports import Pull, Review
from damascus.engine.tools import nothing
from damascus.store import people, receipts
from tests.engine.elsewhere import Elsewhere, Far
from tests.engine.shell_stories import FILES, Watched, config, good, shell_story
from tests.yard import Yard

PERSON = '[review]\napproval = "person"\n'
ADA = "Ada <ada@example.invalid>"


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    made = Yard(tmp_path, database_url, files=FILES, config=config(PERSON))
    made.add(shell_story("one"))
    return made


def state(yard: Yard, name: str = "one") -> tuple[str, int]:
    return yard.item(name)["phase"], yard.item(name)["attempts"]


def approve(yard: Yard, by: str = ADA) -> None:
    people.approve(yard.db, yard.row.id, "one", Word(by, "terminal"))


def approvals(yard: Yard) -> list[dict[str, Any]]:
    return [row["body"] for row in yard.events("one", "story.approved")]


# ── asked and answered ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D10")
def test_nothing_lands_before_a_person_has_approved(yard: Yard) -> None:
    before = yard.main()
    agent = Watched(yard, {"one": [good("one")]})
    yard.work(agent)
    assert (state(yard), yard.main()) == (("blocked", 0), before)
    [question] = yard.questions()
    assert question.startswith("Approve ") and "damascus diff one" in question
    [row] = yard.query("SELECT options FROM human_issues")
    assert row["options"] == ["approve it as it is", "send it back with your words", "cancel the story"]
    assert yard.query("SELECT 1 FROM journal WHERE step = 'review' AND status = 'done'"), "it is judged before"
    assert len(yard.events("one", "blocked.approval")) == 1

    yard.work(agent)
    assert len(yard.questions()) == 1, "it is asked once"
    approve(yard)
    yard.work(agent)
    assert state(yard) == ("done", 0)
    assert (len(agent.given), yard.questions()) == (1, [])
    told = receipts.evidence(yard.db, yard.row, "one")["approval"]
    assert (told["by"], told["where"], told["commit"]) == (ADA, "terminal", yard.item("one")["merged_commit"])
    assert told["at"]


def test_without_the_setting_nobody_is_asked(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES)
    yard.add(shell_story("one"))
    yard.work(Watched(yard, {"one": [good("one")]}))
    assert state(yard) == ("done", 0)
    assert receipts.evidence(yard.db, yard.row, "one")["approval"] is None


def test_a_story_that_waits_for_no_approval_can_not_be_approved(yard: Yard) -> None:
    with pytest.raises(DamascusError, match="does not wait for your approval"):
        approve(yard)
    yard.work(Watched(yard, {"one": [good("one")]}))
    approve(yard)
    with pytest.raises(DamascusError, match="does not wait for your approval"):
        approve(yard)
    with pytest.raises(DamascusError, match="does not wait for your approval"):
        people.send_back(yard.db, yard.row.id, "one", Word(ADA, "terminal", "no"))
    assert len(approvals(yard)) == 1


def test_what_is_sent_back_is_told_to_the_agent_and_asked_about_again(yard: Yard) -> None:
    better = good("one", **{"one.sh": "# in two words\necho hello one\n"})
    agent = Watched(yard, {"one": [good("one"), better]})
    yard.work(agent)
    people.send_back(yard.db, yard.row.id, "one", Word(ADA, "terminal", "say how many words it prints"))
    assert state(yard) == ("build", 0)
    yard.work(agent)
    brief, prompt, files = agent.given[1]
    assert "say how many words it prints" in prompt and brief.known_issues
    assert files["one.sh"] == b"echo hello one\n", "it goes on with its work"
    assert state(yard) == ("blocked", 0)
    approve(yard)
    yard.work(agent)
    assert state(yard) == ("done", 0)
    assert "in two words" in (yard.on_main("one.sh") or "")
    assert [row["body"]["words"] for row in yard.events("one", "story.sent_back")] == ["say how many words it prints"]


# ── main moves ────────────────────────────────────────────────────────────────────────────────────────


def test_an_approval_holds_for_the_same_change_on_a_main_that_moved(yard: Yard) -> None:
    agent = Watched(yard, {"one": [good("one")]})
    yard.work(agent)
    yard.commit({"other.txt": "meanwhile\n"}, "a person's commit")
    approve(yard)
    yard.work(agent)
    assert state(yard) == ("done", 0), yard.questions()
    assert yard.git("log", "-1", "--format=%s", "main~1") == "a person's commit"
    assert len(yard.events("one", "blocked.approval")) == 1


LINES = "".join(f"echo line {n}\n" for n in range(12))
EDITED = LINES.replace("line 5\n", "five\n")


def edits(yard: Yard) -> Watched:
    """Its story changes one line of a file that main has."""
    test = '# REQ-001\nsh one.sh | grep -q "^five$"\n'
    yard.commit({"one.sh": LINES}, "lines")
    return Watched(yard, {"one": [{"write": {"one.sh": EDITED, "tests/test_one.sh": test}}]})


def test_a_change_of_other_lines_of_the_same_file_needs_no_second_word(yard: Yard) -> None:
    agent = edits(yard)
    yard.work(agent)
    yard.commit({"one.sh": "# above\n" + LINES}, "another line, far away")
    approve(yard)
    yard.work(agent)
    assert state(yard) == ("done", 0), yard.questions()


def test_another_change_is_asked_about_again(yard: Yard) -> None:
    """Main changed the lines around it: what lands reads differently from what was approved."""
    agent = edits(yard)
    yard.work(agent)
    yard.commit({"one.sh": LINES.replace("line 7\n", "LINE 7\n")}, "two lines below")
    approve(yard)
    yard.work(agent)
    assert (state(yard)[0], len(yard.events("one", "blocked.approval"))) == ("blocked", 2)
    assert yard.item("one")["resume_phase"] == "merge" and yard.on_main("tests/test_one.sh") is None
    approve(yard, "Bob")
    yard.work(agent)
    assert state(yard) == ("done", 0), yard.questions()
    assert receipts.evidence(yard.db, yard.row, "one")["approval"]["by"] == "Bob"
    assert len(agent.given) == 1


def test_where_a_hunk_sits_is_no_part_of_a_change_and_every_blank_is() -> None:
    one = b"diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@ def f\n x\n-y\n+z\n"
    moved = one.replace(b"index 1..2", b"index 3..4").replace(b"-1,2 +1,2 @@ def f", b"-9,2 +9,2 @@ def g")
    assert change_of(one, "spec") == change_of(moved, "spec")
    assert change_of(one, "spec") != change_of(one, "another spec")
    assert change_of(one, "spec") != change_of(one.replace(b"+z", b"+ z"), "spec")
    assert change_of(one, "spec") != change_of(one.replace(b"100644", b"100755"), "spec")


# ── through crashes ───────────────────────────────────────────────────────────────────────────────────


class Gone(BaseException):
    """The process is gone."""


@pytest.mark.req("D20")
@pytest.mark.parametrize("point", [("approval", "before"), ("approval", "after"), ("settle", "before")])
def test_it_is_asked_once_whoever_dies(yard: Yard, point: tuple[str, str]) -> None:
    from tests.engine.test_review_and_ci import run_as_if_killed

    seen: list[str] = []

    def die(step: str, where: str) -> None:
        seen.append(step)
        if (step, where) == point and (step != "settle" or "approval" in seen):
            raise Gone

    with pytest.raises(Gone):
        run_as_if_killed(yard, die)
    assert yard.questions() == []
    yard.query("UPDATE leases SET expires_at = now() - interval '1 h' RETURNING item_id")
    yard.query("SELECT rescue_item(item_id, fence, 12, 'test') FROM leases")
    agent = Watched(yard, {"one": [good("one")]})
    yard.work(agent)
    assert (len(yard.questions()), agent.given) == (1, [])
    approve(yard)
    yard.work(agent)
    assert state(yard) == ("done", 0)
    assert len(yard.events("one", "blocked.approval")) == len(approvals(yard)) == 1


# ── from the pull request ─────────────────────────────────────────────────────────────────────────────


class Reviewed(Elsewhere):
    """A forge whose pull requests have reviews."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[Callable[[str], Review]] = []

    def reviews(self, pull: Pull) -> list[Review]:
        return [review(pull.head_sha) for review in self.written]

    def says(self, number: str, state: Any, words: str = "", by: str = "ada", commit: str = "") -> None:
        self.written.append(lambda head: Review(id=number, by=by, state=state, words=words, commit=commit or head))


@pytest.fixture
def far(tmp_path: Path, database_url: str) -> Far:
    return Far(tmp_path, database_url, Reviewed(), more=PERSON)


def forge(far: Far) -> Reviewed:
    assert isinstance(far.elsewhere, Reviewed)
    return far.elsewhere


@pytest.mark.req("D10")
def test_an_approving_review_on_the_pull_request_lands_it(far: Far) -> None:
    assert far.go()["phase"] == "blocked"
    assert far.go()["phase"] == "blocked", "nobody has said anything"
    forge(far).says("7", "approved")
    assert far.go()["phase"] == "done", far.questions()
    assert [(body["by"], body["where"], body["review"]) for body in approvals(far)] == [("ada", "pull request", "7")]
    assert receipts.evidence(far.db, far.row, "one")["approval"]["by"] == "ada"


def test_a_review_that_wants_changes_goes_to_the_agent_once(far: Far) -> None:
    far.go()
    forge(far).says("7", "changes", "name it greet")
    item = far.go()
    assert (item["phase"], len(far.agent_seen.given)) == ("blocked", 2)
    assert "name it greet" in far.agent_seen.given[1][1]
    assert [row["body"]["review"] for row in far.events("one", "story.sent_back")] == ["7"]
    assert far.go()["phase"] == "blocked", "the same review is not applied again"
    assert len(far.agent_seen.given) == 2


def test_a_review_of_an_earlier_commit_approves_nothing(far: Far) -> None:
    far.go()
    forge(far).says("7", "approved", commit="0" * 40)
    assert far.go()["phase"] == "blocked"
    assert approvals(far) == []


def test_who_wants_changes_outweighs_who_approves(far: Far) -> None:
    far.go()
    forge(far).says("7", "approved", by="ada")
    forge(far).says("8", "changes", "not yet", by="bob")
    far.go()
    assert approvals(far) == [] and far.events("one", "story.sent_back")


def test_the_later_word_of_one_person_counts(far: Far) -> None:
    far.go()
    forge(far).says("7", "changes", "not yet", by="ada")
    forge(far).says("8", "approved", by="ada")
    assert far.go()["phase"] == "done"


def test_a_worker_that_runs_on_sees_the_review_by_itself(far: Far) -> None:
    """Housekeeping looks, not only a worker that is about to end."""
    from damascus.engine.maintenance.reviews import look_at_reviews

    far.go()
    forge(far).says("7", "approved")
    worker = far.worker(far.agent_seen)
    forge(far).forge = worker.tools.forge
    worker.tools = replace(worker.tools, forge=forge(far))
    assert look_at_reviews(worker.tools) == ["one"]
    assert look_at_reviews(worker.tools) == []
    assert (far.item("one")["phase"], far.item("one")["state"]) == ("review", "ready")
    worker.run(nothing)
    assert far.item("one")["phase"] == "done"
