"""The control: honest agents, who do what lying ones do too, all land."""

from pathlib import Path

import pytest

from damascus.lab.honest import TALES
from damascus.lab.tale import Tale
from tests.lying_agents.afterwards import check
from tests.lying_agents.playing import assert_landed, own_run_was_green, play, told


@pytest.mark.req("D6", "D7", "D13", "X4")
@pytest.mark.parametrize("tale", TALES, ids=lambda tale: tale.slug)
def test_an_honest_agent_lands(tale: Tale, tmp_path: Path, database_url: str) -> None:
    scene = play(tale, tmp_path, database_url)

    assert scene.item()["last_verdict"] == tale.verdict, told(scene)
    check(scene, tale.name)
    assert_landed(scene)
    if tale.fools:
        assert own_run_was_green(scene)
