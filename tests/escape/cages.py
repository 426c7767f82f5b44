"""Every cage that attempts are made from: each level, each bubblewrap, as whoever runs the suite and as nobody."""

import json
import os
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

from damascus.system import bubblewrap, process
from damascus.system.bubblewrap import Form
from damascus.system.sandbox import Cage, Level, refused_by, refused_by_landlock
from tests.escape.arena import NOBODY, Arena, as_user, python_for
from tests.escape.attempt import Attempt

TIMEOUT = 30.0
BECOME = str(Path(__file__).with_name("become.py"))


@dataclass(frozen=True)
class Row:
    """One way of confining. Form None: the one that is found."""

    level: Level
    uid: int
    form: Form | None = None

    @property
    def name(self) -> str:
        form = self.form and ("wheel" if "site-packages" in self.form.program else "system")
        plain = self.form is not None and not self.form.user_namespace and "no user namespace"
        who = "root" if self.uid == 0 else "nobody" if self.uid == NOBODY else "user"
        return ", ".join(str(part) for part in (self.level, form, plain, who) if part)

    def attempt(self, arena: Arena, attempt: Attempt) -> process.Finished:
        """Make it in the cage of an agent's step."""
        env = arena.variables(attempt.text)
        gateway = Path(arena.gateway.getsockname())
        arena.hand_over()
        argv = attempt.argv(env["PYTHON"])
        write, read = (arena.workspace, arena.home), (arena.mirror, arena.brief)
        cage = Cage(self.level, write, read, gateway=gateway, form=self.form)
        inside: Cage | None = cage
        if self.uid != os.geteuid():
            argv, inside = self._as_other(cage, argv, env), None
        log = arena.folder / "log"
        return process.run(argv, cwd=arena.workspace, env=env, log=log, timeout=TIMEOUT, cage=inside)

    def _as_other(self, cage: Cage, argv: list[str], env: dict[str, str]) -> list[str]:
        told = {
            "level": cage.level, "form": astuple(cage.form) if cage.form else None, "argv": argv, "env": env,
            "write": [str(path) for path in cage.write], "read": [str(path) for path in cage.read],
            "gateway": str(cage.gateway), "cwd": str(cage.write[0]),
        }  # fmt: skip
        return as_user(self.uid, [python_for(self.uid), BECOME, json.dumps(told)])


def users() -> list[int]:
    return [0, NOBODY] if os.geteuid() == 0 else [os.geteuid()]


def bubblewraps() -> Iterator[Row]:
    """Those that work here. Another account can use what is executable for all."""
    for form in bubblewrap.forms():
        if not refused_by(form):
            for uid in users():
                if uid == os.geteuid() or (form.user_namespace and _everybodys(form.program)):
                    yield Row(Level.BUBBLEWRAP, uid, form)


def _everybodys(program: str) -> bool:
    return all(part.stat().st_mode & 0o001 for part in (Path(program), *Path(program).parents))


def landlocks() -> list[Row]:
    return [] if refused_by_landlock() else [Row(Level.LANDLOCK, uid) for uid in users()]
