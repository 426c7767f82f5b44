"""The filter of system calls, made from the table of syscalls.py and put on by bubblewrap or by ourselves.

It is a program for the kernel's own small machine, run at every call: an accumulator that is loaded from the call's
number or arguments, jumps forward by at most 255 lines, and an answer. Calls of another architecture (32 bit), which
have other numbers, are refused. Standard library only.
"""

import errno
import os
import struct
from functools import cache

from damascus.system.syscalls import ALLOW, FILTERS, MACHINES, NUMBERS, ArgumentTest, CallRule, Clause

LOAD, AND, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, JUMP_IF_ANY, RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
ALLOWED, REFUSED = 0x7FFF0000, 0x00050000
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
LOW, HIGH = 0, 4
"""All the machines of the table keep the lower half first."""
X32 = 0x40000000
FARTHEST = 255
PR_SET_SECCOMP, MODE_FILTER = 22, 2
Lines = list[bytes]


def known(machine: str | None = None) -> bool:
    """Is there a filter for this machine's architecture?"""
    return (machine or os.uname().machine) in MACHINES


@cache
def program(machine: str, name: str) -> bytes:
    """The filter of this name, as the kernel reads it."""
    architecture, column = MACHINES[machine]
    lines = [
        _line(LOAD, ARCHITECTURE), _line(JUMP_IF_EQUAL, architecture, no=0, yes=1), _answer(errno.ENOSYS),
        _line(LOAD, NUMBER), _line(JUMP_IF_AT_LEAST, X32, yes=0, no=1), _answer(errno.ENOSYS),
    ]  # fmt: skip
    for rule in FILTERS[name]:
        lines += _rule(rule, column)
    return b"".join([*lines, _answer(ALLOW)])


def _rule(rule: CallRule, column: int) -> Lines:
    """If the number is one of the rule's calls, its answer, else on behind it."""
    numbers = [number for call in rule.calls if (number := NUMBERS[call][column]) is not None]
    if not numbers:
        return []
    body = [line for clause in rule.clauses for line in _clause(clause)] + [_answer(ALLOW)]
    body = body if rule.clauses else [_answer(rule.gives)]
    *others, last = numbers
    ask = [_line(JUMP_IF_EQUAL, number, yes=len(others) - at) for at, number in enumerate(others)]
    return [*ask, _line(JUMP_IF_EQUAL, last, no=len(body)), *body]


def _clause(clause: Clause) -> Lines:
    lines = [_answer(clause.gives)]
    for test in reversed(clause.when):
        lines = _test(test, len(lines)) + lines
    return lines


def _test(test: ArgumentTest, rest: int) -> Lines:
    """Lines that end just before the next `rest` lines if the test holds, and behind them if it does not."""
    at = ARGUMENTS + 8 * test.argument
    low = _line(LOAD, at + LOW)
    if test.wide:
        return [
            low,
            _line(JUMP_IF_ANY, test.mask, yes=2),
            _line(LOAD, at + HIGH),
            _line(JUMP_IF_ANY, test.mask, no=rest),
        ]
    if not test.values:
        return [low, _line(JUMP_IF_ANY, test.mask, no=rest)]
    *others, last = test.values
    ask = [_line(JUMP_IF_EQUAL, value, yes=len(others) - at) for at, value in enumerate(others)]
    return [low, _line(AND, test.mask), *ask, _line(JUMP_IF_EQUAL, last, no=rest)]


def _line(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """`yes` and `no`: how many lines to leave out."""
    assert max(yes, no) <= FARTHEST, "a jump that the kernel's machine can't make"
    return struct.pack("=HBBI", code, yes, no, value)


def _answer(gives: int) -> bytes:
    return _line(RETURN, REFUSED | gives if gives != ALLOW else ALLOWED)


# ── putting it on ─────────────────────────────────────────────────────────────────────────────────────


def bubblewrap_with(argv: list[str]) -> tuple[list[str], list[int]]:
    """`argv` whose first word is bubblewrap, with the filter, and what must be passed on with it and closed then."""
    fd = os.memfd_create("filter")
    os.write(fd, program(os.uname().machine, "bubblewrap"))
    os.lseek(fd, 0, os.SEEK_SET)
    return [argv[0], "--seccomp", str(fd), *argv[1:]], [fd]


def install(name: str) -> None:
    """On this process and all that it starts; needs no_new_privs."""
    import ctypes  # the worker imports this module too, and never needs it

    filtering = program(os.uname().machine, name)
    lines = ctypes.create_string_buffer(filtering, len(filtering))
    told = struct.pack("@HP", len(filtering) // 8, ctypes.addressof(lines))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, MODE_FILTER, told, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the filter of system calls was refused")
