"""Main as the local forge knows it: a commit counts as known only with all that it needs."""

import shutil
from pathlib import Path

import pytest

from damascus.domain.errors import TransientError
from damascus.domain.ids import Sha
from tests.yard import CONFIG, Yard


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    return Yard(tmp_path, database_url)


def leave_behind(yard: Yard, *objects: str) -> None:
    """What a fetch that was killed, or that has just begun, has written of a commit: git unpacks the commit first."""
    for sha in objects:
        place = Path("objects") / sha[:2] / sha[2:]
        target = yard.project.mirror.path / place
        target.parent.mkdir(exist_ok=True)
        shutil.copy(yard.repo / ".git" / place, target)


@pytest.mark.req("D8", "D15")
@pytest.mark.parametrize("whole_tree", [False, True])
def test_a_commit_that_came_without_its_files_is_fetched_whole(yard: Yard, whole_tree: bool) -> None:
    """Else main's rules would be read as empty ones, and no fetch would ever bring what is missing."""
    forge = yard.tools().forge
    forge.main_tip()
    tip = yard.commit({"damascus.toml": f"{CONFIG}[ci]\nfixes = 2\n", "new/file.txt": "new\n"}, "by a person")
    leave_behind(yard, tip, *([yard.git("rev-parse", f"{tip}^{{tree}}")] if whole_tree else []))
    assert forge.main_tip() == tip
    assert yard.tools().read_config(Sha(tip)).ci.fixes == 2
    assert yard.project.mirror.read(Sha(tip), "new/file.txt") == b"new\n"
    yard.project.mirror.git.run("fsck", "--connectivity-only", "--no-dangling", "--strict")


@pytest.mark.req("D8")
def test_what_is_missing_is_never_read_as_nothing(yard: Yard) -> None:
    tip = yard.commit({"damascus.toml": f"{CONFIG}[ci]\nfixes = 2\n"}, "by a person")
    tools = yard.tools()
    with pytest.raises(TransientError, match=f"lacks {tip}"):
        tools.read_config(Sha(tip))
    leave_behind(yard, tip)
    with pytest.raises(TransientError, match="lacks"):
        tools.read_config(Sha(tip))
    tools.forge.main_tip()
    assert tools.read_config(Sha(tip)).ci.fixes == 2, "and a failure is not remembered"
    assert yard.project.mirror.read(Sha(tip), "no/such/file") is None
