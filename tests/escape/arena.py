"""What there is to reach from inside: stand-ins, in one folder of the test's own, for all that an agent must not touch.

Each is made when an attempt first names its variable, and watched from outside.
"""

import ctypes
import os
import pty
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path

from damascus.store.embedded.place import SOCKET
from tests.databases import shared_server

SECRET = "the-secret-of-this-arena"
TIP = "a" * 40 + "\n"
NOBODY = 65534
PRIVATE_KEY = 0o600
IPC_CREAT, IPC_RMID = 0o1000, 0

VICTIM = """
import ctypes, os, signal, sys
hits, word = 0, ctypes.create_string_buffer(b"untouched", 64)
held = os.open(sys.argv[1], os.O_RDONLY)
def hit(*_):
    global hits
    hits += 1
signal.signal(signal.SIGUSR1, hit)
print(ctypes.addressof(word), held, flush=True)
for _ in sys.stdin:
    print(hits, word.value.decode(), flush=True)
"""
"""A process of the same user that was never asked: it counts the signals that reach it and tells its memory."""


class Arena:
    """`uid` is who the attempts run as. The files are that user's, as an agent's user owns them."""

    def __init__(self, uid: int) -> None:
        self.uid = uid
        self.other_uid = NOBODY if uid != NOBODY else 0
        self.name = f"damascus-escape-{uuid.uuid4().hex[:12]}"
        self.folder = Path(tempfile.mkdtemp(prefix=f"{self.name}-"))
        self._ends: list[Callable[[], object]] = []
        files = {
            "user/.bashrc": "# mine\n", "user/.ssh/id_ed25519": SECRET, "user/.aws/credentials": SECRET,
            "repo/.git/refs/heads/main": TIP, "data/mirror.git/refs/heads/main": TIP,
            "data/mirror.git/config": "[core]\n", "data/mirror.git/objects/aa/aa": "object",
            "data/mirror.git/hooks/README": "", "data/worktrees/S-2/.env": SECRET, "data/worktrees/S-1/m.py": "",
            "data/postgres/password": SECRET,
            "data/runs/S-1/brief.json": "{}", "data/runs/S-1/transcript.txt": "", "data/homes/S-1/.keep": "",
        }  # fmt: skip
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (self.folder / "user/.ssh/id_ed25519").chmod(PRIVATE_KEY)
        self.folder.chmod(0o755)

    # ── folders ───────────────────────────────────────────────────────────────────────────────────────

    @property
    def user(self) -> Path:
        return self.folder / "user"

    @property
    def mirror(self) -> Path:
        return self.folder / "data/mirror.git"

    @property
    def workspace(self) -> Path:
        return self.folder / "data/worktrees/S-1"

    @property
    def home(self) -> Path:
        return self.folder / "data/homes/S-1"

    @property
    def run_folder(self) -> Path:
        return self.folder / "data/runs/S-1"

    @property
    def brief(self) -> Path:
        return self.run_folder / "brief.json"

    def looted(self) -> bool:
        """Did it bring something home?"""
        loot = self.workspace / "loot"
        return loot.exists() and loot.read_text(errors="replace").strip() != ""

    def stole(self) -> bool:
        return self.looted() and SECRET in (self.workspace / "loot").read_text(errors="replace")

    @cached_property
    def vault(self) -> Path:
        """Another account's, with a set-uid program of that account's beside it that could read it."""
        cat = self.folder / "cat"
        shutil.copyfile(shutil.which("cat") or "/bin/cat", cat)
        vault = self.folder / "vault"
        vault.write_text(SECRET)
        for path, mode in ((cat, 0o755 | stat.S_ISUID), (vault, PRIVATE_KEY)):
            if os.geteuid() == 0:
                os.chown(path, self.other_uid, -1)
            path.chmod(mode)
        return vault

    # ── processes ─────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def victim(self) -> subprocess.Popen[str]:
        open_file = self.folder / "open"
        open_file.write_text(SECRET)
        argv = [python_for(self.uid), "-c", VICTIM, str(open_file), f"--token={SECRET}"]
        process = subprocess.Popen(
            as_user(self.uid, argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self.user,
            env={"TOKEN": SECRET, "PATH": os.defpath},
        )  # fmt: skip
        assert process.stdout
        self.word_at, self.held = process.stdout.readline().split()
        self._priority = os.getpriority(os.PRIO_PROCESS, process.pid)
        self._ends += [process.kill, process.wait]
        return process

    def slowed(self) -> bool:
        """Since its start: whoever runs the suite may have made all of it slower."""
        return os.getpriority(os.PRIO_PROCESS, self.victim.pid) != self._priority

    def asked(self) -> tuple[int, str]:
        """Signals that reached the victim, and the word in its memory."""
        assert self.victim.stdin and self.victim.stdout
        self.victim.stdin.write("?\n")
        self.victim.stdin.flush()
        hits, word = self.victim.stdout.readline().split()
        return int(hits), word

    @cached_property
    def shared_memory(self) -> int:
        """A System V segment of the same user's."""
        libc = ctypes.CDLL(None, use_errno=True)
        number = int(libc.shmget(os.getpid(), 64, IPC_CREAT | 0o666))
        assert number >= 0
        self._ends.append(lambda: libc.shmctl(number, IPC_RMID, None))
        return number

    def in_shared_memory(self) -> bytes:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.shmat.restype = ctypes.c_void_p
        address = libc.shmat(self.shared_memory, None, 0)
        content = ctypes.string_at(address, 8)
        libc.shmdt(ctypes.c_void_p(address))
        return content

    @cached_property
    def queue(self) -> int:
        """A message queue of the same user's."""
        libc = ctypes.CDLL(None, use_errno=True)
        name = f"/{self.name}".encode()
        number = int(libc.mq_open(name, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o666, None))
        assert number >= 0
        os.chmod(number, 0o666)
        self._ends += [lambda: os.close(number), lambda: libc.mq_unlink(name)]
        return number

    def in_queue(self) -> bool:
        into = ctypes.create_string_buffer(1 << 16)
        return int(ctypes.CDLL(None).mq_receive(self.queue, into, ctypes.c_long(len(into)), None)) > 0

    @cached_property
    def shm_file(self) -> Path:
        path = Path("/dev/shm", self.name)
        path.write_text("mine")
        self._ends.append(path.unlink)
        return self._theirs(path)

    @cached_property
    def terminal(self) -> tuple[int, str]:
        """Our end, and the name of the end where a person would type."""
        ours, theirs = pty.openpty()
        os.set_blocking(ours, False)
        name = os.ttyname(theirs)
        if os.geteuid() == 0:
            os.chown(name, self.uid, -1)
        self._ends += [lambda: os.close(ours), lambda: os.close(theirs)]
        return ours, name

    def on_terminal(self) -> bytes:
        with suppress(BlockingIOError):
            return os.read(self.terminal[0], 100)
        return b""

    def in_keyring(self, ring: int) -> bool:
        """Is there a key with our name in this process's own keyring?"""
        return keyctl(10, ring, b"user", self.name.encode(), 0) > 0

    # ── listeners ─────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def tcp(self) -> socket.socket:
        return self._listening(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))

    @cached_property
    def gateway_tcp(self) -> socket.socket:
        """Where an agent under Landlock reaches the gateway."""
        return self._listening(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))

    @cached_property
    def same_port(self) -> socket.socket:
        """Somebody else's, at another address."""
        return self._listening(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.2", self.gateway_tcp.getsockname()[1]))

    @cached_property
    def udp(self) -> socket.socket:
        return self._listening(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))

    @cached_property
    def abstract(self) -> socket.socket:
        return self._listening(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.name}")

    @cached_property
    def agent_socket(self) -> socket.socket:
        return self._at(self.user / ".ssh/agent.sock")

    @cached_property
    def database(self) -> socket.socket:
        return self._at(self.folder / "data/postgres/run/.s.PGSQL.5432")

    @cached_property
    def gateway(self) -> socket.socket:
        """The one that is bound into every cage."""
        return self._at(self.folder / "data/gateway/model.sock")

    def _at(self, path: Path) -> socket.socket:
        path.parent.mkdir(parents=True, exist_ok=True)
        listener = self._listening(socket.AF_UNIX, socket.SOCK_STREAM, str(path))
        self._theirs(path)
        return listener

    def _listening(self, family: int, kind: int, address: object) -> socket.socket:
        listener = socket.socket(family, kind)
        listener.setblocking(False)
        listener.bind(address)  # type: ignore[arg-type]
        if kind == socket.SOCK_STREAM:
            listener.listen()
        self._ends.append(listener.close)
        return listener

    def heard(self, listener: socket.socket) -> bool:
        """What was sent is there already: the kernel takes it in before `send` returns."""
        with suppress(BlockingIOError):
            if listener.type == socket.SOCK_DGRAM:
                return bool(listener.recv(100))
            with listener.accept()[0] as connection:
                return bool(connection.recv(100))
        return False

    # ── an attempt's words ────────────────────────────────────────────────────────────────────────────

    def variables(self, text: str) -> dict[str, str]:
        """Only what the attempt names is made."""
        known: dict[str, Callable[[], object]] = {
            "USER_HOME": lambda: self.user, "REPO": lambda: self.folder / "repo", "MIRROR": lambda: self.mirror,
            "OTHER": lambda: self.folder / "data/worktrees/S-2", "RUN": lambda: self.run_folder,
            "BRIEF": lambda: self.brief, "NAME": lambda: self.name, "VAULT": lambda: self.vault,
            "VICTIM": lambda: self.victim.pid, "WORD_AT": lambda: self.word_at, "HELD": lambda: self.held,
            "SHM_FILE": lambda: self.shm_file, "SHM_ID": lambda: self.shared_memory,
            "TERMINAL": lambda: self.terminal[1], "QUEUE": lambda: (self.queue, self.name)[1],
            "PASSWORD": lambda: self.folder / "data/postgres/password", "POSTGRES": postgres_socket,
            "SAME_PORT": lambda: self.same_port.getsockname()[1],
            "TCP": lambda: self.tcp.getsockname()[1], "UDP": lambda: self.udp.getsockname()[1],
            "ABSTRACT": lambda: (self.abstract, self.name)[1],
            "AGENT_SOCKET": lambda: str(self.agent_socket.getsockname()),
            "DATABASE": lambda: str(self.database.getsockname()),
            "GATEWAY": lambda: str(self.gateway.getsockname()),
            "HANDLE": lambda: file_handle(self.user / ".ssh/id_ed25519"),
        }  # fmt: skip
        named = {name: str(make()) for name, make in known.items() if name in text}
        return {"PATH": os.defpath, "PYTHON": python_for(self.uid), "HOME": str(self.home), **named}

    def hand_over(self) -> None:
        """All to the user that attempts run as."""
        if os.geteuid() == 0 and self.uid != 0:
            for folder, _, files in os.walk(self.folder):
                for path in (folder, *(os.path.join(folder, name) for name in files)):
                    if os.path.basename(path) not in ("vault", "cat"):
                        os.chown(path, self.uid, -1, follow_symlinks=False)

    def _theirs(self, path: Path) -> Path:
        if os.geteuid() == 0:
            os.chown(path, self.uid, -1)
        return path

    def close(self) -> None:
        for end in self._ends:
            with suppress(OSError):
                end()
        shutil.rmtree(self.folder, ignore_errors=True)


def as_user(uid: int, argv: list[str]) -> list[str]:
    if uid == os.geteuid():
        return argv
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--", *argv]


@cache
def python_for(uid: int) -> str:
    """Ours, if that user can run it, else the system's."""
    if uid == os.geteuid():
        return sys.executable
    for program in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        # By a shell: setpriv itself still has root's eyes when it looks for the program.
        if (
            subprocess.run(as_user(uid, ["/bin/sh", "-c", f"exec {program} -c ''"]), capture_output=True).returncode
            == 0
        ):
            return program
    raise AssertionError(f"uid {uid} can run no Python: install the system's python3")


def postgres_socket() -> Path:
    """Of a real server as Damascus starts it, at work for the whole run."""
    return shared_server().place.sockets / SOCKET


def keyctl(*args: object) -> int:
    number = {"x86_64": 250, "aarch64": 219}[os.uname().machine]
    return int(ctypes.CDLL(None, use_errno=True).syscall(number, *args))


def file_handle(path: Path) -> str:
    """The kernel's name of a file, whatever mounts there are: type and bytes, as hex."""
    raw = ctypes.create_string_buffer(8 + 128)
    ctypes.memmove(raw, (128).to_bytes(4, sys.byteorder), 4)
    mount = ctypes.c_int()
    done = ctypes.CDLL(None, use_errno=True).name_to_handle_at(-100, os.fsencode(path), raw, ctypes.byref(mount), 0)
    return raw.raw.hex() if done == 0 else ""


keyctl(1, None)
"""A session's keyring, as a login gives one: what is started from here on inherits it."""
