"""What a sample leaves out, the rest of the proofs runs: together they are everything, whatever the seed."""

import pytest

from tests.matrices import MATRICES, few, sampled


class Cell:
    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid


@pytest.mark.parametrize("seed", ["1", "2", "999999"])
def test_a_sample_is_of_the_size_that_the_table_says_and_of_every_file(seed: str) -> None:
    files = ["tests/crash/test_a.py", "tests/crash/test_b.py", "tests/escape/test_escapes.py"]
    cells = [Cell(f"{name}::test_it[{number}]") for name in files for number in range(100)]
    chosen = sampled(cells, seed)  # type: ignore[arg-type]
    for name in files:
        assert len([cell for cell in chosen if cell.nodeid.startswith(name)]) == few(Cell(f"{name}::x"))  # type: ignore[arg-type]
    assert sampled(reversed(cells), seed) == chosen  # type: ignore[arg-type]


def test_another_seed_is_another_sample() -> None:
    cells = [Cell(f"tests/escape/test_escapes.py::test_it[{number}]") for number in range(1000)]
    assert sampled(cells, "1") != sampled(cells, "2")  # type: ignore[arg-type]


def test_every_place_of_the_table_is_there(pytestconfig: pytest.Config) -> None:
    gone = [place for place in MATRICES if not list(pytestconfig.rootpath.glob(f"{place.rstrip('/')}*"))]
    assert gone == []
