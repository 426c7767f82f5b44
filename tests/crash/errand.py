"""What a person does at the builder, or the projector does, in a process of its own: killed where an effect begins and
where it has happened.

Moments have names: `commits 2` is the second transaction that writes, right before its commit; `committed 2` right
after it; `replaces 1` is the first file of the person's that is to be replaced, `replaced 1` when it has been.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from damascus.engine.maintenance import projector
from damascus.store.db import Connection, Database
from tests.crash.field import fork_server
from tests.yard import Yard

Deed = Callable[[Yard], object]


@dataclass(frozen=True)
class Errand:
    """All that the process is told; `deed` is a function of a module, so that it can be handed over by its name."""

    folder: Path
    url: str
    deed: Deed
    dies_at: str = ""


def moments_of(yard: Yard, deed: Deed, dies_at: str = "") -> list[str]:
    """Those that were met. Dies where it is told to, else ends well."""
    errand = Errand(yard.folder, yard.environ["DAMASCUS_DATABASE_URL"], deed, dies_at)
    process = fork_server().Process(target=_go, args=(errand,))
    process.start()
    process.join(120)
    told = _log(errand).read_text() if _log(errand).exists() else ""
    assert process.exitcode == (-signal.SIGKILL if dies_at else 0), f"{process.exitcode}, {told}"
    _log(errand).unlink(missing_ok=True)
    return told.splitlines()


def _log(errand: Errand) -> Path:
    return errand.folder / "errand.txt"


def _go(errand: Errand) -> None:
    os.setsid()
    log = os.open(_log(errand), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        yard = Yard(errand.folder, errand.url)
        _Moments(errand.dies_at, log).watch(yard.db)
        errand.deed(yard)
    except BaseException:
        os.dup2(log, 2)
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(3)
    os._exit(0)


class _Moments:
    def __init__(self, dies_at: str, log: int) -> None:
        self._dies_at, self._log = dies_at, log
        self._written = self._replaced = 0

    def watch(self, db: Database) -> None:
        db.run = self._run(db.run)  # type: ignore[method-assign]
        projector.write_plain = self._replace(projector.write_plain)

    def _reached(self, moment: str) -> None:
        os.write(self._log, f"{moment}\n".encode())
        if moment == self._dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def _run(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def run(work: Callable[[Connection], Any], *, single: bool = False) -> Any:
            """A single statement is given a transaction as well, which says whether it wrote."""
            number = 0

            def looked(c: Connection) -> Any:
                nonlocal number
                answer = work(c)
                row = c.execute("SELECT pg_current_xact_id_if_assigned() IS NOT NULL AS wrote").fetchone()
                if row and row["wrote"]:
                    self._written += 1
                    number = self._written
                    self._reached(f"commits {number}")
                return answer

            answer = real(looked)
            if number:
                self._reached(f"committed {number}")
            return answer

        return run

    def _replace(self, real: Callable[..., bool]) -> Callable[..., bool]:
        def write_plain(*args: Any) -> bool:
            self._replaced += 1
            number = self._replaced
            self._reached(f"replaces {number}")
            done = real(*args)
            self._reached(f"replaced {number}")
            return done

        return write_plain
