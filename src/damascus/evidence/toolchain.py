"""Which tools a judged command finds on this machine, as text that is the same on a machine with the same ones.

Asked of the tools themselves, and again after a minute: a worker lives for days, and its machine is kept up to date.
A tool that is here and does not answer makes the answer unknown, and nothing is kept by it.
"""

import os
import platform
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from damascus.evidence.diff_paths import WORD
from damascus.stacks.others import toolchains
from damascus.stacks.python import INSTALLED

ASK_AGAIN = 60.0
PATIENCE = 20.0
PYTHON = re.compile(r"(?:.*/)?python[\d.]*")
SHEBANG = re.compile(rb"#! ?(\S*python[\d.]*)")
Call = tuple[str, ...]


@dataclass
class Answers:
    """What each call said last, and when."""

    told: dict[Call, tuple[float, str | None]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, calls: list[Call]) -> list[str | None]:
        with self.lock:
            now = time.monotonic()
            stale = [call for call in calls if call not in self.told or now - self.told[call][0] > ASK_AGAIN]
            if stale:
                with ThreadPoolExecutor(len(stale)) as lane:
                    self.told |= {call: (now, said) for call, said in zip(stale, lane.map(_said, stale), strict=True)}
            return [self.told[call][1] for call in calls]


ANSWERS = Answers()


def tools_for(command: str) -> str | None:
    """All stacks' tools, the programs that the command names, and the system; None: one of them can't be known."""
    named = sorted({path for word in WORD.findall(command) for path in _programs(word)})
    calls = [*_stacks_calls(), *(call for path in named for call in _python_of(path))]
    said = ANSWERS.of(list(dict.fromkeys(calls)))
    if any(each is None for each in said):
        return None
    return "\n".join([_system(), *(each or "" for each in said), *(_stamp(path) for path in named)])


def ask_ahead() -> None:
    """While an agent works: the first judged run would wait for the answers."""
    ANSWERS.of(list(dict.fromkeys(_stacks_calls())))


def _stacks_calls() -> Iterator[Call]:
    for call in (call for each in toolchains() for call in each.versions):
        program = shutil.which(call[0])
        if program:
            yield (program, *call[1:])


def _programs(word: str) -> Iterator[str]:
    """A word that is a program of this machine, not of the tree: by its path, or found on PATH."""
    found = word if os.path.isabs(word) else shutil.which(word) if "/" not in word else None
    if found and os.path.isfile(found) and os.access(found, os.X_OK):
        yield found


def _python_of(path: str) -> Iterator[Call]:
    """A Python, or a script of one (`pytest`): what is installed there decides as much as its version."""
    if PYTHON.fullmatch(path):
        yield (path, "-I", "-c", INSTALLED)
        return
    with open(path, "rb") as file:
        found = SHEBANG.match(file.read(300))
    if found and os.access(os.fsdecode(found[1]), os.X_OK):
        yield (os.fsdecode(found[1]), "-I", "-c", INSTALLED)


def _said(call: Call) -> str | None:
    env = {name: os.environ[name] for name in ("PATH", "HOME", "RUSTUP_HOME", "CARGO_HOME") if name in os.environ}
    try:
        done = subprocess.run(
            call, env=env, cwd="/", capture_output=True, timeout=PATIENCE, start_new_session=True, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


def _stamp(path: str) -> str:
    """Packages of a system bring their files with their times."""
    info = os.stat(path)
    return f"{path} {info.st_size} {info.st_mtime_ns}"


def _system() -> str:
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    named = " ".join(release.get(name, "") for name in ("ID", "VERSION_ID"))
    return f"{platform.system()} {platform.machine()} {' '.join(platform.libc_ver())} {named}"
