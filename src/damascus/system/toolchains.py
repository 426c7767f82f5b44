"""Where the compilers, interpreters and packages lie that are not the system's, so that a confined command has them.

They are shown read-only: a command that could change them would change the judge of the next one. The rest of the
home folder they may lie in is not shown.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from damascus.system.exposure import SYSTEM, Show, names, too_much, within

VARIABLES = ("VIRTUAL_ENV", "PYENV_ROOT", "RUSTUP_HOME", "CARGO_HOME", "GOROOT", "GOMODCACHE", "JAVA_HOME")
BELOW_HOME = (
    ".pyenv", ".rustup", ".cargo", "go/pkg/mod", ".nvm/versions", ".volta", ".asdf", ".rbenv", ".sdkman/candidates",
    ".local/share/uv/python", ".local/share/uv/tools", ".local/share/pipx/venvs", ".local/pipx/venvs",
    ".local/share/mise/installs",
)  # fmt: skip
"""Where they are when no variable says otherwise. Each holds programs and packages only."""
PROGRAMS = ("bin", "sbin", "shims", ".bin")
PARTS = ("lib", "lib32", "lib64", "libexec", "include")
SECRETS = ("credentials", "credentials.toml")
"""In CARGO_HOME: the keys of the registries that its owner publishes to."""


def toolchain() -> Mapping[str, Show]:
    """Of this process's environment, looked for once."""
    return _of(*((name, os.environ.get(name, "")) for name in ("HOME", "PATH", *VARIABLES)))


@cache
def _of(*environ: tuple[str, str]) -> Mapping[str, Show]:
    shown: dict[str, Show] = {}
    for found in _roots(dict(environ)):
        if os.access(found, os.R_OK | os.X_OK) and not too_much(found):
            shown |= dict.fromkeys(names(found), Show.READ)
    for folder in [path for path in shown if os.path.basename(path) == ".cargo"] + [dict(environ)["CARGO_HOME"]]:
        hidden = [os.path.join(folder, name) for name in SECRETS]
        shown |= {name: Show.HIDE for path in hidden if folder and os.path.lexists(path) for name in names(path)}
    return shown


def _roots(environ: Mapping[str, str]) -> Iterator[str]:
    yield from {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    yield from (environ[name] for name in VARIABLES if os.path.isabs(environ[name]))
    home = os.path.expanduser("~")
    yield from (os.path.join(home, name) for name in BELOW_HOME)
    for entry in environ["PATH"].split(os.pathsep):
        if os.path.isabs(entry):
            yield from around(entry)


def compilers() -> dict[str, str]:
    """Variables by which compilers find themselves where HOME is another than their owner's."""
    names = ("PYENV_ROOT", "RUSTUP_HOME", "GOROOT", "JAVA_HOME")
    found = {name: os.environ[name] for name in names if name in os.environ}
    rustup = os.path.expanduser("~/.rustup")
    return {"RUSTUP_HOME": rustup, **found} if os.path.isdir(rustup) else found


def fetched(home: Path) -> dict[str, Path]:
    """Variables by which compilers find the packages that a command with this HOME fetched, if it did."""
    places = {"GOMODCACHE": ("go/pkg/mod", "cache"), "CARGO_HOME": (".cargo", "registry")}
    return {name: home / folder for name, (folder, filled) in places.items() if (home / folder / filled).is_dir()}


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
