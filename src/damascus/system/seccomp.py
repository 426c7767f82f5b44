"""System calls that no namespace holds back, refused by a filter of the kernel's. Standard library only.

- `socket` of the family AF_VSOCK: in a virtual machine it leads to the hypervisor, past every network namespace.
- The keyrings: a session's is inherited into any namespace.
- `io_uring`: what is done through it passes by the filter, sockets too.
- System calls of another architecture (32 bit), which have other numbers.
"""

import errno
import os
import struct

AF_VSOCK = 40
LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
X32 = 0x40000000
PR_SET_SECCOMP, MODE_FILTER = 22, 2

MACHINES = {
    "x86_64": (0xC000003E, {"socket": 41, "add_key": 248, "request_key": 249, "keyctl": 250, "io_uring_setup": 425}),
    "aarch64": (0xC00000B7, {"socket": 198, "add_key": 217, "request_key": 218, "keyctl": 219, "io_uring_setup": 425}),
}
REFUSED = {
    "add_key": errno.EPERM,
    "request_key": errno.EPERM,
    "keyctl": errno.EPERM,
    "io_uring_setup": errno.ENOSYS,  # those that would use it do without, then
}


def program(machine: str) -> bytes:
    """The filter, as the kernel reads it; empty for a machine that we don't know."""
    if machine not in MACHINES:
        return b""
    architecture, numbers = MACHINES[machine]
    lines = [
        _line(LOAD, ARCHITECTURE), _line(JUMP_IF_EQUAL, architecture, no=0, yes=1), _refuse(errno.ENOSYS),
        _line(LOAD, NUMBER), _line(JUMP_IF_AT_LEAST, X32, yes=0, no=1), _refuse(errno.ENOSYS),
    ]  # fmt: skip
    for name, code in REFUSED.items():
        lines += [_line(JUMP_IF_EQUAL, numbers[name], yes=0, no=1), _refuse(code)]
    lines += [_line(JUMP_IF_EQUAL, numbers["socket"], yes=0, no=3), _line(LOAD, FIRST_ARGUMENT)]
    lines += [_line(JUMP_IF_EQUAL, AF_VSOCK, yes=0, no=1), _refuse(errno.EAFNOSUPPORT), _line(RETURN, ALLOW)]
    return b"".join(lines)


def _line(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """`yes` and `no`: how many lines to leave out."""
    return struct.pack("=HBBI", code, yes, no, value)


def _refuse(code: int) -> bytes:
    return _line(RETURN, REFUSE | code)


def _as_file() -> int | None:
    """A descriptor that the filter can be read from once, for bubblewrap's `--seccomp`."""
    filtering = program(os.uname().machine)
    if not filtering:
        return None
    fd = os.memfd_create("filter")
    os.write(fd, filtering)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def bubblewrap_with(argv: list[str]) -> tuple[list[str], list[int]]:
    """`argv` whose first word is bubblewrap, with the filter, and what must be passed on with it and closed then."""
    fd = _as_file()
    return ([argv[0], "--seccomp", str(fd), *argv[1:]], [fd]) if fd is not None else (argv, [])


def install() -> None:
    """On this process and all that it starts; needs no_new_privs."""
    import ctypes  # the worker imports this module too, and never needs it

    filtering = program(os.uname().machine)
    if not filtering:
        return
    lines = ctypes.create_string_buffer(filtering, len(filtering))
    told = struct.pack("@HP", len(filtering) // 8, ctypes.addressof(lines))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, MODE_FILTER, told, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the filter of system calls was refused")
