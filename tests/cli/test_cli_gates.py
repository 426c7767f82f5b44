"""`doctor --gates`: known defects, planted in a clone of the person's own project (X17)."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.yard import CONFIG, NO_PYTEST_CACHE, Yard, python

pytestmark = pytest.mark.req("X17")
SUITE = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {python()} -m pytest -q {NO_PYTEST_CACHE} tests"


def looked(cli: Cli) -> tuple[int, dict[str, tuple[str, str]]]:
    done = cli("doctor", "--gates", "--json")
    return done.code, {check["name"]: (check["state"], check["says"]) for check in done.json["checks"]}


def test_a_set_up_that_sees_each_defect_says_by_which_gate(cli: Cli, yard: Yard) -> None:
    yard.commit({"damascus.toml": CONFIG.replace('command = "none"', f'command = "{SUITE}"')}, "a suite")
    before = yard.git("for-each-ref"), yard.git("status", "--porcelain")
    code, found = looked(cli)
    assert {name: state for name, (state, _) in found.items()} == dict.fromkeys(found, "ok"), found
    assert set(found) == {"secret", "scope", "test", "function"} and code == 0
    assert "seen by secrets (secret_found)" in found["secret"][1]
    assert (yard.git("for-each-ref"), yard.git("status", "--porcelain")) == before, (
        "the person's repository is as it was"
    )


def test_a_set_up_without_a_suite_is_told_what_it_does_not_see(cli: Cli, yard: Yard) -> None:
    code, found = looked(cli)
    assert code == 1
    assert (
        found["function"][0] == "fail"
        and "NOT SEEN" in found["function"][1]
        and "[test] command" in found["function"][1]
    )
    assert found["secret"][0] == found["scope"][0] == "ok"


def test_what_can_not_be_planted_is_told(cli: Cli, yard: Yard, tmp_path: Path) -> None:
    yard.git("rm", "-qr", "calc.py", "tests")
    yard.commit({"README": "nothing here\n"}, "no code")
    _, found = looked(cli)
    assert found["test"][0] == found["function"][0] == "warn"
    assert "could not be planted" in found["test"][1]
