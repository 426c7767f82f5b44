"""Every lying agent ends unmerged, with the verdict that says why; main and the user's folder are as they were."""

from pathlib import Path

import pytest
from tests.lying_agents.catalogue import LIES
from tests.lying_agents.lie import Lie, assert_not_landed


@pytest.mark.req("D6", "D7", "D13", "D16", "W22")
@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.name.replace(" ", "-"))
def test_a_lie_does_not_land(lie: Lie, tmp_path: Path, database_url: str) -> None:
    scene = lie.tell(tmp_path, database_url)

    item = scene.item()
    assert item["last_verdict"] == lie.verdict, scene.told()
    lie.unharmed(scene)
    assert_not_landed(scene, scene.yard.git("rev-list", "--max-parents=0", "main"))
    if lie.fools:
        assert scene.own_run_was_green(), "the lie is no lie: the agent itself saw a red run"
