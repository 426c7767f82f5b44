"""What a person can do, asked for by a program: from any folder, without a terminal, with records for an answer."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.ids import Sha, StoryId
from damascus.domain.policy import RETRY_OPTIONS
from damascus.git.snapshots import Snapshots
from damascus.people import adding, answering, changes, holds, new_specs, overview, questions, rescuing, stories
from damascus.people.acts import Actor
from damascus.people.explaining import explained
from damascus.people.showing import shown
from tests.cli import states
from tests.engine.shell_stories import FILES, Watched, config, good, shell_story
from tests.yard import Yard, story

ON_A_PAGE = Actor("Grace <grace@example.invalid>", by="web")


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """A program that is in another folder than the person's repository. Whatever it asks for, nothing is printed."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    capfd.readouterr()
    yield
    assert tuple(capfd.readouterr()) == ("", "")


@pytest.fixture
def yard(tmp_path: Path, database_url: str, elsewhere: None) -> Iterator[Yard]:
    made = Yard(tmp_path, database_url)
    yield made
    made.db.close()


def asked(yard: Yard, *options: str) -> int:
    yard.add(story("S-1", title="dark mode"))
    return states.asks(yard, states.claim(yard)[0], "Which one holds?", *options)


@pytest.mark.req("D15")
def test_a_question_is_answered_by_a_program(yard: Yard) -> None:
    number = asked(yard, *RETRY_OPTIONS)
    [issue] = questions.open_questions(yard.db, yard.project)
    assert [choice["id"] for choice in questions.published(issue)["choices"]] == ["retry", "edit_spec", "cancel"]
    found = answering.question(yard.app, yard.project, number)
    done = answering.answer(yard.app, found, "1 look at lib/", ON_A_PAGE)
    assert (done.question, done.story, done.answer) == (number, "S-1", "1 look at lib/")
    assert done.said == "S-1 goes on in phase build with a new budget: retry with a new budget: look at lib/"
    assert done.following == "damascus run, or if one runs: damascus why S-1"
    assert yard.item("S-1")["answers"] == ["look at lib/"]
    with pytest.raises(DamascusError, match="answered already"):
        answering.question(yard.app, yard.project, number)


@pytest.mark.req("D15")
def test_one_answer_for_all_tells_which_were_answered(yard: Yard) -> None:
    yard.add(story("S-1"), story("S-2"))
    first, other = states.claim(yard, 2)
    number = states.asks(yard, first, "No key.", *RETRY_OPTIONS)
    states.asks(yard, other, "Which colour?", "red", "blue")
    done = answering.answer_all(yard.app, yard.project, "retry", lambda _: ON_A_PAGE)
    assert (done.questions, done.left, done.following) == ((number,), 1, "damascus inbox")


def test_stories_go_on_and_end(yard: Yard) -> None:
    asked(yard)
    done = stories.retry(yard.db, yard.project, "s-1", "mind the gap")
    assert (done.story, done.phase, done.was_leased) == ("S-1", "build", False)
    assert yard.item("S-1")["answers"] == ["mind the gap"]
    states.claim(yard)
    ended = stories.cancel(yard.db, yard.project, "S-1")
    assert (ended.phase, ended.was_leased) == ("cancelled", True)
    assert ended.said == "S-1 is cancelled. The worker that had it is shut out."
    with pytest.raises(UsageError, match="there is no verdict 'nonsense'"):
        stories.retry_all(yard.db, yard.project, "nonsense")
    with pytest.raises(DamascusError, match="no story is blocked"):
        stories.retry_all(yard.db, yard.project)


def test_a_repository_is_held_and_goes_on(yard: Yard) -> None:
    held = holds.hold(yard.db, yard.project, "a key was pushed")
    assert (held.repo, held.reason, held.hold > 0) == (yard.row.repo, "a key was pushed", True)
    with pytest.raises(UsageError, match="has no repository 'core'"):
        holds.release(yard.db, yard.project, "core")
    assert [holds.release(yard.db, yard.project).ended for _ in range(2)] == [1, 0]


def test_a_spec_is_written_checked_and_added(yard: Yard) -> None:
    new = new_specs.write(yard.db, yard.project, " it   greets ", here=yard.repo)
    assert (new.story, new.file, new.text) == ("S-1", yard.repo / "specs/S-1.md", new.file.read_text())
    assert new.following == "edit it, then damascus add specs/S-1.md"
    checked = adding.check(yard.db, yard.project, [str(new.file), str(yard.repo / "specs/none.md")])
    assert checked.files == 2 and ["does not exist" in text for text in checked.errors] == [True]
    assert yard.query("SELECT 1 FROM work_items") == []
    added = adding.add(yard.db, yard.project, [str(new.file)])
    assert [(one.story_id, one.phase, one.unchanged) for one in added.queued] == [("S-1", "build", False)]
    again = adding.add(yard.db, yard.project, [str(new.file)])
    assert (again.queued[0].unchanged, again.following) == (True, "damascus status")


def test_what_is_going_on_is_told_with_its_tone(yard: Yard) -> None:
    asked(yard)
    snapshot = overview.look(yard.app, yard.project)
    tones = {part.text: part.tone for part in overview.header(yard.app, yard.project, snapshot)}
    assert tones["1 needs you"] == "alarm" and set(tones.values()) == {"plain", "alarm"}
    assert overview.following(yard.app, snapshot, False) == "damascus inbox"
    told = explained(yard.app, yard.project, "S-1")
    assert told.row.phase == "blocked" and "Which one holds?" in " ".join(told.sentences)
    page = shown(yard.app, yard.project, "s-1")
    assert (page.row.story_id, page.published()["phase"], page.lost) == ("S-1", "blocked", None)
    assert dict(page.facts())["try"] == "1/5, 1 claim, run 1" and len(page.issues) == 1


def test_a_change_is_shown_and_approved_by_name(tmp_path: Path, database_url: str, elsewhere: None) -> None:
    yard = Yard(tmp_path, database_url, files=FILES, config=config('[review]\napproval = "person"\n'))
    yard.add(shell_story("one"))
    yard.work(Watched(yard, {"one": [good("one")]}))
    change = changes.change_of(yard.app, yard.project, "one")
    assert change.what == "candidate" and b"one.sh" in changes.patch(yard.project, change)
    done = stories.approve(yard.db, yard.project, "one", ON_A_PAGE)
    assert (done.by, done.commit) == (ON_A_PAGE.name, change.head)
    [event] = yard.events("one", "story.approved")
    assert (event["body"]["by"], event["body"]["where"]) == (ON_A_PAGE.name, "web")
    yard.work(Watched(yard, {"one": [good("one")]}))
    assert changes.change_of(yard.app, yard.project, "one").what == "landed"


@pytest.mark.req("X2")
def test_what_an_agent_wrote_is_restored(yard: Yard, tmp_path: Path) -> None:
    yard.add(story("S-1"))
    written = tmp_path / "workspace"
    written.mkdir()
    (written / "half.py").write_text("half = True\n")
    mirror = yard.project.mirror
    mirror.fetch_main("main")
    Snapshots(mirror).save(written, StoryId("S-1"), run_no=1, step="left", fence=1, base=Sha(yard.main()))
    [kept] = rescuing.listing(yard.db, yard.project).kept
    assert (kept.story, kept.number, kept.moment) == ("S-1", 1, "what run 1 left")
    assert rescuing.picked(yard.db, yard.project, "s-1", 1) == kept
    with pytest.raises(DamascusError, match="so there is no number 0"):
        rescuing.picked(yard.db, yard.project, "S-1", 0)
    with pytest.raises(UsageError, match="is inside your repository"):
        rescuing.restore(yard.project, kept, yard.repo / "rescued")
    restored = rescuing.restore(yard.project, kept, tmp_path / "rescued")
    assert (restored.files, (tmp_path / "rescued" / "half.py").read_text()) == (1, "half = True\n")
    assert rescuing.restore(yard.project, kept, yard.repo / "rescued", agreed=True).folder == yard.repo / "rescued"
