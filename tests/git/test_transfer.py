"""What a story changed reaches the user's repository without a fetch, whole and readable by plain git."""

from pathlib import Path

import pytest

from damascus.git.commands import Git
from damascus.git.objects import Objects
from damascus.git.transfer import FEW_OBJECTS, hand_over
from tests.git.repos import Project, git


@pytest.mark.req("F13")
@pytest.mark.parametrize("packed", [False, True])
def test_a_handed_over_commit_is_whole(tmp_path: Path, packed: bool) -> None:
    project = Project(tmp_path, {"a": "1\n", "d/e/f": "2\n", "d/g": "3\n"})
    old = project.main
    new = project.candidate(old, {"d/e/f": b"changed\n", "new/x": b"4\n", "a": None})
    if packed:
        project.mirror.update_refs([])
        project.mirror.git.run("update-ref", "refs/heads/feat/S-1", new)
        project.mirror.git.run("repack", "-a", "-d", "-q")
        project.mirror.git.run("prune-packed", "-q")
    target = Objects(Git.at(project.repo / ".git", project.repo))
    assert hand_over(project.mirror.objects, target, old, new)
    git(project.repo, "fsck", "--strict", "--no-dangling")
    assert git(project.repo, "show", f"{new}:d/e/f") == "changed"
    git(project.repo, "merge", "-q", "--ff-only", new)
    assert git(project.repo, "status", "--porcelain") == ""


def test_what_is_not_simple_is_left_to_a_fetch(tmp_path: Path) -> None:
    project = Project(tmp_path)
    old = project.main
    many = project.candidate(old, {f"many/{n}": str(n).encode() for n in range(FEW_OBJECTS + 1)})
    target = Objects(Git.at(project.repo / ".git", project.repo))
    before = git(project.repo, "count-objects")
    assert not hand_over(project.mirror.objects, target, old, many)
    assert not hand_over(project.mirror.objects, target, many, old)
    assert git(project.repo, "count-objects") == before
