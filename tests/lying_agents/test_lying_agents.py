"""Every lying agent ends unmerged, with the verdict that says why; main and the user's folder are as they were.

The table of docs/lying-agents.md is the same list.
"""

from pathlib import Path

import pytest

from tests.lying_agents.catalogue import LIES
from tests.lying_agents.tale import Tale, assert_not_landed, assert_told


@pytest.mark.req("D6", "D7", "D8", "D13", "D16", "D18", "W1", "W22", "X1")
@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.slug)
def test_a_lie_does_not_land(lie: Tale, tmp_path: Path, database_url: str) -> None:
    scene = lie.play(tmp_path, database_url)

    assert scene.item()["last_verdict"] == lie.verdict, scene.told()
    assert_told(scene, lie)
    lie.after(scene)
    assert_not_landed(scene, scene.first_commit)
    if lie.fools:
        assert scene.own_run_was_green(), "the lie is no lie: the agent itself saw a red run"
