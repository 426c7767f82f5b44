"""Landlock: the kernel's own confinement, put on by a process before it becomes the command. Standard library only.

Weaker than namespaces: it knows files, TCP ports, signals and abstract sockets, and nothing of addresses, of sockets
that are files, of a file's mode, owner and times (docs/sandbox.md); what else it does not know is refused by the
filter of system calls. It needs no privilege and no user namespace.
"""

import os
import stat
import struct
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from damascus.system import seccomp

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION = 1
PATH_BENEATH, NET_PORT = 1, 2
PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP = 38, 24

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK, REFER, TRUNCATE, IOCTL_DEV = 1 << 6, 1 << 11, 1 << 13, 1 << 14, 1 << 15
FILES = {1: (1 << 13) - 1, 2: REFER, 3: TRUNCATE, 5: IOCTL_DEV}
"""The rights on files that each version of the kernel's interface brought. All are forbidden unless allowed."""
READ = EXECUTE | READ_FILE | READ_DIR
DEVICE = READ_FILE | WRITE_FILE
WRITE = (sum(FILES.values())) & ~(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV)
OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
BIND_TCP, CONNECT_TCP = 1, 2
ABSTRACT_SOCKETS, SIGNALS = 1, 2
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def abi() -> int:
    """The version of the kernel's interface; 0 where there is none."""
    call, _ = _kernel()
    return max(0, call("syscall", CREATE_RULESET, None, 0, VERSION))


def rules(read: Iterable[str], write: Iterable[str], ports: Iterable[int] | None) -> dict[str, object]:
    """What `restrict` is told, as JSON can say it. `ports`: where it may connect to by TCP; None: anywhere."""
    return {"read": [*read], "write": [*write], "ports": None if ports is None else [*ports]}


def restrict(rules: Mapping[str, Any]) -> None:
    """Put the rules on this process and all that it starts. Raises OSError when the kernel refuses."""
    version = abi()
    if not version:
        raise OSError("Landlock is not available")
    files = sum(right for since, right in FILES.items() if since <= version)
    net = 0 if version < 4 or rules["ports"] is None else BIND_TCP | CONNECT_TCP
    scoped = 0 if version < 6 else ABSTRACT_SOCKETS | SIGNALS
    # A kernel that knows less of this takes it as long as the rest is zero.
    told = struct.pack("=QQQ", files, net, scoped)
    ruleset = _call(CREATE_RULESET, told, len(told), 0)
    for paths, allowed in ((rules["read"], READ), (rules["write"], WRITE), (DEVICES, DEVICE)):
        for path in paths:
            _allow(ruleset, path, allowed & files)
    for port in rules["ports"] or () if net else ():
        _call(ADD_RULE, ruleset, NET_PORT, struct.pack("=QQ", CONNECT_TCP, port), 0)
    _give_up_privileges()
    _call(RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    seccomp.install(_filter(rules["ports"]))


def _filter(ports: list[int] | None) -> str:
    """Landlock asks about plain TCP only, and only since version 4: sockets that are not needed are never made."""
    return "landlock, network" if ports is None else "landlock, tcp" if ports else "landlock"


def _allow(ruleset: int, path: str, allowed: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # gone meanwhile, or not ours to see: then there is nothing to allow
    try:
        if not stat.S_ISDIR(os.fstat(parent).st_mode):
            allowed &= OF_A_FILE
        _call(ADD_RULE, ruleset, PATH_BENEATH, struct.pack("=Qi", allowed, parent), 0)
    finally:
        os.close(parent)


def _give_up_privileges() -> None:
    """No set-uid program helps, and root's capabilities are gone with the exec: an empty bounding set leaves none."""
    call, errno = _kernel()
    if os.geteuid() == 0:
        for capability in range(64):
            if call("prctl", PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
                break
    if call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(errno(), "no_new_privs was refused")


def _call(number: int, *args: int | bytes) -> int:
    call, errno = _kernel()
    done = call("syscall", number, *args)
    if done < 0:
        raise OSError(errno(), f"Landlock refused (call {number}): {os.strerror(errno())}")
    return done


@cache
def _kernel() -> tuple[Callable[..., int], Callable[[], int]]:
    """How to call it, and what it last complained of."""
    import ctypes  # the worker imports this module too, and seldom needs it

    libc = ctypes.CDLL(None, use_errno=True)

    def call(name: str, *args: int | bytes | None) -> int:
        wide = (ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args)
        done: int = getattr(libc, name)(*wide)
        return done

    return call, ctypes.get_errno
