"""The processes of a forge of ours."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from damascus.system.daemon import Daemon
from damascus.trial_forge.programs import as_user


def spawn(
    argv: Sequence[str], folder: Path, environ: Mapping[str, str], number: int | None, *, log: Path, tied: bool
) -> Daemon:
    """`tied`: it ends with the thread that started it, however that ends (a test run)."""
    setpriv = shutil.which("setpriv") if tied else None
    words = [setpriv, "--pdeathsig", "TERM", *argv] if setpriv else list(argv)
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        started = subprocess.Popen(words, cwd=folder, env=environ, stdout=handle, stderr=handle, **as_user(number))
    finally:
        os.close(handle)
    started.returncode = 0  # it is ours to reap, by Daemon.end, maybe from another process: Popen must not warn
    return Daemon.of(started.pid)
