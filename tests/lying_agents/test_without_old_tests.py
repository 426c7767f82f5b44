"""The control: with gate old_tests left out, and the others that happen to stop some of them, these lies land."""

from dataclasses import replace
from pathlib import Path

import pytest

import damascus.toolset
from damascus.domain.ports import Gate
from damascus.gates import GateSet, gates
from damascus.lab.lies import over_old_tests, over_old_tests_elsewhere
from damascus.lab.tale import Tale
from tests.lying_agents.playing import play, told

LEFT_OUT = ("old_tests", "suite", "knows_tests")
LIES = (*over_old_tests.LIES, *over_old_tests_elsewhere.LIES)


def without(every: GateSet) -> GateSet:
    return replace(every, before=_others(every.before), after=_others(every.after))


def _others(lane: tuple[Gate, ...]) -> tuple[Gate, ...]:
    return tuple(gate for gate in lane if gate.name not in LEFT_OUT)


@pytest.mark.req("D7")
@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.slug)
def test_without_the_gate_it_lands(
    lie: Tale, tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(damascus.toolset, "gates", lambda *given: without(gates(*given)))
    scene = play(lie, tmp_path, database_url)
    assert scene.item()["phase"] == "done", told(scene)
