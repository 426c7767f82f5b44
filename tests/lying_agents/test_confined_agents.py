"""Agents that act outside of their workspace, in the cage that they run in: there is nothing outside for them."""

from pathlib import Path

import pytest

from damascus.lab.catalogue import LIES
from damascus.lab.honest import TALES
from damascus.lab.play import Scene
from damascus.lab.tale import STORY, Tale
from damascus.system.sandbox import Level
from tests.levels import need
from tests.lying_agents.playing import first_commit, play_confined, told

REACHING = [tale for tale in (*LIES, *TALES) if tale.reaches]


def planted_hooks(scene: Scene) -> list[Path]:
    folders = (scene.yard.project.mirror.path / "hooks", scene.yard.repo / ".git/hooks")
    found = [path for folder in folders if folder.exists() for path in folder.iterdir()]
    return [path for path in found if path.suffix != ".sample"]


@pytest.mark.req("D6", "W9")
@pytest.mark.parametrize("tale", REACHING, ids=lambda tale: tale.slug)
def test_in_a_cage_it_reaches_nothing(tale: Tale, tmp_path: Path, database_url: str) -> None:
    need(Level.BUBBLEWRAP)
    scene = play_confined(tale, tmp_path, database_url)

    assert list(scene.outside.iterdir()) == []
    assert planted_hooks(scene) == []
    assert scene.yard.git("branch", "--format=%(refname:short)") == "main"
    assert scene.yard.project.mirror.tip("main") == scene.yard.main()
    assert not scene.yard.project.worktrees.joinpath(STORY).is_symlink()
    if tale in LIES:
        assert scene.item()["phase"] == "blocked", told(scene)
        assert scene.yard.main() == first_commit(scene)
