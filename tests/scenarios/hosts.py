"""Hosts for tests: network namespaces of the test's own, joined by veth pairs. Nothing in them reaches anything else.

    with network("host-a", "host-b") as net:
        net.server.start([...])               # where database and forge answer, at SERVER
        net.hosts["host-a"].start([...])
        net.hosts["host-a"].cut()             # the link is down, both ends believe they are connected
        net.hosts["host-a"].mend()
        net.hosts["host-a"].kill()            # every process of it, at once

Each host has a name of its own, too, so that no worker takes the other's processes for its own host's.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SERVER = "10.77.0.1"
ROOT = os.geteuid() == 0
OWN_USERS = [] if ROOT else ["--user", "--map-current-user", "--keep-caps"]
JOIN_USERS = [] if ROOT else ["--user", "--preserve-credentials"]
MISSING = "network namespaces can't be made: run as root or allow unprivileged ones (iproute2, util-linux)"


@dataclass
class Host:
    """A namespace, held by a shell that does what it is told inside."""

    name: str
    holder: subprocess.Popen[str]
    mark: str = ""
    link: str = ""
    server: "Host | None" = None
    started: list[subprocess.Popen[Any]] = field(default_factory=list)

    @classmethod
    def make(cls, name: str, inside: "Host | None" = None) -> "Host":
        """`inside`: below the users of that one, who may then configure both."""
        before = inside.entered(users_only=True) if inside and not ROOT else []
        command = [*before, "unshare", *OWN_USERS, "--net", "--uts", "sh"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        host = cls(name, subprocess.Popen(command, text=True, start_new_session=True, **pipes), server=inside)
        host.do(f"hostname {name}", "ip link set lo up")
        host.mark = os.readlink(f"/proc/{host.holder.pid}/ns/uts")
        return host

    def do(self, *commands: str) -> None:
        for command in commands:
            assert self.holder.stdin is not None and self.holder.stdout is not None
            with suppress(BrokenPipeError):
                self.holder.stdin.write(f"{command} 2>&1 | tr '\\n' ' '; echo\n")
                self.holder.stdin.flush()
            if said := self.holder.stdout.readline().strip():
                raise OSError(f"{command}: {said}")
            if self.holder.poll() is not None:
                raise OSError(f"{command}: the namespace is gone")

    def entered(self, *, users_only: bool = False) -> list[str]:
        kinds = JOIN_USERS if users_only else [*JOIN_USERS, "--net", "--uts"]
        return ["nsenter", "--target", str(self.holder.pid), *kinds, "--"]

    def start(self, command: Sequence[str], environ: Mapping[str, str], **how: Any) -> subprocess.Popen[Any]:
        process = subprocess.Popen([*self.entered(), *command], env=dict(environ), **how)
        self.started.append(process)
        return process

    # ── what can happen to a host ─────────────────────────────────────────────────────────────────────

    def cut(self) -> None:
        assert self.server is not None
        self.server.do(f"ip link set {self.link} down")

    def mend(self) -> None:
        assert self.server is not None
        self.server.do(f"ip link set {self.link} up")

    def kill(self) -> None:
        """As if its power was cut: no process of it has a last word. The namespace stays for its next start."""
        while found := self.processes():
            for pid in found:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for process in self.started:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(0.05)

    def processes(self) -> list[int]:
        """Every living process in it but its holder."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                here = os.readlink(entry / "ns/uts") == self.mark and int(entry.name) != self.holder.pid
                if here and (entry / "stat").read_text().rpartition(") ")[2][:1] != "Z":
                    found.append(int(entry.name))
        return found

    def close(self) -> None:
        self.kill()
        self.holder.kill()
        self.holder.communicate()


@dataclass(frozen=True)
class Network:
    """A server, and hosts that reach it and nothing else."""

    server: Host
    hosts: dict[str, Host]


@contextmanager
def network(*names: str) -> Iterator[Network]:
    if not all(shutil.which(program) for program in ("unshare", "nsenter", "ip", "hostname")):
        pytest.skip(MISSING)
    made: list[Host] = []
    try:
        try:
            server = Host.make("server")
            made.append(server)
            server.do(f"ip addr add {SERVER}/32 dev lo")
            for number, name in enumerate(names, 1):
                made.append(_joined(server, number, name))
        except OSError as err:
            pytest.skip(f"{MISSING} ({err})")
        yield Network(server, {host.name: host for host in made[1:]})
    finally:
        for host in reversed(made):
            host.close()


def _joined(server: Host, number: int, name: str) -> Host:
    host = Host.make(name, server)
    host.link = f"to-{number}"
    server.do(
        f"ip link add {host.link} type veth peer name uplink netns {host.holder.pid}",
        f"ip addr add {address(number, 1)}/24 dev {host.link}",
        f"ip link set {host.link} up",
    )
    host.do(
        f"ip addr add {address(number, 2)}/24 dev uplink",
        "ip link set uplink up",
        f"ip route add {SERVER} via {address(number, 1)}",
    )
    return host


def address(number: int, end: int) -> str:
    return f"10.77.{number}.{end}"
