"""What a command begins with: the data folder, the database, the project of a folder."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from damascus.domain.errors import DamascusError, UsageError
from damascus.git.repository import Repository
from damascus.repositories import known_home, place_of, remember_place
from damascus.settings import Identity, Settings, glance
from damascus.store import projects
from damascus.store.db import Database
from damascus.store.embedded.database import EmbeddedServer, default_home
from damascus.store.migrate import migrate
from damascus.store.projects import ProjectRow
from damascus.system import modes

if TYPE_CHECKING:
    from damascus.domain.config import Config
    from damascus.git.mirror import Mirror

COPY = "copy"
"""Where `[workspace] copy` finds its files on a host that has no folder of the repository."""

UNFINISHED = "restore-unfinished"
"""Of the data folder, while a back-up is restored into it (people/restoring.py)."""

OURS = ("projects", "workers", "seen", "logs", "ports", "tmp")
"""What lies in the data folder beside PostgreSQL's and the gateway's."""


@dataclass(frozen=True)
class Project:
    """An open project: its row, our mirror of its repository, the folder where its work lies, and the user's own
    repository (`here`; None on a host that has no folder of it)."""

    row: ProjectRow
    here: Repository | None
    folder: Path
    settings: Settings

    @property
    def config(self) -> "Config":
        """Parsed when first asked for: looking at the queue needs none."""
        return self.settings.config

    @property
    def is_local(self) -> bool:
        """Whether stories land in the user's own repository; known without the config once main has it."""
        return self.settings.forge is None if self.settings.on_main else self.config.forge.kind == "local"

    @property
    def repository(self) -> Repository:
        assert self.here is not None, "asked for only by commands that a person gives in its folder"
        return self.here

    @cached_property
    def mirror(self) -> "Mirror":
        """Opened when first asked for: looking at the queue needs none."""
        from damascus.git.mirror import Mirror  # pydantic, by the ports that it fills

        forge = self.config.forge
        return Mirror.open(
            self.folder / "mirror.git", str(self.repository.git_dir) if forge.kind == "local" else forge.url
        )

    @property
    def worktrees(self) -> Path:
        return self.folder / "worktrees"

    @property
    def runs(self) -> Path:
        return self.folder / "runs"


class App:
    """Everything is opened when first asked for, so that a command pays only for what it uses."""

    def __init__(self, environ: Mapping[str, str] | None = None, start: Path | None = None) -> None:
        self.environ = dict(os.environ if environ is None else environ)
        self.start = start
        """The folder that a command is given in: what its repository's git config names is its data folder."""

    @cached_property
    def home(self) -> Path:
        known = known_home(self.start, self.environ) if self.start is not None else None
        return known or default_home(self.environ)

    @cached_property
    def server(self) -> EmbeddedServer | None:
        """Our own PostgreSQL, unless DAMASCUS_DATABASE_URL names another."""
        return None if self.environ.get("DAMASCUS_DATABASE_URL") else EmbeddedServer(self.home)

    @cached_property
    def database(self) -> Database:
        """Connected and migrated. Fails at once with one sentence when it can't be reached."""
        self._refuse_unfinished()
        if self.server is None:
            db = Database(self.environ["DAMASCUS_DATABASE_URL"])
        else:
            self.server.ensure_running()
            db = Database(self.server.url(), start=self.server.ensure_running)
        self._refuse_old_server(db)
        migrate(db)
        modes.close(self.home, OURS)
        return db

    def _refuse_unfinished(self) -> None:
        if (self.home / UNFINISHED).exists():
            raise DamascusError(
                f"the restore into {self.home} was not finished, so nothing can be worked there. Restore again: "
                "damascus db restore FILE (it begins anew)."
            )

    def _refuse_old_server(self, db: Database) -> None:
        version = db.run(lambda c: c.info.server_version)
        if version < 150000:
            raise DamascusError(
                f"the database is PostgreSQL {version // 10000}; Damascus needs 15 or newer. "
                "Upgrade it, or unset DAMASCUS_DATABASE_URL to use the embedded one."
            )

    def init_project(self, start: Path, name: str = "", joins: Path | None = None) -> ProjectRow:
        """Register the repository of a folder, as a project of its own or of the one that it joins; idempotent."""
        repository = Repository.discover(start)
        settings, _ = glance(repository, self.home, self.environ)
        config, main = settings.config, settings.main
        repository.refuse_unsupported(main, config.project.branch_prefix)
        if joins is not None:
            self._join(repository, joins)
        uuid = repository.project_uuid(create=True)
        assert uuid is not None
        known = self._known(repository, repository.identity())
        if known is not None and known.path != str(repository.top):
            _refuse_copy(repository, Path(known.path))
        title = name or config.project.name or repository.top.name
        if known is None:
            projects.refuse_taken_name(self.database, uuid, title)
        self.hold_queue(repository)
        own = repository.own_uuid(known.repo_uuid if known else uuid4())
        place, tip = str(repository.top), repository.tip(main)
        row = projects.register(self.database, uuid, title, place, (main, tip), repo=own)
        remember_place(self.folder_of(row), repository.top)
        return row

    def _join(self, repository: Repository, folder: Path) -> None:
        """The repository leaves the project that it was, if that has no stories, and belongs to the other's."""
        other = self.project(folder)
        if other.repository.git_dir == repository.git_dir:
            raise UsageError(f"{folder} is this repository itself. Name the folder of another one of the project.")
        mine, _ = repository.identity()
        if mine == other.row.uuid:
            return
        if mine is not None:
            projects.leave(self.database, mine, repository.top.name)
        repository.join(other.row.uuid, uuid4())

    def _known(self, repository: Repository, identity: Identity) -> ProjectRow | None:
        """Its row: by its own uuid; where its git config has none (an older release), by its folder, or as the only
        one."""
        uuid, own = identity
        if uuid is None:
            return None
        if own is not None:
            return projects.find(self.database, uuid, own)
        found = projects.repositories(self.database, uuid)
        there = next((row for row in found if row.path == str(repository.top)), None)
        if there is not None:
            repository.own_uuid(there.repo_uuid)
        return there or (found[0] if len(found) == 1 else None)

    def folder_of(self, row: ProjectRow) -> Path:
        """Where a repository's mirror, workspaces and runs lie. The project's first has the project's own folder."""
        whole = self.home / "projects" / str(row.uuid)
        return whole / "repos" / str(row.repo_uuid) if row.joined else whole

    def repositories(self, project: Project) -> list[Project]:
        """The project's repositories that this host has, in a folder of its own or on a forge; this one first."""
        rows = projects.repositories(self.database, project.row.uuid)
        others = [self._other(row) for row in rows if row.repo_id != project.row.repo_id]
        return [project, *(other for other in others if other is not None)]

    def beside(self, project: Project, repo: int) -> Project:
        """The repository of a project with that number."""
        if repo == project.row.repo_id:
            return project
        row = next(row for row in projects.repositories(self.database, project.row.uuid) if row.repo_id == repo)
        if (found := self._other(row)) is None:
            raise DamascusError(f"that belongs to the repository {row.repo} ({row.path}), which is not on this host.")
        return found

    def _other(self, row: ProjectRow) -> Project | None:
        place = place_of(self.folder_of(row), row)
        if place is not None:
            return self.project(place)
        if row.forge is None or self.server is not None:
            return None
        from damascus.far_projects import opened  # forges: only where a repository has no folder on this host

        return opened(self, row)

    def hold_queue(self, repository: Repository) -> None:
        """One database and one data folder per repository: the mirror in it is the local forge."""
        owner = f"{self.environ.get('USER') or 'damascus'}@{socket.gethostname()}, data in {self.home}"
        repository.lock_queue(f"{projects.queue_id(self.database)} {self.home}", owner)

    def project(self, start: Path) -> Project:
        """The initialised project of a folder, with the config of its main branch."""
        repository = Repository.discover(start)
        settings, identity = glance(repository, self.home, self.environ)
        row = self._known(repository, identity)
        if row is None:
            raise UsageError(f"{repository.top} is not a Damascus project yet. Set it up: damascus init")
        row = self.init_project(start) if row.path != str(repository.top) else row
        row = projects.remember_forge(self.database, row, settings.forge) if settings.on_main else row
        return Project(row, repository, self.folder_of(row), settings)


def _refuse_copy(repository: Repository, known: Path) -> None:
    """A moved folder is found again; a copy would take the queue away from the folder it was copied from."""
    top = repository.top
    try:
        original = Repository.discover(known).identity() if known != top and known.exists() else (None, None)
    except DamascusError:
        return
    project, own = repository.identity()
    if original[0] == project and own in (None, original[1]):
        raise UsageError(
            f"{top} is a copy of {known}, which has the queue. Work there, or give the copy a queue of its own: "
            "git config --remove-section damascus && damascus init"
        )
