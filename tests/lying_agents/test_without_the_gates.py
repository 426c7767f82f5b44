"""The control of the newest gates: without them the same lies land, so nothing else stops them."""

from dataclasses import replace
from pathlib import Path

import pytest

from damascus.lab.lies.about_proof import LIES
from damascus.lab.lies.code_that_knows import LIES as ALL_KNOWING
from damascus.lab.lies.code_that_knows import STATIC
from damascus.lab.tale import Tale
from tests.lying_agents.playing import assert_landed, play, told
from tests.yard import CONFIG

KNOWING = tuple(lie for lie in ALL_KNOWING if lie.because == STATIC)
ALL_MAY = CONFIG + 'knows_tests = ["**"]\n'


@pytest.mark.req("D7")
@pytest.mark.parametrize("lie", (*LIES, *KNOWING), ids=lambda lie: lie.slug)
def test_without_the_gate_it_lands(lie: Tale, tmp_path: Path, database_url: str) -> None:
    scene = play(replace(lie, config=ALL_MAY), tmp_path, database_url)

    assert scene.item()["last_verdict"] == "passed", told(scene)
    assert_landed(scene)
