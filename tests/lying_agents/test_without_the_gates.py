"""The control of the newest gates: without them the same lies land, so nothing else stops them."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.lying_agents.about_proof import LIES
from tests.lying_agents.code_that_knows import LIES as ALL_KNOWING
from tests.lying_agents.code_that_knows import STATIC
from tests.lying_agents.tale import Tale, assert_landed
from tests.yard import CONFIG

KNOWING = tuple(lie for lie in ALL_KNOWING if lie.because == STATIC)
ALL_MAY = CONFIG + 'knows_tests = ["**"]\n'


@pytest.mark.req("D7")
@pytest.mark.parametrize("lie", (*LIES, *KNOWING), ids=lambda lie: lie.slug)
def test_without_the_gate_it_lands(lie: Tale, tmp_path: Path, database_url: str) -> None:
    scene = replace(lie, config=ALL_MAY).play(tmp_path, database_url)

    assert scene.item()["last_verdict"] == "passed", scene.told()
    assert_landed(scene)
