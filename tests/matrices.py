"""Exhaustive matrices (kills, lies, escapes, real forges): `make test` runs a sample of each, `make proof` all of them.

Of each test function in a file of the table N cases are in a sample, chosen by a seed that is printed. Plain pytest
runs everything.
"""

import os
import random
from collections import defaultdict
from collections.abc import Iterable

import pytest

SEED = "TESTS_SAMPLE_SEED"
MATRICES = {
    "tests/crash/": 1,
    "tests/escape/test_escapes.py": 16,
    "tests/lying_agents/test_confined_agents.py": 2,
    "tests/lying_agents/test_honest_agents.py": 6,
    "tests/lying_agents/test_lying_agents.py": 16,
    "tests/lying_agents/test_without_old_tests.py": 2,
    "tests/lying_agents/test_without_the_gates.py": 2,
    "tests/scenarios/": 1,
}
"""Where they are, and how many cases of each function a sample has."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("matrices")
    group.addoption(
        "--matrices", choices=("all", "sample", "only", "none"), default="all",
        help="exhaustive matrices: all of them, a sample by seed, only them, none",
    )  # fmt: skip
    group.addoption("--seed", default="", help="the seed of the sample, to repeat one")


def pytest_configure(config: pytest.Config) -> None:
    """Workers choose by the seed of whoever started them."""
    if not hasattr(config, "workerinput"):
        os.environ[SEED] = config.getoption("--seed") or str(random.randrange(1_000_000))


def pytest_report_header(config: pytest.Config) -> str | None:
    return _told() if config.getoption("--matrices") == "sample" else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Also in a quiet run, which has no header."""
    if config.getoption("--matrices") == "sample":
        terminalreporter.write_line(_told())


def _told() -> str:
    return f"a sample of the matrices by seed {os.environ[SEED]}; repeat it: make test SEED={os.environ[SEED]}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    how = config.getoption("--matrices")
    if how == "all":
        return
    cells = {item for item in items if few(item)}
    left = {"sample": cells - sampled(cells, os.environ[SEED]), "only": set(items) - cells, "none": cells}[how]
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]


def few(item: pytest.Item) -> int:
    """How many cases of its function are enough for a sample; 0 where it belongs to no matrix."""
    return next((count for place, count in MATRICES.items() if item.nodeid.startswith(place)), 0)


def sampled(cells: Iterable[pytest.Item], seed: str) -> set[pytest.Item]:
    """The same for every worker, whatever else is collected."""
    functions: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in sorted(cells, key=lambda item: item.nodeid):
        functions[item.nodeid.partition("[")[0]].append(item)
    chosen: set[pytest.Item] = set()
    for name, group in functions.items():
        chosen.update(random.Random(f"{seed} {name}").sample(group, min(few(group[0]), len(group))))
    return chosen
