"""What a sample leaves out, the rest of the proofs runs: together they are everything, whatever the seed."""

import pytest

from tests.matrices import FEW, LONGEST, MATRICES, WHOLE, place_of, sampled, shared


class Cell:
    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid


@pytest.mark.parametrize("seed", ["1", "2", "999999"])
def test_a_sample_is_of_the_size_that_the_table_says(seed: str) -> None:
    files = ["tests/crash/test_a.py", "tests/crash/test_b.py", "tests/escape/test_escapes.py"]
    cells = [Cell(f"{name}::test_it[{number}]") for name in files for number in range(100)]
    chosen = sampled(cells, seed)  # type: ignore[arg-type]
    for place in ("tests/crash/", "tests/escape/test_escapes.py"):
        assert len([cell for cell in chosen if cell.nodeid.startswith(place)]) == MATRICES[place]
    assert sampled(reversed(cells), seed) == chosen  # type: ignore[arg-type]


def test_another_seed_is_another_sample() -> None:
    cells = [Cell(f"tests/escape/test_escapes.py::test_it[{number}]") for number in range(1000)]
    assert sampled(cells, "1") != sampled(cells, "2")  # type: ignore[arg-type]


def test_a_share_is_a_part_of_the_large_ones_all_of_the_small_ones_and_of_what_is_never_thinned() -> None:
    small, large, never = "tests/cli/test_graph.py", "tests/crash/", WHOLE[0]
    sizes = {small: FEW, large: 100, never: 100}
    cells = [Cell(f"{place}::test_it[{number}]") for place, size in sizes.items() for number in range(size)]
    found = {place: 0 for place in sizes}
    for cell in shared(cells, "1", 0.4):  # type: ignore[arg-type]
        found[next(place for place in sizes if cell.nodeid.startswith(place))] += 1
    assert found == {small: FEW, large: 40, never: 100}
    assert shared(cells, "1", 1.0) == set(cells)  # type: ignore[arg-type]
    assert shared(cells, "1", 0.4) != shared(cells, "2", 0.4)  # type: ignore[arg-type]


def test_every_place_of_the_table_is_there_and_can_be_reached(pytestconfig: pytest.Config) -> None:
    files = {place: place.partition("::")[0].rstrip("/") for place in MATRICES}
    gone = [place for place, file in files.items() if not list(pytestconfig.rootpath.glob(f"{file}*"))]
    assert gone == []
    assert [place for place in MATRICES if place_of(Cell(place)) != place] == [], "behind another that takes its cases"  # type: ignore[arg-type]


def test_what_is_begun_first_is_there(pytestconfig: pytest.Config) -> None:
    assert [place for place in LONGEST if not (pytestconfig.rootpath / place).exists()] == []
