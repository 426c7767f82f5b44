"""A command in a sandbox without a network reaches the model gateway through the forwarder, and nothing else."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from damascus.gateway import forwarder
from damascus.gateway.bridge import INSIDE, GatewayBridge, WayOut
from damascus.system import bubblewrap, procfs
from damascus.system.process import run
from damascus.system.sandbox import Cage, Level, detect
from tests.agents.upstream import Gateway, Talk, free_port
from tests.waiting import eventually

KEY = "sk-the-real-one-4711"
PYTHON = os.path.realpath(sys.executable)
ASK = """
import http.client, json, os, socket, sys
inside, outside = int(sys.argv[1]), int(sys.argv[2])
def said(port):
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    line.request("POST", "/v1/messages", b"{}", {"x-api-key": "dummy"})
    return line.getresponse().read().decode()
try:
    other = said(outside)
except OSError as err:
    other = type(err).__name__
links = sorted(name for _, name in socket.if_nameindex())
print(json.dumps({"model": said(inside), "other": other, "links": links, "environ": dict(os.environ)}))
"""


def bwrap(way: WayOut, command: Sequence[str], *further: str) -> list[str]:
    program = next(form.program for form in bubblewrap.forms())
    shown = [word for path in ("/usr", "/lib", "/lib64", "/bin", *map(str, way.reads)) for word in
             ("--ro-bind-try", path, path)]  # fmt: skip
    alone = ["--unshare-user", "--unshare-pid", "--unshare-net", "--die-with-parent", "--new-session", "--clearenv"]
    made = ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--bind", str(way.socket), str(way.socket)]
    return [program, *alone, *made, *shown, *further, "--", *way.prefix(Level.BUBBLEWRAP), *command]


@pytest.mark.req("D5", "W9")
def test_inside_no_network_only_the_model_is_there(tmp_path: Path) -> None:
    with Gateway() as elsewhere, Gateway() as gateway, GatewayBridge(gateway.url, KEY).open(tmp_path) as way:
        port = int(elsewhere.url.rpartition(":")[2])
        command = bwrap(way, [PYTHON, "-I", "-S", "-c", ASK, str(INSIDE), str(port)])
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert (told["model"], told["other"], told["links"]) == ('{"ok": true}', "ConnectionRefusedError", ["lo"])
        assert KEY not in done.stdout
        assert gateway.asked[0].headers["x-api-key"] == KEY
        assert elsewhere.asked == []


@pytest.mark.req("D5", "W9")
def test_inside_the_cage_that_agents_get(tmp_path: Path) -> None:
    """The same with what an agent step is really started with."""
    if detect() is not Level.BUBBLEWRAP:
        pytest.skip("bubblewrap is missing or not allowed here: apt-get install bubblewrap")
    work = tmp_path / "work"
    work.mkdir()
    with Gateway() as elsewhere, Gateway() as gateway, GatewayBridge(gateway.url, KEY).open(tmp_path / "way") as way:
        level = Level.BUBBLEWRAP
        cage = Cage(level, write=(work,), read=way.reads, gateway=way.socket, port=way.port_at(level))
        words = [*way.prefix(level), PYTHON, "-I", "-S", "-c", ASK, str(INSIDE), elsewhere.url.rpartition(":")[2]]
        done = run(words, cwd=work, env={"PATH": "/usr/bin:/bin"}, log=tmp_path / "log", timeout=60, cage=cage)
        assert done.exit_code == 0, done.tail
        told = json.loads((tmp_path / "log").read_text())
        assert (told["model"], told["other"]) == ('{"ok": true}', "ConnectionRefusedError")
        assert elsewhere.asked == []


@pytest.mark.req("D5")
def test_events_pass_the_forwarder_one_by_one(tmp_path: Path) -> None:
    """The agent's answer to each event is a file that the gateway waits for before it sends the next."""
    work = tmp_path / "work"
    work.mkdir()
    agent = f"""
import http.client, pathlib
line = http.client.HTTPConnection("127.0.0.1", {INSIDE}, timeout=20)
line.request("POST", "/v1/messages", b"{{}}")
stream = line.getresponse()
for n in range(4):
    assert stream.readline() == b"data: %d\\n" % n
    stream.readline()
    pathlib.Path("{work}", str(n)).touch()
assert stream.read() == b""
"""

    def answer(talk: Talk) -> None:
        talk.begin_stream()
        for n in range(4):
            talk.event(str(n))
            eventually(lambda n=n: (work / str(n)).exists(), what=f"event {n} at the agent")  # type: ignore[misc]
        talk.end_stream()

    with Gateway(answer) as gateway, GatewayBridge(gateway.url, KEY).open(tmp_path / "way") as way:
        command = bwrap(way, [PYTHON, "-I", "-S", "-c", agent], "--bind", str(work), str(work))
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr


# ── the process itself, without a sandbox ─────────────────────────────────────────────────────────────


def forwarding(path: Path, port: int, command: Sequence[str]) -> list[str]:
    file = str(Path(forwarder.__file__).resolve())
    return [PYTHON, "-I", "-S", file, "--socket", str(path), "--port", str(port), "--", *command]


def listens(port: int) -> bool:
    """By the kernel's own table: a connection would be one more for the forwarder."""
    lines = Path("/proc/net/tcp").read_text().splitlines()
    return any(line.split()[1] == f"0100007F:{port:04X}" and line.split()[3] == "0A" for line in lines)


@pytest.mark.req("W9")
@pytest.mark.parametrize("how", ["exit 3", "kill -9 $$"])
def test_it_ends_with_the_command(tmp_path: Path, how: str) -> None:
    port = free_port()
    with subprocess.Popen(forwarding(tmp_path / "s", port, ["/bin/sh", "-c", f"read x; {how}"]), stdin=-1) as command:
        eventually(lambda: listens(port), what="the forwarder")
        assert command.stdin
        command.stdin.write(b"\n")
        command.stdin.close()
        assert command.wait(10) == (3 if "exit" in how else -9)
    eventually(lambda: not listens(port), what="the forwarder's end")


@pytest.mark.req("W9")
def test_the_command_is_the_process_itself_and_has_no_child_that_it_did_not_start(tmp_path: Path) -> None:
    port = free_port()
    with subprocess.Popen(forwarding(tmp_path / "s", port, ["/bin/cat"]), stdin=-1) as command:
        eventually(lambda: listens(port) and process_name(command.pid) == "cat", what="the command")
        assert [each for each in procfs.table().values() if each.ppid == command.pid] == []
        assert command.stdin
        command.stdin.close()
    eventually(lambda: not listens(port), what="the forwarder's end")


@pytest.mark.req("W9")
def test_it_holds_nothing_of_the_commands_files(tmp_path: Path) -> None:
    """The command closes its output and lives on: whoever reads it must see the end."""
    ours, theirs = os.pipe()
    closes = f"import os; os.close(1); os.close({theirs}); os.read(0, 1)"
    words = forwarding(tmp_path / "s", free_port(), [PYTHON, "-I", "-S", "-c", closes])
    with subprocess.Popen(words, stdin=-1, stdout=-1, pass_fds=[theirs]) as command:
        os.close(theirs)
        assert command.stdin and command.stdout
        for end in (command.stdout.fileno(), ours):
            assert select.select([end], [], [], 10)[0], "somebody else holds it open"
            assert os.read(end, 1) == b""
        assert command.poll() is None
        command.stdin.close()
    os.close(ours)


def process_name(pid: int) -> str:
    found = procfs.process(pid)
    return found.name if found else ""


@pytest.mark.req("W9")
def test_a_command_that_is_not_there_and_a_port_that_is_taken(tmp_path: Path) -> None:
    done = subprocess.run(forwarding(tmp_path / "s", free_port(), ["/no/such"]), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (127, "damascus: /no/such: No such file or directory\n")
    with Gateway() as gateway:
        port = int(gateway.url.rpartition(":")[2])
        done = subprocess.run(forwarding(tmp_path / "s", port, ["/bin/true"]), capture_output=True, text=True)
        assert (done.returncode, "Address already in use" in done.stderr) == (127, True)


@pytest.mark.req("D5")
def test_it_starts_in_less_than_40_milliseconds(tmp_path: Path) -> None:
    """The processor's time, the best of ten: how busy the machine is must not decide."""

    def seconds() -> float:
        started = subprocess.Popen(forwarding(tmp_path / "s", free_port(), ["/bin/true"]))
        _, status, used = os.wait4(started.pid, 0)
        started.returncode = status
        assert status == 0
        return used.ru_utime + used.ru_stime

    assert min(seconds() for _ in range(10)) < 0.040


@pytest.mark.req("D5")
def test_it_imports_next_to_nothing(tmp_path: Path) -> None:
    """What makes it slow to start, told without a clock."""
    words = forwarding(tmp_path / "s", free_port(), ["/bin/true"])
    done = subprocess.run([words[0], "-X", "importtime", *words[1:]], capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "_socket" in imported
    assert imported & {"socket", "typing", "selectors", "enum", "re", "contextlib", "subprocess", "threading"} == set()
