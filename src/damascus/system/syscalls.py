"""Which system calls the filter refuses, as a table to read: the number of each, what is refused of it, and why.

A rule names calls and what they get. Without clauses the call is refused altogether; else the first clause whose tests
all hold decides, and a call that no clause speaks of is allowed. What lies behind a pointer (a path, an address, the
`struct` of clone3 and openat2) can't be seen from here. Standard library only.
"""

import errno
import stat
from dataclasses import dataclass

ALLOW = 0
"""What a clause gives instead of an error."""


@dataclass(frozen=True)
class ArgumentTest:
    """Does `argument`, as far as `mask` goes, equal one of `values`? Without values: has it any bit of `mask`?

    `wide` compares all 64 bits, for pointers; of a number (int, mode, flags) the kernel reads the lower half only.
    """

    argument: int
    mask: int = 0xFFFFFFFF
    values: tuple[int, ...] = ()
    wide: bool = False


@dataclass(frozen=True)
class Clause:
    gives: int
    when: tuple[ArgumentTest, ...] = ()


@dataclass(frozen=True)
class CallRule:
    """`gives`: the error for all these calls; `clauses`: which of them, by their arguments."""

    calls: tuple[str, ...]
    gives: int = errno.EPERM
    clauses: tuple[Clause, ...] = ()


def calls(names: str) -> tuple[str, ...]:
    return tuple(names.split())


def some(names: str, gives: int, *when: ArgumentTest) -> CallRule:
    """Refused where all these tests hold."""
    return CallRule(calls(names), clauses=(Clause(gives, when),))


def either(names: str, gives: int, *when: ArgumentTest) -> CallRule:
    """Refused where one of these tests holds."""
    return CallRule(calls(names), clauses=tuple(Clause(gives, (test,)) for test in when))


# ── the numbers ───────────────────────────────────────────────────────────────────────────────────────

X86, GENERIC = 0, 1
MACHINES = {
    "x86_64": (0xC000003E, X86),
    "aarch64": (0xC00000B7, GENERIC),
    "riscv64": (0xC00000F3, GENERIC),
    "loongarch64": (0xC0000102, GENERIC),
}
"""The kernel's word for the architecture, and which column of numbers it has."""
NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "clone": (56, 220), "clone3": (435, 435),
    "openat2": (437, 437), "unshare": (272, 97), "setns": (308, 268), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "chroot": (161, 51), "move_mount": (429, 429), "open_tree": (428, 428),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "swapon": (167, 224), "swapoff": (168, 225), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "reboot": (169, 142), "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "sethostname": (170, 161), "setdomainname": (171, 162),
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "acct": (163, 89), "syslog": (103, 116), "iopl": (172, None),
    "ioperm": (173, None), "pidfd_getfd": (438, 438), "kcmp": (312, 272), "socket": (41, 198),
    "socketpair": (53, 199), "sendto": (44, 206), "sendmsg": (46, 211), "sendmmsg": (307, 269),
    "setsockopt": (54, 208), "ioctl": (16, 29), "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53),
    "fchmodat2": (452, 452), "open": (2, None), "openat": (257, 56), "creat": (85, None), "mknod": (133, None),
    "mknodat": (259, 33), "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16), "setxattrat": (463, 463),
    "removexattrat": (466, 466), "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190),
    "semop": (65, 193), "semtimedop": (220, 192), "semctl": (66, 191), "msgget": (68, 186), "msgsnd": (69, 189),
    "msgrcv": (70, 188), "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181),
    "mq_timedsend": (242, 182), "mq_timedreceive": (243, 183), "mq_notify": (244, 184), "mq_getsetattr": (245, 185),
    "prlimit64": (302, 261), "setpriority": (141, 140), "ioprio_set": (251, 30), "file_setattr": (469, 469),
    "open_tree_attr": (467, 467),
}  # fmt: skip
"""Where there is None, the machine has no such call."""

# ── what no namespace holds back: refused in every cage ───────────────────────────────────────────────

SET_ID = stat.S_ISUID | stat.S_ISGID
O_CREAT, O_TMPFILE = 0o100, 0o20000000
NEW_NAMESPACE = 0x7E020000
TIOCSTI, TIOCLINUX = 0x5412, 0x541C


def set_id(argument: int) -> ArgumentTest:
    return ArgumentTest(argument, SET_ID)


def creating(argument: int) -> ArgumentTest:
    """Without one of these the call's mode is whatever was left in the register."""
    return ArgumentTest(argument, O_CREAT | O_TMPFILE)


EVERYWHERE = (
    # Those that would use them do without, then: arguments behind a pointer, or work done past the filter.
    CallRule(calls("clone3 openat2 io_uring_setup io_uring_enter io_uring_register"), errno.ENOSYS),
    # A session's keyring is inherited into any namespace.
    CallRule(calls("add_key request_key keyctl")),
    # New namespaces: inside one there are privileges again, and much of the kernel behind them.
    CallRule(calls("unshare setns")),
    some("clone", errno.EPERM, ArgumentTest(0, NEW_NAMESPACE)),
    # What takes root's privileges, which a cage has none of; and large parts of the kernel that no build needs.
    CallRule(
        calls("mount umount2 pivot_root chroot move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick")
    ),
    CallRule(calls("mount_setattr quotactl quotactl_fd swapon swapoff acct reboot kexec_load kexec_file_load")),
    CallRule(calls("init_module finit_module delete_module settimeofday clock_settime sethostname setdomainname")),
    CallRule(calls("iopl ioperm bpf perf_event_open userfaultfd open_by_handle_at pidfd_getfd kcmp")),
    CallRule(calls("name_to_handle_at"), errno.EOPNOTSUPP),
    # The kernel's log is the machine's.
    CallRule(calls("syslog")),
    # Words put into a terminal as if a person had typed them.
    some("ioctl", errno.EPERM, ArgumentTest(1, values=(TIOCSTI, TIOCLINUX))),
    # Programs that lend their owner's rights to whoever starts them. mkdir takes no such bits.
    some("chmod fchmod creat mknod", errno.EPERM, set_id(1)),
    some("fchmodat fchmodat2 mknodat", errno.EPERM, set_id(2)),
    some("open", errno.EPERM, creating(1), set_id(2)),
    some("openat", errno.EPERM, creating(2), set_id(3)),
)

# ── sockets ───────────────────────────────────────────────────────────────────────────────────────────

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, SOCK_STREAM, SOCK_DGRAM = 1, 2, 10, 16, 1, 2
"""Linux' own numbers: the module is read on machines of other systems too, which have others."""
KIND = 0xFFFFFFFF & ~(0o2000000 | 0o4000)
"""The kind without SOCK_CLOEXEC and SOCK_NONBLOCK."""
TCP, UDP, PING, PING6, MPTCP = 6, 17, 1, 58, 262
ROUTES = 0


def family(*values: int) -> ArgumentTest:
    return ArgumentTest(0, values=values)


def of_kind(kind: int, *protocols: int) -> tuple[ArgumentTest, ...]:
    return (
        family(AF_INET, AF_INET6),
        ArgumentTest(1, KIND, (kind,)),
        ArgumentTest(2, values=(0, *protocols)),
    )


FILES = Clause(ALLOW, (family(AF_UNIX),))
PLAIN_TCP = Clause(ALLOW, of_kind(SOCK_STREAM, TCP))
INTERNET = (
    Clause(ALLOW, of_kind(SOCK_STREAM, TCP, MPTCP)),
    Clause(ALLOW, of_kind(SOCK_DGRAM, UDP, PING, PING6)),
    Clause(ALLOW, (family(AF_NETLINK), ArgumentTest(2, values=(ROUTES,)))),  # which interfaces there are
)
NO_OTHER = Clause(errno.EAFNOSUPPORT)


def sockets(*allowed: Clause) -> tuple[CallRule, ...]:
    """Everything else leads somewhere: AF_VSOCK to the hypervisor, past every network namespace."""
    return (
        CallRule(calls("socket"), clauses=(FILES, *allowed, NO_OTHER)),
        CallRule(calls("socketpair"), clauses=(FILES, NO_OTHER)),
    )


# ── what Landlock has no rule for ─────────────────────────────────────────────────────────────────────

MSG_FASTOPEN, TCP_ULP = 0x20000000, 31
PRIO_USER, IOPRIO_WHO_USER = 2, 3

BESIDE_LANDLOCK = (
    # It asks about TCP when a plain TCP socket connects: these get there without that question.
    some("sendmsg", errno.EPERM, ArgumentTest(2, MSG_FASTOPEN)),
    some("sendto sendmmsg", errno.EPERM, ArgumentTest(3, MSG_FASTOPEN)),
    some("setsockopt", errno.ENOPROTOOPT, ArgumentTest(1, values=(TCP,)), ArgumentTest(2, values=(TCP_ULP,))),
    # Objects of the kernel's that are no files.
    CallRule(calls("shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl")),
    CallRule(calls("mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr")),
    # Attributes of files that are not in the cage; as on a file system that has none.
    CallRule(calls("setxattr lsetxattr fsetxattr setxattrat"), errno.EOPNOTSUPP),
    CallRule(calls("removexattr lremovexattr fremovexattr removexattrat file_setattr"), errno.EOPNOTSUPP),
    # Other processes of the same user, named or all at once: their limits and priorities.
    some("prlimit64", errno.EPERM, ArgumentTest(0), ArgumentTest(2, wide=True)),
    either("setpriority", errno.EPERM, ArgumentTest(0, values=(PRIO_USER,)), ArgumentTest(1)),
    either("ioprio_set", errno.EPERM, ArgumentTest(0, values=(IOPRIO_WHO_USER,)), ArgumentTest(1)),
)

FILTERS = {
    "bubblewrap": EVERYWHERE + sockets(*INTERNET),
    "landlock": EVERYWHERE + BESIDE_LANDLOCK + sockets(),
    "landlock, tcp": EVERYWHERE + BESIDE_LANDLOCK + sockets(PLAIN_TCP),
    "landlock, network": EVERYWHERE + BESIDE_LANDLOCK + sockets(*INTERNET),
}
"""One for each kind of cage. bubblewrap's network namespace has a loopback of its own, where a test may serve and send
as it likes; under Landlock there is one network, the machine's."""
