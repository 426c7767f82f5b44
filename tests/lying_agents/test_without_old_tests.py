"""The control: with gate old_tests left out, and the others that happen to stop some of them, these lies land."""

from pathlib import Path

import pytest

import damascus.gates
from tests.lying_agents import over_old_tests, over_old_tests_elsewhere
from tests.lying_agents.tale import Tale

LEFT_OUT = ("old_tests", "suite", "knows_tests")
LIES = (*over_old_tests.LIES, *over_old_tests_elsewhere.LIES)


@pytest.mark.req("D7")
@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.slug)
def test_without_the_gate_it_lands(
    lie: Tale, tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for lane in ("BEFORE_REBASE", "AFTER_REBASE"):
        others = tuple(name for name in getattr(damascus.gates, lane) if name not in LEFT_OUT)
        monkeypatch.setattr(damascus.gates, lane, others)
    scene = lie.play(tmp_path, database_url)
    assert scene.item()["phase"] == "done", scene.told()
