"""The environment of a judged command: a list of what it may know, nothing else of the worker's."""

import os
import shlex
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from damascus.stacks.reports import PYTEST_FILE
from damascus.system.seats import Seats
from damascus.system.toolchains import fetched

PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "VIRTUAL_ENV", "PYENV_ROOT", "JAVA_HOME", "GOROOT")
TOOLCHAINS = {
    "RUSTUP_HOME": ".rustup",
    "CARGO_HOME": ".cargo",
    "GOMODCACHE": "go/pkg/mod",
}
"""Compilers find themselves and their packages below HOME; HOME being an empty folder, they are told where. What they
compile is their run's own: whoever could write a shared cache could write what another run is judged by."""


@dataclass(frozen=True)
class Place:
    """One run's own folder. Only `tree` is the checkout; the report lies outside of it."""

    root: Path
    secret: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def tree(self) -> Path:
        return self.root / "tree"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def temporary(self) -> Path:
        return self.root / "tmp"

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    @property
    def private(self) -> Path:
        """For what a checkout has for itself alone; made and removed with each run."""
        return self.root / "private"

    @property
    def library(self) -> Path:
        """Go's own packages, compiled."""
        return self.root / "library"

    @property
    def probe(self) -> Path:
        """For what looks at the run from inside."""
        return self.root / "probe"

    @property
    def reports(self) -> Path:
        """Where runners report; its name is known to nobody beforehand."""
        return self.root / self.secret

    @property
    def report(self) -> Path:
        return self.reports / PYTEST_FILE

    def make(self) -> None:
        self.root.mkdir(mode=0o700, parents=True)
        for folder in (self.tree, self.home, self.temporary, self.reports):
            folder.mkdir()


def environment(place: Place, wanted: Mapping[str, str], seats: Seats, home: Path | None = None) -> dict[str, str]:
    """`wanted` is the project's own ([workspace] env); it can't take away where the report goes. `home` is that of the
    set-up command, with what it fetched."""
    made = {name: seats.inside(folder) for name, folder in (fetched(home) if home else {}).items()}
    env = {"LANG": "C.UTF-8", "GOFLAGS": "-count=1"} | _inherited() | made | dict(wanted)
    report = f"--junitxml={shlex.quote(str(place.report))} -o junit_family=xunit1"
    return env | {
        "HOME": str(place.home),
        "TMPDIR": str(place.temporary),
        "GOCACHE": str(place.cache),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_ADDOPTS": f"{wanted.get('PYTEST_ADDOPTS', '')} {report}".strip(),
        "GIT_CEILING_DIRECTORIES": os.path.dirname(seats.inside(place.tree)),
    }


def _inherited() -> dict[str, str]:
    env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    for name, below_home in TOOLCHAINS.items():
        folder = os.environ.get(name) or os.path.expanduser(f"~/{below_home}")
        if os.path.isdir(folder) or name != "RUSTUP_HOME":
            env[name] = folder
    return env
