"""`python -m damascus.store.dump > src/damascus/store/schema.sql`: the schema that the migrations make, to be read.

A test compares the file with a migrated database, so it is never behind.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from damascus.store.db import Database
from damascus.store.embedded import EmbeddedServer
from damascus.store.migrate import migrate
from damascus.store.pgbinaries import bin_folder

FLAGS = ("--schema-only", "--no-owner", "--no-privileges", "--no-comments", "--restrict-key=damascus")
HEAD = "-- Made by `python -m damascus.store.dump` from store/migrations/. Read it; change the migrations.\n\n"
NOISE = re.compile(r"^(--.*|SET .*|SELECT pg_catalog\.set_config.*|\\(un)?restrict .*)\n", re.MULTILINE)


def dump(url: str) -> str:
    """The schema of a database, without what names a version or a session."""
    done = subprocess.run(
        [str(bin_folder() / "pg_dump"), *FLAGS, "--dbname", url], capture_output=True, text=True, check=True
    )
    return HEAD + re.sub(r"\n{3,}", "\n\n", NOISE.sub("", done.stdout)).strip() + "\n"


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
