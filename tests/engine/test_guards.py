"""Guards: nothing is begun without room on the machine, and no two checkouts share ports, caches or temporary files."""

import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from damascus.domain.config import LimitsConfig
from damascus.domain.errors import TransientError
from damascus.engine.guards import disk_guard, guard, load_guard, machine_load
from damascus.stacks.others import toolchains
from damascus.system.checkouts import checkout_environment
from damascus.system.ports import BLOCK, PortBlocks, is_free
from tests.waiting import eventually
from tests.yard import CONFIG, HONEST, Yard, story


@pytest.mark.req("X10")
@pytest.mark.parametrize(
    ("load", "cores", "per_core", "begins"),
    [(0.0, 2, 8.0, True), (16.0, 2, 8.0, True), (16.1, 2, 8.0, False), (3.0, 1, 2.0, False), (99.0, 1, 0.0, True)],
)
def test_nothing_new_is_begun_on_a_busy_machine(load: float, cores: int, per_core: float, begins: bool) -> None:
    told = load_guard(per_core, load, cores)
    assert (told is None) == begins
    assert told is None or (f"{load:.1f} on {cores} cores" in told and "load_per_core" in told)


@pytest.mark.req("X10")
def test_disk_and_load_of_this_machine_are_looked_at(tmp_path: Path) -> None:
    load, cores = machine_load()
    assert load >= 0 and 1 <= cores <= (os.cpu_count() or 1)
    calm = LimitsConfig(disk_reserve_mb=0, load_per_core=0.0)
    assert guard(tmp_path, calm) is None
    told = guard(tmp_path, calm.model_copy(update={"disk_reserve_mb": 10**9}))
    assert told is not None and told == disk_guard(tmp_path, 10**9) and "the reserve is" in told


@pytest.mark.req("X10")
def test_the_load_of_a_real_process_is_seen(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            limits = LimitsConfig(disk_reserve_mb=0, load_per_core=1e-9)
            eventually(lambda: guard(tmp_path, limits), 30, "the load of one busy process")
        finally:
            busy.kill()


# ── ports ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("X10")
def test_each_checkout_has_ten_ports_of_its_own(tmp_path: Path) -> None:
    blocks = PortBlocks(tmp_path / "ports", 21_000)
    with ExitStack() as held:
        ports = [held.enter_context(blocks.hold()) for _ in range(5)]
        assert len(set(ports)) == 5 and all((port - 21_000) % BLOCK == 0 for port in ports)
    with blocks.hold() as again:
        assert again == min(ports), "given back at the end"


@pytest.mark.req("X10")
@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_block_in_which_somebody_listens_is_passed_over(tmp_path: Path, family: int, address: str) -> None:
    blocks = PortBlocks(tmp_path / "ports", 22_000)
    with blocks.hold() as first:
        pass
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, first + 7))
        listener.listen()
        assert not is_free(first + 7)
        with blocks.hold() as next_one:
            assert next_one > first
    assert is_free(first + 7)


@pytest.mark.req("X10")
def test_another_process_keeps_its_block_until_it_ends(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from damascus.system.ports import PortBlocks\n"
        "with PortBlocks(Path(sys.argv[1]), 23000).hold() as port: print(port, flush=True); sys.stdin.read()"
    )
    blocks = PortBlocks(tmp_path, 23_000)
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        theirs = int(other.stdout.readline())
        with blocks.hold() as mine:
            assert mine != theirs
        other.kill()
        other.wait()
        with blocks.hold() as mine:
            assert mine == theirs, "a process that dies gives its ports back"


@pytest.mark.req("X10")
def test_when_all_are_taken_the_story_waits(tmp_path: Path) -> None:
    blocks = PortBlocks(tmp_path, 65_520)
    with blocks.hold() as port:
        assert port == 65_520
        with pytest.raises(TransientError, match="first_port"):
            with blocks.hold():
                pass


# ── temporary files and caches ────────────────────────────────────────────────────────────────────────


@pytest.mark.req("X10")
def test_each_checkout_has_its_own_temporary_files_and_caches(tmp_path: Path) -> None:
    blocks = PortBlocks(tmp_path / "ports", 24_000)
    caches = {name for each in toolchains() for name in each.caches}
    assert {"GOCACHE", "npm_config_cache"} & caches
    with checkout_environment(tmp_path / "a", blocks) as one, checkout_environment(tmp_path / "b", blocks) as other:
        assert set(one) == {"DAMASCUS_PORT", "TMPDIR", "XDG_CACHE_HOME", *caches} == set(other)
        assert [name for name in one if one[name] == other[name]] == []
        assert all(Path(value).is_relative_to(tmp_path / "a") for name, value in one.items() if name != "DAMASCUS_PORT")
        program = "import tempfile; print(tempfile.gettempdir())"
        told = subprocess.run([sys.executable, "-c", program], env=one, capture_output=True, text=True, check=True)
        assert told.stdout.strip() == one["TMPDIR"]
        (Path(one["TMPDIR"]) / "left").write_text("behind")
    with checkout_environment(tmp_path / "a", blocks) as again:
        assert list(Path(again["TMPDIR"]).iterdir()) == []


@pytest.mark.req("X10")
def test_what_a_killed_worker_left_is_gone_before_the_next_begins(tmp_path: Path) -> None:
    (tmp_path / "a" / "cache").mkdir(parents=True)
    (tmp_path / "a" / "cache" / "poisoned").write_text("")
    with checkout_environment(tmp_path / "a", PortBlocks(tmp_path / "ports", 25_000)) as env:
        assert list(Path(env["XDG_CACHE_HOME"]).iterdir()) == []


@pytest.mark.req("X10")
def test_a_worker_whose_guard_speaks_claims_nothing(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, config=CONFIG.replace("disk_reserve_mb = 0", "disk_reserve_mb = 1000000000"))
    yard.add(story("S-1"))
    worker = yard.worker(yard.agent(HONEST))
    worker.run(worker.stop)
    assert worker.paused is not None and "the reserve is" in worker.paused
    assert yard.item("S-1")["claims"] == 0
