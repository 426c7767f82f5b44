"""Landlock's own rules."""

import sys
from pathlib import Path

import pytest

from damascus.system import landlock, process
from damascus.system.process import Finished
from damascus.system.sandbox import Cage, Level
from tests.levels import need


def under(rules: dict[str, object], program: str, folder: Path) -> Finished:
    class Bounds(Cage):
        def rules(self) -> dict[str, object]:
            return rules

    argv = [sys.executable, "-c", program]
    cage = Bounds(need(Level.LANDLOCK), write=(folder,))
    return process.run(argv, cwd=folder, env={}, log=folder / "log", timeout=20, cage=cage)


def given(folder: Path, ports: list[int] | None) -> dict[str, object]:
    rules = Cage(Level.LANDLOCK, write=(folder,)).rules()
    return {**rules, "ports": ports}


@pytest.mark.req("W9")
def test_rules_that_the_kernel_refuses_start_nothing(tmp_path: Path) -> None:
    """Fail closed: a command that can't be confined does not run."""
    if landlock.abi() < 4:
        pytest.skip("Landlock is too old for rules on ports: a kernel of 6.7 or newer")
    done = under(given(tmp_path, [1 << 20]), "open('ran', 'w')", tmp_path)
    assert done.exit_code == 127 and "Landlock can't confine it" in done.tail
    assert not (tmp_path / "ran").exists()


@pytest.mark.req("W9")
def test_no_privilege_is_left(tmp_path: Path) -> None:
    done = under(given(tmp_path, []), "print(open('/proc/self/status').read())", tmp_path)
    told = dict(line.split(":", 1) for line in done.tail.splitlines() if ":" in line)
    assert (told["NoNewPrivs"].strip(), told["Seccomp"].strip()) == ("1", "2")
    assert int(told["CapEff"], 16) == int(told["CapPrm"], 16) == 0


@pytest.mark.req("W9")
@pytest.mark.parametrize(("ports", "refused"), [([], True), (None, False)])
def test_nothing_can_be_listened_on_unless_the_network_is_open(
    tmp_path: Path, ports: list[int] | None, refused: bool
) -> None:
    if landlock.abi() < 4:
        pytest.skip("Landlock is too old for rules on ports: a kernel of 6.7 or newer")
    done = under(given(tmp_path, ports), "import socket; socket.create_server(('127.0.0.1', 0))", tmp_path)
    assert ("Error" in done.tail) is refused


@pytest.mark.req("W9")
def test_a_path_that_is_gone_is_no_hindrance(tmp_path: Path) -> None:
    rules = given(tmp_path, [])
    rules["read"] = [*rules["read"], str(tmp_path / "gone")]  # type: ignore[misc]
    assert under(rules, "print('ran')", tmp_path).tail == "ran\n"
