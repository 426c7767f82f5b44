"""One queue per repository: a moved folder is found again, a copy and a second data folder are refused."""

import shutil
from pathlib import Path

import pytest

from damascus.app import App
from damascus.assembly import Choice, make_worker
from damascus.domain.errors import DamascusError, UsageError
from tests.yard import Yard, story


@pytest.mark.req("D4")
def test_a_moved_folder_is_found_again(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url)
    yard.add(story("S-1"))
    moved = tmp_path / "moved"
    yard.repo.rename(moved)
    project = App(yard.environ).project(moved)
    assert project.row.id == yard.row.id
    assert project.row.path == str(moved)


@pytest.mark.req("D4")
def test_a_copy_does_not_take_the_queue_away(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url)
    copy = tmp_path / "copy"
    shutil.copytree(yard.repo, copy, symlinks=True)
    with pytest.raises(UsageError, match="is a copy of"):
        App(yard.environ).project(copy)
    assert App(yard.environ).project(yard.repo).row.path == str(yard.repo)


@pytest.mark.req("D4")
def test_a_second_data_folder_is_refused_by_name(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url)
    other = {**yard.environ, "DAMASCUS_HOME": str(tmp_path / "other")}
    with pytest.raises(DamascusError, match=f"another Damascus queue.*{yard.app.home}"):
        App(other).init_project(yard.repo)
    second = App(other)
    with pytest.raises(DamascusError, match="another Damascus queue"):
        make_worker(second, second.project(yard.repo), Choice(agent="command", agent_command="true"))
