"""The project's own server, started from a clean checkout and asked by something that its code can't touch.

    in_the_cage.py   beside the server, in the sandbox of every judged command: leads a Unix socket to its port
    leading.py       in the sandbox of whoever asks: a port of that one's own loopback leads to the socket

Two sandboxes: neither questions nor answers lie where the server's code could write.
"""

import os
import shlex
import shutil
import stat
import sys
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, EvidenceRunner, TestRun
from damascus.gates.runs import job
from damascus.system import process
from damascus.system.sandbox import Cage, detect

HERE = Path(__file__).parent
LOOK = 0.05


class Asker(ABC):
    """ports.Probe: asks in a thread while the server runs, then lets it end."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.begun = False
        """Did the server listen?"""
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._folder = -1
        self._trouble: Exception | None = None

    @abstractmethod
    def ask(self, own: Path, socket: Path) -> None:
        """The server listens: ask it, with a folder of our own that goes away after it."""

    def begin(self, folder: Path, root: str, env: Mapping[str, str]) -> Mapping[str, str]:
        folder.mkdir(parents=True)
        shutil.copyfile(HERE / "in_the_cage.py", folder / "in_the_cage.py")
        # The server's code can write there, too: what we do in the folder is done in this very one, through no link.
        self._folder = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
        self._thread = threading.Thread(target=self._ask_when_open, args=(folder,), name="asking")
        self._thread.start()
        return {"DAMASCUS_SERVED": str(folder)}

    def end(self, folder: Path) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        os.close(self._folder)

    def run_asker(self, own: Path, socket: Path, script: Path, *words: str) -> process.Finished:
        """A script of ours, in a sandbox of its own that shows the socket."""
        for file in (script, HERE / "leading.py"):
            shutil.copyfile(file, own / file.name)
        return process.run(
            [sys.executable, "-I", script.name, str(socket), *words],
            cwd=own,
            env={"PATH": os.defpath, "LANG": "C.UTF-8", "TZ": "UTC", "HOME": str(own), "TMPDIR": str(own)},
            log=own / "log",
            timeout=self.seconds,
            stopping=lambda: 2 if self._over.is_set() else 0,
            cage=Cage(detect(), write=(own,), read=(socket.parent,)),
        )

    def raise_trouble(self) -> None:
        """In the gate's own thread: whatever went wrong in the other one."""
        if self._trouble is not None:
            raise self._trouble

    def _ask_when_open(self, folder: Path) -> None:
        try:
            while not self._over.wait(LOOK):
                if self._open_at(folder):
                    self.begun = True
                    with tempfile.TemporaryDirectory(prefix="damascus-asking-") as own:
                        self.ask(Path(own), folder / "socket")
                    break
        except Exception as err:
            self._trouble = err
        finally:
            with suppress(OSError):
                os.close(os.open("stop", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=self._folder))

    def _open_at(self, folder: Path) -> bool:
        """Is the socket there, and the folder still the one that was made?"""
        try:
            found = os.stat("socket", dir_fd=self._folder, follow_symlinks=False)
            return stat.S_ISSOCK(found.st_mode) and os.path.samestat(os.lstat(folder), os.fstat(self._folder))
        except OSError:
            return False


def run_server(
    runner: EvidenceRunner, candidate: Candidate, tree: Sha, command: str, asking: Asker, *, label: str
) -> TestRun:
    """The server of a tree for as long as it is asked."""
    inside = f'exec {shlex.quote(sys.executable)} -I -S "$DAMASCUS_SERVED/in_the_cage.py" "$DAMASCUS_SERVED" '
    wanted = job(candidate, tree, inside + shlex.quote(command), label)
    run = runner.run(replace(wanted, timeout=asking.seconds, fresh=True, probe=asking))
    asking.raise_trouble()
    return run.model_copy(update={"command": command})


def why_not(asking: Asker, run: TestRun, setting: str) -> str:
    """Why a server could not be asked; "" where that is not the server's part."""
    if run.timed_out:
        return f"it took over {asking.seconds:g} s ({setting})"
    return "" if asking.begun else "it did not listen on DAMASCUS_PORT of 127.0.0.1"
