"""Is this process really a PostgreSQL of this cluster?

A PID in a file proves nothing: after a crash or a reboot it may be a zombie or belong to somebody else's program.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

PROC = Path("/proc")


def recorded_ready(data: Path) -> bool:
    """Does the server say in postmaster.pid that it takes connections? After a kill it still does: look at the pid."""
    try:
        return (data / "postmaster.pid").read_text().split("\n")[7].strip() == "ready"
    except (OSError, IndexError):
        return False


def recorded_pid(data: Path) -> int | None:
    """The PID that postmaster.pid names, whoever has it now."""
    try:
        return abs(int((data / "postmaster.pid").read_text().split("\n", 1)[0]))
    except (OSError, ValueError):
        return None


def works_in(pid: int, data: Path, mark: str) -> bool:
    """True for a live postgres whose working folder is `data`; a zombie has neither program nor folder."""
    if not (PROC / "self").exists():
        return _command_has(pid, mark)
    try:
        program = os.path.basename(os.readlink(PROC / str(pid) / "exe")).removesuffix(" (deleted)")
        return program == "postgres" and os.path.samefile(PROC / str(pid) / "cwd", data)
    except PermissionError:
        # Another account's process. Root in a container often may not look either (no CAP_SYS_PTRACE).
        return _command_has(pid, mark)
    except OSError:
        return False


def servers_in(data: Path, mark: str) -> list[int]:
    """Every process of a PostgreSQL that works in `data`, recorded or not."""
    if (PROC / "self").exists():
        pids = [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]
    else:
        pids = [pid for pid in [recorded_pid(data)] if pid]
    return [pid for pid in pids if works_in(pid, data, mark)]


def signal_server(pid: int, data: Path, mark: str, number: signal.Signals) -> bool:
    """Signal the process only if it is the cluster's; on Linux a handle closes the gap between look and shot."""
    if sys.platform != "linux":
        return works_in(pid, data, mark) and _killed(pid, number)
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        if not works_in(pid, data, mark):
            return False
        signal.pidfd_send_signal(handle, number)
        return True
    finally:
        os.close(handle)


def _killed(pid: int, number: signal.Signals) -> bool:
    os.kill(pid, number)
    return True


def _command_has(pid: int, mark: str) -> bool:
    """The cluster's name is on the server's command line and in its children's titles."""
    try:
        if (PROC / "self").exists():
            command = (PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace")
        else:
            ps = ["ps", "-p", str(pid), "-o", "command="]
            command = subprocess.run(ps, capture_output=True, text=True, start_new_session=True).stdout.replace(
                " -D ", "\0"
            )
    except OSError:
        return False
    return os.path.basename(command.split("\0")[0]).startswith("postgres") and mark in command
