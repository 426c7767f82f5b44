"""The control: honest agents, who do what lying ones do too, all land."""

from pathlib import Path

import pytest

from tests.lying_agents.honest import TALES
from tests.lying_agents.tale import Tale, assert_landed


@pytest.mark.req("D6", "D7", "D13", "X4")
@pytest.mark.parametrize("tale", TALES, ids=lambda tale: tale.slug)
def test_an_honest_agent_lands(tale: Tale, tmp_path: Path, database_url: str) -> None:
    scene = tale.play(tmp_path, database_url)

    assert scene.item()["last_verdict"] == tale.verdict, scene.told()
    tale.after(scene)
    assert_landed(scene)
    if tale.fools:
        assert scene.own_run_was_green()
