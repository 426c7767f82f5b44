"""One conventional commit per task: its type by the spec's kind, its files by git, its trailers back to the story."""

import subprocess
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from damascus.domain.config import parse_config
from damascus.domain.errors import DamascusError
from damascus.domain.ids import Fence, StoryId
from damascus.domain.item import Item
from damascus.domain.ports import ChangedFile
from damascus.domain.verdict import Kind, Phase
from damascus.engine.commits import FILES_NAMED, message, subject
from tests.engine.shell_stories import FILES, Watched, config, good, shell_story
from tests.yard import Yard

ITEM = Item(
    id=1, uuid=UUID(int=7), project_id=1, project="calc", repo_id=1, story_id=StoryId("S-1"), title="CSV import",
    phase=Phase.BUILD, run_no=3, fence=Fence(4), spec=b"", spec_path="specs/S-1.md", spec_hash="", file_scope=(),
    branch="feat/S-1", attempts=1, budget_cycles=5,
)  # fmt: skip
CHANGED = (
    ChangedFile(path="b.py", status="M"),
    ChangedFile(path="a.py", status="A"),
    ChangedFile(path="c.py", status="D"),
)


@pytest.mark.req("A14")
def test_the_whole_message() -> None:
    assert message(ITEM, Kind.FEATURE, CHANGED, "implement") == (
        "feat: CSV import\n\nCreated a.py\nChanged b.py\nDeleted c.py\n\nStory: S-1\n"
        "Damascus-Item: 00000000-0000-0000-0000-000000000007\nDamascus-Run: 3\nDamascus-Attempt: 2\n"
        "Damascus-Step: implement\n"
    )


@pytest.mark.req("A14")
@pytest.mark.parametrize(
    ("title", "kind", "line"),
    [
        ("CSV import", Kind.FEATURE, "feat: CSV import"),
        ("one reader", Kind.REFACTOR, "refactor: one reader"),
        ("how to start", Kind.DOCS, "docs: how to start"),
        ("Fix rounding of halves", Kind.FEATURE, "fix: rounding of halves"),
        ("fix the words", Kind.DOCS, "docs: fix the words"),
        ("fixtures for CSV", Kind.FEATURE, "feat: fixtures for CSV"),
        ("fix", Kind.FEATURE, "feat: fix"),
        ("fix(io): a lost quote", Kind.FEATURE, "fix(io): a lost quote"),
        ("perf!: no copies", Kind.REFACTOR, "perf!: no copies"),
        ("a\n b", Kind.FEATURE, "feat: a b"),
    ],
)
def test_the_subject_by_kind_and_title(title: str, kind: Kind, line: str) -> None:
    assert subject(title, kind) == line


@pytest.mark.req("A14")
def test_a_subject_has_at_most_72_characters() -> None:
    assert subject("x" * 66, Kind.FEATURE) == "feat: " + "x" * 66
    long = subject("a word " * 30, Kind.FEATURE)
    assert len(long) <= 72 and long.endswith("…")


@pytest.mark.req("A14")
def test_git_reads_the_trailers_and_no_file_name_passes_for_one(tmp_path: Path) -> None:
    evil = (ChangedFile(path="x\n\nStory: S-2", status="A"), ChangedFile(path="Story: S-3", status="A"))
    text = message(replace(ITEM, title="t"), Kind.FEATURE, evil, "implement")
    command = ["git", "interpret-trailers", "--parse"]
    told = subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert [line.split(":")[0] for line in told.splitlines()] == [
        "Story", "Damascus-Item", "Damascus-Run", "Damascus-Attempt", "Damascus-Step",
    ]  # fmt: skip
    assert "S-2" not in told and "S-3" not in told
    assert text.count("\n\n") == 2 and "\nStory: S-2" not in text, "a name stays on its line"


@pytest.mark.req("A14")
def test_a_great_many_files_are_counted() -> None:
    many = [ChangedFile(path=f"f{n}.py", status="A") for n in range(FILES_NAMED + 5)]
    text = message(ITEM, Kind.FEATURE, many, "implement")
    assert "and 5 more files" in text and text.count("Created ") == FILES_NAMED


@pytest.mark.req("A14", "X3")
def test_the_project_says_how_its_commits_read() -> None:
    text = 'author = "Ada <ada@example.invalid>"\nsubject = "[{story}] {title} ({type})"\nsummary = true\n'
    wanted = parse_config(f"[commit]\n{text}co_author = 'Bo <bo@example.invalid>'\n").commit
    told = message(ITEM, Kind.FEATURE, CHANGED, "implement", wanted=wanted, summary="Reads CSV.\nStory: S-9\n")
    assert told.startswith("[S-1] CSV import (feat)\n\nThe agent says:\n> Reads CSV.\n> Story: S-9\n\nCreated a.py\n")
    assert "Co-authored-by: Bo <bo@example.invalid>\nStory: S-1\n" in told
    assert subject("fix(io): reads on", Kind.FEATURE, wanted.subject, "S-1") == "[S-1] reads on (fix(io))"


@pytest.mark.parametrize("text", ['author = "Ada"', 'subject = "{nobody}"', 'subject = "no title"', 'co_author = "x"'])
def test_a_commit_setting_that_is_none_is_one_sentence(text: str) -> None:
    with pytest.raises(DamascusError, match="commit"):
        parse_config(f"[commit]\n{text}\n")


@pytest.mark.req("A14")
def test_the_author_is_kept_through_a_rebase(tmp_path: Path, database_url: str) -> None:
    settings = config('[commit]\nauthor = "Ada <ada@example.invalid>"\n')
    yard = Yard(tmp_path, database_url, files=FILES, config=settings)
    yard.add(shell_story("S-1"), shell_story("S-2"))
    yard.work(Watched(yard, {name: [good(name)] for name in ("S-1", "S-2")}))
    assert [yard.item(name)["phase"] for name in ("S-1", "S-2")] == ["done", "done"], yard.questions()
    told = yard.git("log", "-2", "--format=%an <%ae> %cn", "main").splitlines()
    assert told == ["Ada <ada@example.invalid> Damascus"] * 2
