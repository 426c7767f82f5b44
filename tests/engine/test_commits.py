"""One conventional commit per task: its type by the spec's kind, its files by git, its trailers back to the story."""

import subprocess
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from damascus.domain.ids import Fence, StoryId
from damascus.domain.item import Item
from damascus.domain.ports import ChangedFile
from damascus.domain.verdict import Kind, Phase
from damascus.engine.commits import FILES_NAMED, message, subject

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
