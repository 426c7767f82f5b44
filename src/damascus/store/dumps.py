"""The whole database as one file, and back: by pg_dump and pg_restore, of the server's own wheel or of this machine.

pg_dump reads one snapshot, so that a dump is consistent while workers write. pg_restore writes in one transaction: a
database that it was killed in is as empty as before.
"""

import os
import shutil
import subprocess
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from damascus.domain.errors import DamascusError
from damascus.store.db import Database
from damascus.store.embedded.binaries import bin_folder

DUMP = ("--format=custom", "--no-owner", "--no-privileges", "--compress=1")
RESTORE = ("--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error")
TABLES = """
SELECT count(*) AS n FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace
 WHERE s.nspname = 'public' AND c.relkind IN ('r', 'v', 'S')
"""


def dump_to(url: str, file: Path) -> None:
    """The file is made private before anything is in it."""
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    _call("pg_dump", url, (*DUMP, f"--file={file}"), "the database could not be dumped")


def restore_from(url: str, file: Path) -> None:
    _call("pg_restore", url, (*RESTORE, str(file)), "the database could not be restored")


def is_empty(db: Database) -> bool:
    row = db.run(lambda c: c.execute(TABLES).fetchone())
    return row is not None and row["n"] == 0


def _call(program: str, url: str, words: tuple[str, ...], trouble: str) -> None:
    """The wheel's program first; where a team's server is newer than that, the one on PATH. A password of the address
    goes by the environment: others can read the words of a process."""
    known = conninfo_to_dict(url)
    password = known.pop("password", None)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    env |= {"PGPASSWORD": str(password)} if password else {}
    told = ""
    for path in dict.fromkeys((str(bin_folder() / program), shutil.which(program) or "")):
        if not path:
            continue
        done = subprocess.run(
            [path, f"--dbname={make_conninfo('', **known)}", *words],
            env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False, start_new_session=True,
        )  # fmt: skip
        if done.returncode == 0:
            return
        told = told or done.stderr.decode(errors="replace").strip()
    raise DamascusError(f"{trouble}: {_first_line(told)}. Correct that and try again.")


def _first_line(text: str) -> str:
    return next((line.strip().rstrip(".") for line in text.splitlines() if line.strip()), "no answer")
