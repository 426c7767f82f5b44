"""A scratch PostgreSQL with durable commits, and queues of many rows."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from psycopg.errors import InsufficientPrivilege

from damascus.store import projects
from damascus.store.db import Database
from damascus.store.embedded.database import EmbeddedServer
from damascus.store.migrate import migrate
from damascus.store.projects import ProjectRow

FILL = """
INSERT INTO work_items (project_id, project, repo_id, story_id, title, phase, state, deadline_at, file_scope, spans,
                        spec, spec_hash, spec_path, branch)
SELECT %(project)s, 'bench', %(repo)s, 'S-' || n, 'story ' || n, 'build', 'ready', now() + n * interval '1 ms',
       ARRAY['src/' || n || '.py'],
       ARRAY[scope_span(%(owner)s || ':src/' || n || '.py', %(owner)s || ':src/' || n || '.py', '[]')],
       '\\x00', 'x', 'specs/' || n || '.md', 'feat/S-' || n
  FROM generate_series(%(first)s::int, %(last)s::int) n
"""


@contextmanager
def server() -> Iterator[EmbeddedServer]:
    with tempfile.TemporaryDirectory(prefix="damascus-bench-") as name:
        started = EmbeddedServer(Path(name) / "home")
        started.ensure_running()
        try:
            yield started
        finally:
            started.stop()


@contextmanager
def queue(on: EmbeddedServer, rows: int) -> Iterator[tuple[Database, ProjectRow]]:
    """A fresh database with this many ready stories, each with a file of its own."""
    name = f"bench_{uuid4().hex[:8]}"
    admin = Database(on.admin_url())
    for statement in (f"CREATE DATABASE {name} OWNER damascus", "GRANT pg_checkpoint TO damascus"):
        admin.connection().execute(statement.encode())
    db = Database(on.url().replace("/damascus?", f"/{name}?"))
    try:
        migrate(db)
        project = projects.register(db, uuid4(), "bench", "/bench", ("main", "a" * 40))
        fill(db, project, 1, rows)
        yield db, project
    finally:
        db.close()
        admin.connection().execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
        admin.close()


def fill(db: Database, project: ProjectRow, first: int, last: int) -> None:
    owner = f"{project.id}/{project.repo_id}"
    params = {"project": project.id, "repo": project.repo_id, "owner": owner, "first": first, "last": last}
    db.run(lambda c: c.execute(FILL.encode(), params))
    db.connection().execute(b"VACUUM (ANALYZE) work_items")
    with suppress(InsufficientPrivilege):  # our role in the embedded database may not
        db.connection().execute(b"CHECKPOINT")
