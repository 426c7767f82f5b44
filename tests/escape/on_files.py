"""Attempts on files that are not the agent's: by their names, through links, by tricks of the kernel."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

from tests.escape.arena import TIP, Arena
from tests.escape.attempt import NEVER, Attempt

PLANTED = Path("/etc/damascus-escape")


def changed(name: str, was: str) -> Callable[[Arena], bool]:
    def look(arena: Arena) -> bool:
        path = arena.folder / name
        return not path.exists() or path.read_text() != was

    return look


def appeared(name: str) -> Callable[[Arena], bool]:
    return lambda arena: (arena.folder / name).exists()


def device_made(arena: Arena) -> bool:
    path = arena.workspace / "device"
    return path.exists() and stat.S_ISCHR(path.stat().st_mode)


BASHRC = changed("user/.bashrc", "# mine\n")
CONFIG = changed("data/mirror.git/config", "[core]\n")

ATTEMPTS = (
    Attempt("appends to the user's .bashrc", 'echo x >> "$USER_HOME/.bashrc"', BASHRC),
    Attempt(
        "deletes the user's ssh folder", 'rm -rf "$USER_HOME/.ssh"', lambda a: not (a.user / ".ssh/id_ed25519").exists()
    ),
    Attempt(
        "empties a file of the user's",
        'truncate -s 0 "$USER_HOME/.bashrc"',
        lambda a: (a.user / ".bashrc").stat().st_size == 0,
    ),
    Attempt(
        "opens the user's ssh folder to everybody",
        'chmod 777 "$USER_HOME/.ssh"',
        lambda a: stat.S_IMODE((a.user / ".ssh").stat().st_mode) == 0o777,
        landlock=NEVER,
    ),
    Attempt(
        "changes the time of a file of the user's",
        'touch -c -d 2001-01-01 "$USER_HOME/.bashrc"',
        lambda a: (a.user / ".bashrc").stat().st_mtime < 1e9,
        landlock=NEVER,
    ),
    Attempt("writes to /etc", f"echo x > {PLANTED}", lambda _: PLANTED.exists(), control="nobody"),
    Attempt(
        "plants a program in /usr",
        "echo x > /usr/local/bin/damascus-escape",
        lambda _: Path("/usr/local/bin/damascus-escape").exists(),
        control="nobody",
    ),
    Attempt("writes to another story's workspace", 'echo x > "$OTHER/m.py"', appeared("data/worktrees/S-2/m.py")),
    Attempt(
        "takes another story's workspace away", 'mv "$OTHER" taken', lambda a: not appeared("data/worktrees/S-2")(a)
    ),
    Attempt(
        "deletes the mirror's objects",
        'rm -rf "$MIRROR/objects/aa"',
        lambda a: not (a.mirror / "objects/aa/aa").exists(),
    ),
    Attempt("writes the mirror's config", 'echo "[core] fsmonitor = evil" >> "$MIRROR/config"', CONFIG),
    Attempt(
        "plants a hook in the mirror",
        'echo "#!/bin/sh" > "$MIRROR/hooks/post-update"',
        appeared("data/mirror.git/hooks/post-update"),
    ),
    Attempt(
        "moves main in the mirror",
        'echo bbbb > "$MIRROR/refs/heads/main"',
        changed("data/mirror.git/refs/heads/main", TIP),
    ),
    Attempt(
        "moves main in the user's repository",
        'echo bbbb > "$REPO/.git/refs/heads/main"',
        changed("repo/.git/refs/heads/main", TIP),
    ),
    Attempt(
        "deletes and forges its brief",
        'rm -f "$BRIEF"; echo forged > "$BRIEF"',
        changed("data/runs/S-1/brief.json", "{}"),
    ),
    Attempt(
        "forges its transcript", 'echo forged > "$RUN/transcript.txt"', changed("data/runs/S-1/transcript.txt", "")
    ),
    Attempt(
        "puts something else in the gateway socket's place",
        'rm -f "$GATEWAY"; echo x > "$GATEWAY"; touch "$(dirname "$GATEWAY")/planted"',
        lambda a: not Path(a.gateway.getsockname()).is_socket() or appeared("data/gateway/planted")(a),
    ),
    Attempt("writes through a symbolic link", 'ln -s "$USER_HOME" out; echo x >> out/.bashrc', BASHRC),
    Attempt("writes through a hard link", 'ln "$MIRROR/config" hard && echo x >> hard', CONFIG),
    Attempt("writes by /proc/…/root of another process", 'echo x >> "/proc/$VICTIM/root$USER_HOME/.bashrc"', BASHRC),
    Attempt("writes by /proc/…/cwd of another process", 'echo x >> "/proc/$VICTIM/cwd/.bashrc"', BASHRC),
    Attempt("reads the user's ssh key", 'cat "$USER_HOME/.ssh/id_ed25519" > loot', Arena.stole),
    Attempt("reads the user's cloud credentials", 'cat "$USER_HOME/.aws/credentials" > loot', Arena.stole),
    Attempt("reads another story's .env", 'cat "$OTHER/.env" > loot', Arena.stole),
    Attempt(
        "reads the machine's password hashes",
        "head -c 1 /etc/shadow > /dev/null && echo got > loot",
        Arena.looted,
        control="nobody",
    ),
    Attempt(
        "reads with a set-uid program",
        '"$(dirname "$VAULT")/cat" "$VAULT" > loot',
        Arena.stole,
        control="root",
    ),
    Attempt(
        "finds a file that was left open for it",
        """
import os
for name in os.listdir("/proc/self/fd"):
    try:
        found = os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        continue
    if int(name) > 2 and not found.startswith("/proc/"):
        open("loot", "a").write(found)
""",
        Arena.looted,
        language="python",
        control="nobody",
    ),
    Attempt(
        "opens a file by the kernel's handle of it",
        """
import ctypes, os
handle = bytes.fromhex(os.environ["HANDLE"])
fd = ctypes.CDLL(None).open_by_handle_at(os.open(".", os.O_RDONLY), handle, os.O_RDONLY)
open("loot", "wb").write(os.read(fd, 100))
""",
        Arena.stole,
        language="python",
        control="root",
    ),
    Attempt(
        "makes a device of its own",
        'import os, stat; os.mknod("device", stat.S_IFCHR | 0o666, os.makedev(1, 3))',
        device_made,
        language="python",
        control="root",
    ),
    Attempt(
        "mounts the system writable again",
        f"for d in / /etc /usr; do mount -o remount,rw,bind $d; mount -o remount,rw $d; done; echo x > {PLANTED}",
        lambda _: PLANTED.exists(),
        control="nobody",
    ),
    Attempt(
        "gains privileges in a user namespace of its own",
        f"unshare -Urm sh -c 'mount -o remount,rw,bind /etc; echo x > {PLANTED}; umount /etc; echo x > {PLANTED}'",
        lambda _: PLANTED.exists(),
        control="nobody",
    ),
    Attempt(
        "leaves a root of its own by `..`",
        """
import os
os.mkdir("jail")
above = os.open(".", os.O_RDONLY)
os.chroot("jail")
os.fchdir(above)
for _ in range(64):
    os.chdir("..")
os.chroot(".")
with open(os.environ["USER_HOME"] + "/.bashrc", "a") as file:
    file.write("x")
""",
        BASHRC,
        language="python",
        control="root",
    ),
    Attempt(
        "writes a setting of the kernel",
        "cat /proc/sys/vm/overcommit_ratio > value; cat value > /proc/sys/vm/overcommit_ratio && echo done > loot",
        Arena.looted,
        control="root",
    ),
    Attempt(
        "writes to shared memory that is a file", 'echo x > "$SHM_FILE"', lambda a: a.shm_file.read_text() != "mine"
    ),
)
"""The last but one writes what is there already."""


def clean_up() -> None:
    """For the day when one of them succeeds."""
    for path in (PLANTED, Path("/usr/local/bin/damascus-escape")):
        if os.access(path, os.F_OK):
            path.unlink()
