"""Every lying agent ends unmerged, with the verdict that says why; main and the user's folder are as they were.

The table of docs/lying-agents.md is the same list.
"""

from pathlib import Path

import pytest

from damascus.lab.catalogue import LIES
from damascus.lab.tale import Tale
from tests.lying_agents.afterwards import check
from tests.lying_agents.playing import (
    assert_not_landed,
    assert_told,
    first_commit,
    own_run_was_green,
    play,
    told,
)


@pytest.mark.req("D6", "D7", "D8", "D13", "D16", "D18", "W1", "W22", "X1")
@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.slug)
def test_a_lie_does_not_land(lie: Tale, tmp_path: Path, database_url: str) -> None:
    scene = play(lie, tmp_path, database_url)

    assert scene.item()["last_verdict"] == lie.verdict, told(scene)
    assert_told(scene, lie)
    check(scene, lie.name)
    assert_not_landed(scene, first_commit(scene))
    if lie.fools:
        assert own_run_was_green(scene), "the lie is no lie: the agent itself saw a red run"
