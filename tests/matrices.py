"""Exhaustive matrices (kills, lies, escapes, queues and CI, real forges): `make test` runs a sample, `make proof` all.

Of each place of the table N cases are in a sample, chosen by a seed that is printed. Plain pytest runs everything.
"""

import os
import random
from collections import defaultdict
from collections.abc import Iterable

import pytest

SEED = "TESTS_SAMPLE_SEED"
MATRICES = {
    "tests/agents/test_claude.py": 2,
    "tests/agents/test_claude_writes.py": 2,
    "tests/agents/test_codex.py": 1,
    "tests/agents/test_headless.py": 2,
    "tests/agents/test_litellm.py": 0,
    "tests/agents/test_opencode.py": 1,
    "tests/cli/test_forge_doctor.py": 1,
    "tests/cli/test_forge_try.py": 1,
    "tests/cli/test_cli_recoveries.py": 2,
    "tests/cli/test_graph.py": 2,
    "tests/cli/test_worker.py": 1,
    "tests/contracts/test_agents.py": 3,
    "tests/contracts/test_forges.py": 3,
    "tests/contracts/test_gates.py": 6,
    "tests/cli/test_cli_changed_tests.py": 1,
    "tests/cli/test_cli_forge_main.py": 0,
    "tests/cli/test_backup.py": 2,
    "tests/cli/test_cli_gates.py": 1,
    "tests/crash/test_full_flow_killed.py": 2,
    "tests/crash/": 3,
    "tests/engine/test_approval.py": 2,
    "tests/engine/test_cascade.py": 2,
    "tests/engine/test_ci_every_job.py": 2,
    "tests/engine/test_ci_mirror_job.py": 3,
    "tests/engine/test_ci_real.py": 0,
    "tests/engine/test_ci_red.py": 3,
    "tests/engine/test_ci_waiting.py": 3,
    "tests/engine/test_full_stacks.py": 1,
    "tests/engine/test_rogue_agents.py": 3,
    "tests/engine/test_oversight.py": 3,
    "tests/engine/test_other_hosts.py": 1,
    "tests/engine/test_script_versions.py": 3,
    "tests/escape/test_escapes.py": 20,
    "tests/examples/": 0,
    "tests/forges/test_gitea_landing.py": 1,
    "tests/forges/test_github_contract.py": 6,
    "tests/forges/test_gitea_server.py": 1,
    "tests/gates/test_canary_expectations.py": 1,
    "tests/gates/test_canary_setting.py": 2,
    "tests/gates/test_code_from_elsewhere": 3,
    "tests/gates/test_gate_canary.py": 2,
    "tests/gates/test_gate_contracts.py": 4,
    "tests/gates/test_gate_contracts_oasdiff.py": 1,
    "tests/gates/test_gate_contracts_schemas.py": 4,
    "tests/gates/test_gate_contracts_server.py": 1,
    "tests/gates/test_gate_contracts_zod.py": 2,
    "tests/gates/test_gate_coverage": 1,
    "tests/gates/test_gate_knows_tests.py": 8,
    "tests/cli/test_cli_mutants.py": 1,
    "tests/gates/test_gate_mutation.py": 2,
    "tests/gates/test_gate_mutation_full.py": 1,
    "tests/gates/test_gate_mutation_stacks.py": 1,
    "tests/gates/test_gate_old_tests.py": 2,
    "tests/gates/test_gate_old_tests_refactors.py": 1,
    "tests/gates/test_gate_red_green.py": 6,
    "tests/gates/test_gate_requirements.py": 6,
    "tests/gates/test_gate_secrets.py": 6,
    "tests/gates/test_gate_suite.py": 4,
    "tests/gates/test_kept_green.py": 3,
    "tests/gates/test_runner_tricks.py": 3,
    "tests/gates/test_runners_": 3,
    "tests/git/test_landing_killed.py": 6,
    "tests/git/test_remote.py": 3,
    "tests/lying_agents/test_confined_agents.py": 1,
    "tests/lying_agents/test_honest_agents.py": 3,
    "tests/lying_agents/test_lying_agents.py": 4,
    "tests/lying_agents/test_without_": 1,
    "tests/scanning/test_secret_kinds.py": 10,
    "tests/scenarios/test_all_extras.py": 0,
    "tests/scenarios/test_first_hour.py": 0,
    "tests/scenarios/test_public_packages.py": 0,
    "tests/scenarios/test_two_hosts.py": 0,
    "tests/scenarios/test_wheel.py": 0,
    "tests/scenarios/": 1,
    "tests/stacks/test_canaries.py": 2,
    "tests/stacks/test_hostile_text.py": 12,
    "tests/store/test_chain_machine.py": 0,
    "tests/store/test_queue_machine.py": 0,
    "tests/store/test_schema_range.py": 1,
    "tests/system/test_seccomp.py::test_builds_find_nothing_missing": 1,
    "tests/writes/test_after_each_write.py": 4,
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


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("matrices")
    group.addoption(
        "--matrices", choices=("all", "sample", "rest", "only", "none"), default="all",
        help="exhaustive matrices: all of them, a sample by seed, only what that sample leaves out, only them, none",
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
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]


def place_of(item: pytest.Item) -> str | None:
    """The first of the table that it belongs to; None where it belongs to no matrix."""
    return next((place for place in MATRICES if item.nodeid.startswith(place)), None)


def sampled(cells: Iterable[pytest.Item], seed: str) -> set[pytest.Item]:
    """The same for every worker, whatever else is collected."""
    places: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in sorted(cells, key=lambda item: item.nodeid):
        places[place_of(item) or ""].append(item)
    chosen: set[pytest.Item] = set()
    for place, group in places.items():
        chosen.update(random.Random(f"{seed} {place}").sample(group, min(MATRICES.get(place, 0), len(group))))
    return chosen
