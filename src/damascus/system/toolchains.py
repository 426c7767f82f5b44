"""Where the compilers, interpreters and packages lie that are not the system's, so that a confined command has them.

They are shown read-only: a command that could change them would change the judge of the next one. The rest of the
home folder they may lie in is not shown.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from damascus.stacks.others import toolchains
from damascus.stacks.stack import Fetched
from damascus.system.exposure import SYSTEM, Show, names, too_much, within

PROGRAMS = ("bin", "sbin", "shims", ".bin")
PARTS = ("lib", "lib32", "lib64", "libexec", "include")


def toolchain() -> Mapping[str, Show]:
    """Of this process's environment, looked for once."""
    return _of(*((name, os.environ.get(name, "")) for name in ("HOME", "PATH", *variables())))


def variables() -> tuple[str, ...]:
    """By which they are found, of every stack."""
    return tuple(name for each in toolchains() for name in each.variables)


@cache
def _of(*environ: tuple[str, str]) -> Mapping[str, Show]:
    shown: dict[str, Show] = {}
    for found in _roots(dict(environ)):
        if os.access(found, os.R_OK | os.X_OK) and not too_much(found):
            shown |= dict.fromkeys(names(found), Show.READ)
    for each in fetched_packages():
        below = f"/{each.below_home}"
        for folder in [*(path for path in shown if path.endswith(below)), dict(environ).get(each.variable, "")]:
            hidden = [os.path.join(folder, name) for name in each.secrets]
            shown |= {name: Show.HIDE for path in hidden if folder and os.path.lexists(path) for name in names(path)}
    return shown


def _roots(environ: Mapping[str, str]) -> Iterator[str]:
    yield from {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    yield from (environ[name] for name in variables() if os.path.isabs(environ.get(name, "")))
    home = os.path.expanduser("~")
    yield from (os.path.join(home, name) for each in toolchains() for name in each.below_home)
    yield from (os.path.join(home, each.below_home) for each in fetched_packages())
    for entry in environ["PATH"].split(os.pathsep):
        if os.path.isabs(entry):
            yield from around(entry)


def compilers() -> dict[str, str]:
    """Variables by which compilers find themselves where HOME is another than their owner's."""
    names = [name for each in toolchains() for name in (*each.find_themselves, *each.homes)]
    return homes() | {name: os.environ[name] for name in names if name in os.environ}


def homes() -> dict[str, str]:
    """Variables of compilers that lie below their owner's HOME, where they do."""
    found = {name: os.path.expanduser(f"~/{below}") for each in toolchains() for name, below in each.homes.items()}
    return {name: folder for name, folder in found.items() if os.path.isdir(folder)}


def fetched_packages() -> list[Fetched]:
    return [fetched for each in toolchains() for fetched in each.fetched]


def fetched(home: Path) -> dict[str, Path]:
    """Variables by which compilers find the packages that a command with this HOME fetched, if it did."""
    return {
        each.variable: home / each.below_home
        for each in fetched_packages()
        if (home / each.below_home / each.filled).is_dir()
    }


def around(folder: str) -> Iterator[str]:
    """A folder of programs and what they need: their prefix, or of one that holds more than programs just the parts.

    `~/.local` and `~` hold more, and so does a checkout of somebody's project; `~/.pyenv` is a checkout of its own.
    """
    real = os.path.realpath(folder)
    if any(within(real, path) for path in SYSTEM):
        return
    yield folder
    prefix, name = os.path.split(folder.rstrip("/"))
    if name not in PROGRAMS:
        return
    tool = os.path.basename(prefix).startswith(".") or not os.path.exists(os.path.join(prefix, ".git"))
    if tool and not too_much(prefix) and os.path.basename(prefix) != ".local":
        yield prefix
    else:
        yield from (os.path.join(prefix, part) for part in PARTS)


def around_program(path: str) -> Iterator[str]:
    """A program, wherever it lies: itself, what it is a link to, and the prefixes of both."""
    for name in names(path):
        yield name
        yield from around(os.path.dirname(name))
