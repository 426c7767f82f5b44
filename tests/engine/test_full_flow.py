"""Profile `full`: twelve steps under their names, loops that a critic ends, artifacts in table and folder (F1 to F6)."""

from pathlib import Path
from typing import Any

import pytest

from damascus.store import artifacts
from tests.engine.flow_stories import CODE, ELEVEN, FULL, TEST, author, full_story, story_of, turn, unverified, verified
from tests.engine.shell_stories import FILES, Watched
from tests.yard import Yard

TWELVE = [
    "branch", "load_context", "clarify", "author_tests", "critique_tests", "implement", "critique_code", "mutate",
    "docs", "self_review", "commit",
]  # fmt: skip


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    yard = Yard(tmp_path, database_url, files=FILES, config=FULL)
    yard.add(full_story())
    return yard


def steps(yard: Yard) -> list[tuple[str, str]]:
    rows = yard.query("SELECT step, key FROM journal WHERE phase = 'build' AND status = 'done' ORDER BY done_at")
    return [(row["step"], row["key"]) for row in rows]


@pytest.mark.req("F1")
def test_a_story_goes_through_the_twelve_steps(yard: Yard) -> None:
    agent = Watched(yard, story_of())
    yard.work(agent)

    assert yard.item("one")["phase"] == "done", yard.questions()
    taken = [name for name, _ in steps(yard)]
    assert taken[: taken.index("red")] == ["prepare", *TWELVE]
    assert [brief.role for brief, _, _ in agent.given] == [
        "context-loader", "clarifier", "test-author", "test-critic", "code-implementer", "code-critic", "doc-writer",
        "self-reviewer",
    ]  # fmt: skip
    assert yard.on_main("docs/one.md") == "says hello"


@pytest.mark.req("F1.2")
def test_every_step_leaves_its_artifact_in_table_and_folder(yard: Yard) -> None:
    yard.work(Watched(yard, story_of()))
    kept = {each.name: each for each in artifacts.all_latest(yard.db, yard.item("one")["id"])}
    assert [name for name in ELEVEN if name not in kept] == []
    folder = yard.project.folder / "runs" / "one"
    assert {name: (folder / name).read_bytes() for name in ELEVEN} == {name: kept[name].content for name in ELEVEN}
