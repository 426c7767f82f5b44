"""Every cage that attempts are made from: each level, each bubblewrap, as whoever runs the suite and as nobody."""

import atexit
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from functools import cache
from pathlib import Path

from damascus.system import bubblewrap, process
from damascus.system.bubblewrap import Form
from damascus.system.sandbox import Cage, Level, refused_by, refused_by_landlock
from tests.escape.arena import NOBODY, Arena, as_user, python_for
from tests.escape.attempt import Attempt, Use

TIMEOUT = 30.0
USES: tuple[Use, ...] = ("agent", "test")
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Row:
    """One way of confining. Form None: the one that is found."""

    level: Level
    uid: int
    form: Form | None = None
    use: Use = "agent"

    @property
    def name(self) -> str:
        form = self.form and ("wheel" if "site-packages" in self.form.program else "system")
        plain = self.form is not None and not self.form.user_namespace and "no user namespace"
        who = "root" if self.uid == 0 else "nobody" if self.uid == NOBODY else "user"
        return ", ".join(str(part) for part in (self.level, form, plain, who, self.use) if part)

    def attempt(self, arena: Arena, attempt: Attempt) -> process.Finished:
        """Make it in the cage of an agent's step, or of a judged command."""
        env = arena.variables(attempt.text)
        way = {"gateway": Path(arena.gateway.getsockname()), "port": arena.gateway_tcp.getsockname()[1]}
        arena.hand_over()
        argv = attempt.argv(env["PYTHON"])
        write, read = (arena.workspace, arena.home), (arena.mirror, arena.brief)
        cage = Cage(self.level, write, read, form=self.form)
        cage = replace(cage, **way) if self.use == "agent" else cage
        inside: Cage | None = cage
        if self.uid != os.geteuid():
            argv, inside = self._as_other(cage, argv, env), None
        log = arena.folder / "log"
        return process.run(argv, cwd=arena.workspace, env=env, log=log, timeout=TIMEOUT, cage=inside)

    def _as_other(self, cage: Cage, argv: list[str], env: dict[str, str]) -> list[str]:
        told = {
            "level": cage.level, "form": astuple(cage.form) if cage.form else None, "argv": argv, "env": env,
            "write": [str(path) for path in cage.write], "read": [str(path) for path in cage.read],
            "gateway": cage.gateway and str(cage.gateway), "port": cage.port, "cwd": str(cage.write[0]),
        }  # fmt: skip
        return as_user(self.uid, [python_for(self.uid), str(become()), json.dumps(told)])


@cache
def become() -> Path:
    """A copy that every account can read, with what it imports: the repository may lie in a closed folder."""
    folder = Path(tempfile.mkdtemp(prefix="damascus-escape-become-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in ("src/damascus/system", "src/damascus/stacks", "src/damascus/domain", "tests/escape"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "src/damascus/__init__.py", folder / "src/damascus")
    subprocess.run(["chmod", "-R", "u=rwX,go=rX", str(folder)], check=True)
    return folder / "tests/escape/become.py"


def users() -> list[int]:
    return [0, NOBODY] if os.geteuid() == 0 else [os.geteuid()]


def bubblewraps() -> Iterator[Row]:
    """Those that work here. Another account can use what is executable for all."""
    for form in bubblewrap.forms():
        if not refused_by(form):
            for uid in users():
                if uid == os.geteuid() or (form.user_namespace and _everybodys(form.program)):
                    yield from (Row(Level.BUBBLEWRAP, uid, form, use) for use in USES)


def _everybodys(program: str) -> bool:
    return all(part.stat().st_mode & 0o001 for part in (Path(program), *Path(program).parents))


def landlocks() -> list[Row]:
    return [] if refused_by_landlock() else [Row(Level.LANDLOCK, uid, use=use) for uid in users() for use in USES]
