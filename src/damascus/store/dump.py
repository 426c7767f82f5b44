"""`python -m damascus.store.dump > src/damascus/store/schema.sql`: the schema that the migrations make, to be read.

Tables, constraints and indexes first; then each function by its head, because its text stands in store/functions/; then
the triggers. A test compares the file with a migrated database, so it is never behind.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from damascus.store.db import Database
from damascus.store.embedded.binaries import bin_folder
from damascus.store.embedded.database import EmbeddedServer
from damascus.store.migrate import migrate

FLAGS = ("--schema-only", "--no-owner", "--no-privileges", "--restrict-key=damascus")
HEAD = (
    "-- Made by `python -m damascus.store.dump` from store/migrations/ and store/functions/. Read it; change those.\n\n"
)
NOISE = re.compile(r"^(--.*|SET .*|SELECT pg_catalog\.set_config.*|\\(un)?restrict .*)\n", re.MULTILINE)
FUNCTION = re.compile(r"^(CREATE FUNCTION public\.(\w+)\(.*?)\n    LANGUAGE .*?\$\$;\n", re.MULTILINE | re.DOTALL)
TRIGGER = re.compile(r"^CREATE TRIGGER .*;\n", re.MULTILINE)


def dump(url: str) -> str:
    """The schema of a database, without what names a version or a session."""
    done = subprocess.run(
        [str(bin_folder() / "pg_dump"), *FLAGS, "--dbname", url], capture_output=True, text=True, check=True
    )
    text = NOISE.sub("", done.stdout)
    tables = TRIGGER.sub("", FUNCTION.sub("", text))
    functions = [f"{found[1]};  -- functions/{found[2]}.sql" for found in FUNCTION.finditer(text)]
    parts = [tables, *functions, "", *TRIGGER.findall(text)]
    return HEAD + re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).strip() + "\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        server = EmbeddedServer(Path(folder))
        server.ensure_running()
        try:
            db = Database(server.url())
            migrate(db)
            db.close()
            sys.stdout.write(dump(server.url()))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
