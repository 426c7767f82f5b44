"""The control: with gate old_tests left out, the lies that it stops land."""

from pathlib import Path

import pytest

import damascus.gates
from tests.lying_agents import over_old_tests, over_old_tests_elsewhere
from tests.lying_agents.tale import Tale

LIES = (*over_old_tests.LIES, *over_old_tests_elsewhere.LIES)


@pytest.mark.req("D7")
@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.slug)
def test_without_the_gate_it_lands(
    lie: Tale, tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = tuple(name for name in damascus.gates.AFTER_REBASE if name != "old_tests")
    monkeypatch.setattr(damascus.gates, "AFTER_REBASE", others)
    scene = lie.play(tmp_path, database_url)
    assert scene.item()["phase"] == "done", scene.told()
