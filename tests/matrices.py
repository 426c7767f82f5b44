"""Exhaustive matrices (kills, lies, escapes, queues and CI, real forges): `make test` runs a sample, `make proof` all.

Of each place of the table N cases are in a sample, chosen by a seed that is printed. Plain pytest runs everything. A
share of them (`make proof SHARE=0.5`) is that part of every large place, by the same seed; CI runs one, whose seed
changes with every run.
"""

import math
import os
import random
from collections import defaultdict
from collections.abc import Iterable

import pytest

SEED = "TESTS_SAMPLE_SEED"
MATRICES = {
    "tests/agents/test_claude.py": 1,
    "tests/agents/test_claude_writes.py": 1,
    "tests/agents/test_codex.py": 1,
    "tests/agents/test_headless.py": 1,
    "tests/agents/test_litellm.py": 0,
    "tests/agents/test_opencode.py": 1,
    "tests/cli/test_forge_doctor.py": 1,
    "tests/cli/test_forge_try.py": 1,
    "tests/cli/test_cli_recoveries.py": 1,
    "tests/cli/test_graph.py": 1,
    "tests/cli/test_worker.py": 1,
    "tests/contracts/test_agents.py": 2,
    "tests/contracts/test_forges.py": 2,
    "tests/contracts/test_gates.py": 3,
    "tests/cli/test_cli_changed_tests.py": 1,
    "tests/cli/test_cli_forge_main.py": 0,
    "tests/cli/test_backup.py": 1,
    "tests/cli/test_cli_gates.py": 1,
    "tests/cli/test_cli_lab.py": 1,
    "tests/cli/test_cli_visual.py": 1,
    "tests/crash/test_builder_killed.py": 3,
    "tests/crash/test_full_flow_killed.py": 1,
    "tests/crash/test_plan_killed.py": 1,
    "tests/crash/": 2,
    "tests/engine/test_approval.py": 1,
    "tests/engine/test_cascade.py": 1,
    "tests/engine/test_ci_every_job.py": 1,
    "tests/engine/test_ci_mirror_job.py": 2,
    "tests/engine/test_ci_real.py": 0,
    "tests/engine/test_ci_red.py": 2,
    "tests/engine/test_ci_waiting.py": 2,
    "tests/engine/test_full_stacks.py": 1,
    "tests/engine/test_rogue_agents.py": 2,
    "tests/engine/test_oversight.py": 2,
    "tests/engine/test_other_hosts.py": 1,
    "tests/engine/test_script_versions.py": 2,
    "tests/escape/test_escapes.py": 10,
    "tests/examples/test_shop.py": 1,
    "tests/examples/test_shop_killed.py": 0,
    "tests/examples/": 0,
    "tests/forges/test_gitea_landing.py": 1,
    "tests/forges/test_github_contract.py": 3,
    "tests/forges/test_gitea_server.py": 1,
    "tests/gates/test_canary_expectations.py": 1,
    "tests/gates/test_canary_setting.py": 1,
    "tests/gates/test_code_from_elsewhere": 2,
    "tests/gates/test_gate_canary.py": 1,
    "tests/gates/test_gate_commands": 4,
    "tests/gates/test_gate_contracts.py": 2,
    "tests/gates/test_gate_contracts_oasdiff.py": 1,
    "tests/gates/test_gate_contracts_schemas.py": 2,
    "tests/gates/test_gate_contracts_server.py": 1,
    "tests/gates/test_gate_contracts_zod.py": 1,
    "tests/gates/test_gate_coverage": 1,
    "tests/gates/test_gate_knows_tests.py": 4,
    "tests/cli/test_cli_mutants.py": 1,
    "tests/gates/test_gate_mutation.py": 1,
    "tests/gates/test_gate_mutation_full.py": 1,
    "tests/gates/test_gate_mutation_stacks.py": 1,
    "tests/gates/test_gate_old_tests.py": 1,
    "tests/gates/test_gate_old_tests_refactors.py": 1,
    "tests/gates/test_gate_red_green.py": 3,
    "tests/gates/test_gate_requirements.py": 3,
    "tests/gates/test_gate_secrets.py": 3,
    "tests/gates/test_gate_suite.py": 2,
    "tests/gates/test_gate_visual.py": 1,
    "tests/gates/test_kept_green.py": 2,
    "tests/gates/test_runner_tricks.py": 2,
    "tests/gates/test_runners_": 2,
    "tests/git/test_landing_killed.py": 3,
    "tests/git/test_remote.py": 2,
    "tests/lying_agents/test_confined_agents.py": 1,
    "tests/lying_agents/test_honest_agents.py": 2,
    "tests/lying_agents/test_lying_agents.py": 2,
    "tests/lying_agents/test_without_": 1,
    "tests/receipts/test_demo.py": 0,
    "tests/scanning/test_secret_kinds.py": 5,
    "tests/scenarios/test_all_extras.py": 0,
    "tests/scenarios/test_first_hour.py": 0,
    "tests/scenarios/test_public_packages.py": 0,
    "tests/scenarios/test_two_hosts.py": 0,
    "tests/scenarios/test_wheel.py": 0,
    "tests/scenarios/": 1,
    "tests/stacks/test_canaries.py": 1,
    "tests/stacks/test_hostile_text.py": 6,
    "tests/store/test_chain_machine.py": 0,
    "tests/store/test_queue_machine.py": 0,
    "tests/store/test_schema_range.py": 1,
    "tests/system/test_seccomp.py::test_builds_find_nothing_missing": 1,
    "tests/writes/test_after_each_write.py": 2,
}
"""Where they are, and how many cases of each place a sample has."""
LONGEST = (
    "tests/crash/test_random_kills.py",
    "tests/crash/test_landing_repair.py",
    "tests/scenarios/test_public_packages.py",
    "tests/scenarios/test_first_hour.py",
    "tests/scenarios/test_all_extras.py",
    "tests/scenarios/test_wheel.py",
    "tests/examples/",
    "tests/gates/test_gate_mutation_full.py",
)
"""Begun first: one of them at the end would leave the other workers idle."""
WHOLE = ("tests/lying_agents/test_lying_agents.py", "tests/lying_agents/test_honest_agents.py", "tests/escape/")
"""Never thinned: what lands, what is refused and what gets out is asked of every case each time."""
FEW = 6
"""So many cases of a place are run at least, whatever the share."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("matrices")
    group.addoption(
        "--matrices", choices=("all", "sample", "rest", "only", "none"), default="all",
        help="exhaustive matrices: all of them, a sample by seed, only what that sample leaves out, only them, none",
    )  # fmt: skip
    group.addoption("--seed", default="", help="the seed of the sample, to repeat one")
    group.addoption("--share", type=float, default=1.0, help="how much of each large matrix `rest` and `only` have")


def pytest_configure(config: pytest.Config) -> None:
    """Workers choose by the seed of whoever started them."""
    if not hasattr(config, "workerinput"):
        os.environ[SEED] = config.getoption("--seed") or str(random.randrange(1_000_000))


def pytest_report_header(config: pytest.Config) -> str | None:
    return _told(config) if _chosen_by_seed(config) else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Also in a quiet run, which has no header."""
    if _chosen_by_seed(config):
        terminalreporter.write_line(_told(config))


def _chosen_by_seed(config: pytest.Config) -> bool:
    return config.getoption("--matrices") == "sample" or config.getoption("--share") < 1


def _told(config: pytest.Config) -> str:
    seed, share = os.environ[SEED], config.getoption("--share")
    if config.getoption("--matrices") == "sample":
        return f"a sample of the matrices by seed {seed}; repeat it: make test SEED={seed}"
    return f"{share:.0%} of each large matrix by seed {seed}; repeat it: make proof SEED={seed} SHARE={share}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))
    how = config.getoption("--matrices")
    if how == "all":
        return
    cells = {item for item in items if place_of(item) is not None}
    sample = sampled(cells, os.environ[SEED])
    left = {
        "sample": cells - sample,
        "rest": set(items) - (cells - sample),
        "only": set(items) - cells,
        "none": cells,
    }[how]
    if how in ("rest", "only"):
        left |= cells - left - shared(cells - left, os.environ[SEED], config.getoption("--share"))
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]


def place_of(item: pytest.Item) -> str | None:
    """The first of the table that it belongs to; None where it belongs to no matrix."""
    return next((place for place in MATRICES if item.nodeid.startswith(place)), None)


def sampled(cells: Iterable[pytest.Item], seed: str) -> set[pytest.Item]:
    """The same for every worker, whatever else is collected."""
    chosen: set[pytest.Item] = set()
    for place, group in _by_place(cells).items():
        chosen.update(random.Random(f"{seed} {place}").sample(group, min(MATRICES.get(place, 0), len(group))))
    return chosen


def shared(cells: Iterable[pytest.Item], seed: str, share: float) -> set[pytest.Item]:
    """That part of each place; all of a small one, and of those that are never thinned."""
    chosen: set[pytest.Item] = set()
    for place, group in _by_place(cells).items():
        wanted = len(group) if place.startswith(WHOLE) else max(FEW, math.ceil(len(group) * share))
        chosen.update(random.Random(f"{seed} {place} share").sample(group, min(wanted, len(group))))
    return chosen


def _by_place(cells: Iterable[pytest.Item]) -> dict[str, list[pytest.Item]]:
    places: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in sorted(cells, key=lambda item: item.nodeid):
        places[place_of(item) or ""].append(item)
    return places
