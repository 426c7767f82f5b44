"""The environment of a judged command: a list of what it may know, nothing else of the worker's."""

import os
import shlex
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from damascus.stacks.others import toolchains
from damascus.stacks.reports import PYTEST_FILE
from damascus.system.seats import Seats
from damascus.system.toolchains import fetched, fetched_packages

PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ")


@dataclass(frozen=True)
class RunFolder:
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
        """What a language ships as source, compiled."""
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


def environment(place: RunFolder, wanted: Mapping[str, str], seats: Seats, home: Path | None = None) -> dict[str, str]:
    """`wanted` is the project's own ([workspace] env); it can't take away where the report goes. `home` is that of the
    set-up command, with what it fetched."""
    made = {name: seats.inside(folder) for name, folder in (fetched(home) if home else {}).items()}
    judged = {name: value for each in toolchains() for name, value in each.judged.items()}
    env = {"LANG": "C.UTF-8"} | judged | inherited() | made | dict(wanted)
    report = f"--junitxml={shlex.quote(str(place.report))} -o junit_family=xunit1"
    always = {name: value for each in toolchains() for name, value in each.always.items()}
    own = {name: str(place.cache) for each in toolchains() for name in each.of_the_run}
    return (
        env
        | always
        | own
        | {
            "HOME": str(place.home),
            "TMPDIR": seats.inside(place.temporary),
            "PYTEST_ADDOPTS": f"{wanted.get('PYTEST_ADDOPTS', '')} {report}".strip(),
            "GIT_CEILING_DIRECTORIES": os.path.dirname(seats.inside(place.tree)),
        }
    )


def inherited() -> dict[str, str]:
    """Compilers find themselves and their packages below HOME; HOME being an empty folder, they are told where. What
    they compile is their run's own: whoever could write a shared cache could write what another run is judged by."""
    names = [*PASSED_ON, *(name for each in toolchains() for name in (*each.chosen, *each.find_themselves))]
    env = {name: os.environ[name] for name in names if name in os.environ}
    for name, below_home in ((name, below) for each in toolchains() for name, below in each.homes.items()):
        folder = os.environ.get(name) or os.path.expanduser(f"~/{below_home}")
        env |= {name: folder} if os.path.isdir(folder) else {}
    for each in fetched_packages():
        env[each.variable] = os.environ.get(each.variable) or os.path.expanduser(f"~/{each.below_home}")
    return env
