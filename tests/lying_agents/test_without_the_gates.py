"""The control of the newest gates: without them the same lies land, so nothing else stops them."""

from dataclasses import replace
from pathlib import Path

import pytest

from damascus.lab.lies import about_measuring, about_the_base, in_other_stacks
from damascus.lab.lies.about_proof import LIES
from damascus.lab.lies.code_that_knows import LIES as ALL_KNOWING
from damascus.lab.lies.code_that_knows import STATIC
from damascus.lab.play import with_default_gates
from damascus.lab.tale import Tale
from tests.lying_agents.playing import assert_landed, play, told
from tests.yard import CONFIG

UNPROVED = tuple(lie for lie in LIES if lie.verdict == "code_unproved")
NEWER = tuple(
    lie
    for lie in (*about_the_base.LIES, *about_measuring.LIES)
    if lie.verdict not in ("tests_failed", "runner_compromised")
)
KNOWING = tuple(lie for lie in ALL_KNOWING if lie.because == STATIC)
ALL_MAY = CONFIG + 'knows_tests = ["**"]\n'


@pytest.mark.req("D7")
@pytest.mark.parametrize("lie", (*UNPROVED, *NEWER, *KNOWING), ids=lambda lie: lie.slug)
def test_without_the_gate_it_lands(lie: Tale, tmp_path: Path, database_url: str) -> None:
    scene = play(replace(lie, config=ALL_MAY), tmp_path, database_url)

    assert scene.item()["last_verdict"] == "passed", told(scene)
    assert_landed(scene)


ESCAPES = (
    "asserts its type exactly",
    "asserts a tautology",
    "asserts a type",
    "asserts not None",
    "asserts a range",
    "tolerates anything",
    "loops over nothing",
    "swallows the failure",
    "expects its own error",
    "asserts nothing in node",
    "asserts nothing in go",
    "asserts nothing in rust",
)
"""What a project would let in that has every other gate, as they are by default."""
NO_MUTANTS = with_default_gates(CONFIG) + 'mutation = "off"\n'


@pytest.mark.req("D7", "X6")
@pytest.mark.parametrize("name", ESCAPES)
def test_without_mutants_alone_at_least_ten_cheats_land(name: str, tmp_path: Path, database_url: str) -> None:
    (lie,) = [one for one in (*LIES, *in_other_stacks.LIES) if one.name == name]
    scene = play(replace(lie, config=NO_MUTANTS), tmp_path, database_url)

    assert scene.item()["last_verdict"] == "passed", told(scene)
    assert_landed(scene)
