"""The composition root: the only file that knows everyone.

`App` is what a command needs to begin: the data folder, the database, the project of a folder.
"""

import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from damascus.domain.errors import DamascusError, UsageError

if TYPE_CHECKING:
    from uuid import UUID

    from damascus.agents.gateway import GatewayBridge
    from damascus.domain.config import Config
    from damascus.domain.ids import Sha
    from damascus.domain.ports import Agent
    from damascus.engine.tools import Tools
    from damascus.engine.worker import Worker
    from damascus.git.mirror import Mirror
    from damascus.git.repository import Repository
    from damascus.store.db import Database
    from damascus.store.embedded import EmbeddedServer
    from damascus.store.projects import ProjectRow

RECONNECT_PATIENCE = 24 * 3600.0
"""A worker waits this long for its database; a command that a person waits for does not."""


@dataclass(frozen=True)
class Project:
    """An open project: its row, its repository, our mirror of it and the folder where its work lies."""

    row: "ProjectRow"
    repository: "Repository"
    folder: Path
    config: "Config"
    config_notice: str | None
    on_main: bool

    @cached_property
    def mirror(self) -> "Mirror":
        """Opened when first asked for: looking at the queue needs none."""
        from damascus.git.mirror import Mirror

        return Mirror.open(self.folder / "mirror.git", str(self.repository.git_dir))

    @property
    def worktrees(self) -> Path:
        return self.folder / "worktrees"

    @property
    def runs(self) -> Path:
        return self.folder / "runs"


class App:
    """Everything is opened when first asked for, so that a command pays only for what it uses."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self.environ = dict(os.environ if environ is None else environ)

    @cached_property
    def home(self) -> Path:
        from damascus.store.embedded import default_home

        return default_home(self.environ)

    @cached_property
    def server(self) -> "EmbeddedServer | None":
        """Our own PostgreSQL, unless DAMASCUS_DATABASE_URL names another."""
        from damascus.store.embedded import EmbeddedServer

        return None if self.environ.get("DAMASCUS_DATABASE_URL") else EmbeddedServer(self.home)

    @cached_property
    def database(self) -> "Database":
        """Connected and migrated. Fails at once with one sentence when it can't be reached."""
        from damascus.store.db import Database
        from damascus.store.migrate import migrate

        if self.server is None:
            db = Database(self.environ["DAMASCUS_DATABASE_URL"])
        else:
            self.server.ensure_running()
            db = Database(self.server.url(), start=self.server.ensure_running)
        self._refuse_old_server(db)
        migrate(db)
        return db

    def _refuse_old_server(self, db: "Database") -> None:
        version = db.run(lambda c: c.info.server_version)
        if version < 150000:
            raise DamascusError(
                f"the database is PostgreSQL {version // 10000}; Damascus needs 15 or newer. "
                "Upgrade it, or unset DAMASCUS_DATABASE_URL to use the embedded one."
            )

    def init_project(self, start: Path, name: str = "") -> "ProjectRow":
        """Register the repository of a folder; idempotent."""
        from damascus.git.repository import Repository
        from damascus.store import projects

        repository = Repository.discover(start)
        config, _, _ = _config_of(repository, self.environ)
        main = repository.main_branch(config.project.main_branch)
        repository.refuse_unsupported(main, config.project.branch_prefix)
        uuid = repository.project_uuid(create=True)
        assert uuid is not None
        known = projects.find(self.database, uuid)
        if known is not None and known.path != str(repository.top):
            _refuse_copy(repository.top, Path(known.path), uuid)
        self.hold_queue(repository)
        title = name or config.project.name or repository.top.name
        return projects.register(self.database, uuid, title, str(repository.top), (main, repository.tip(main)))

    def hold_queue(self, repository: "Repository") -> None:
        """One database and one data folder per repository: the mirror in it is the local forge."""
        from damascus.store import projects

        owner = f"{self.environ.get('USER') or 'damascus'}@{socket.gethostname()}, data in {self.home}"
        repository.lock_queue(f"{projects.queue_id(self.database)} {self.home}", owner)

    def project(self, start: Path) -> Project:
        """The initialised project of a folder, with the config of its main branch."""
        from damascus.git.repository import Repository
        from damascus.store import projects

        repository = Repository.discover(start)
        config, notice, on_main = _config_of(repository, self.environ)
        uuid = repository.project_uuid(create=False)
        row = projects.find(self.database, uuid) if uuid else None
        if row is None:
            raise UsageError(f"{repository.top} is not a Damascus project yet. Set it up: damascus init")
        row = self.init_project(start) if row.path != str(repository.top) else row
        folder = self.home / "projects" / str(row.uuid)
        return Project(row, repository, folder, config, notice, on_main)


def _refuse_copy(top: Path, known: Path, uuid: "UUID") -> None:
    """A moved folder is found again; a copy would take the queue away from the folder it was copied from."""
    from damascus.git.repository import Repository

    try:
        original = Repository.discover(known).project_uuid(create=False) if known != top and known.exists() else None
    except DamascusError:
        return
    if original == uuid:
        raise UsageError(
            f"{top} is a copy of {known}, which has the queue. Work there, or give the copy a queue of its own: "
            "git config --unset damascus.project && git config --unset damascus.queue && damascus init"
        )


def _config_of(repository: "Repository", environ: Mapping[str, str]) -> "tuple[Config, str | None, bool]":
    """Main's damascus.toml holds; the folder's must validate, and a difference is named in one line."""
    from damascus.domain.config import FILE, parse_config

    here = repository.top / FILE
    local = _read_text(here)
    mine = parse_config(local, environ) if local is not None else parse_config("", environ)
    main = repository.main_branch(mine.project.main_branch)
    theirs = read_at(repository, repository.tip(main), FILE)
    if theirs is None:
        return mine, None, False
    config = parse_config(theirs.decode("utf-8", errors="replace"), environ, f"{FILE} on {main}")
    differs = local is not None and local.encode() != theirs
    notice = f"{FILE} in your folder differs from {main}'s; {main}'s holds until you commit yours." if differs else None
    return config, notice, True


def _read_text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as err:
        raise UsageError(f"{path} can't be read: {err}. Correct it.") from None


def read_at(repository: "Repository", commit: "Sha", path: str) -> bytes | None:
    found = repository.git.run("cat-file", "blob", f"{commit}:{path}", check=False)
    return found.raw if found.code == 0 else None


# ── a worker's tools ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Choice:
    """The flags of `damascus run`; what is None comes from the config."""

    slots: int | None = None
    agent: str | None = None
    agent_command: str | None = None
    until_idle: bool = True
    require_sandbox: bool = False


def make_tools(
    app: App,
    project: Project,
    agent: "Agent | None",
    stopping: Callable[[], bool],
    boundary: Callable[[str, str], None],
) -> "Tools":
    """Wire adapters, git and store together for one project."""
    from concurrent.futures import ThreadPoolExecutor

    from damascus.domain.config import FILE, Config, parse_config
    from damascus.domain.failures import CallRetry
    from damascus.domain.ids import Sha
    from damascus.engine.patience import patient
    from damascus.engine.tools import Tools
    from damascus.forges import FORGES
    from damascus.gates import gates
    from damascus.gates.evidence import CleanRunner, remove
    from damascus.git.setup import WorkspaceSetup
    from damascus.git.snapshots import Snapshots
    from damascus.git.workspaces import Workspaces
    from damascus.scanning.scanner import Scanner
    from damascus.system import process
    from damascus.system.ports import PortBlocks
    from damascus.system.sandbox import detect

    mirror, row, level = project.mirror, project.row, detect()
    ports = PortBlocks(app.home / "ports", project.config.sandbox.first_port)

    @lru_cache(maxsize=64)
    def read_config(commit: str) -> Config:
        found = mirror.read(Sha(commit), FILE)
        return parse_config((found or b"").decode("utf-8", errors="replace"), app.environ, f"{FILE} on main")

    made = project.folder / "setup"
    setup = WorkspaceSetup(mirror, made, project.repository.top, stopping, sandbox=level)

    def prepare(checkout: Path) -> Mapping[str, str]:
        tip = forge.main_tip()  # not the mirror's word for it: an agent can push to the mirror
        setup.prepare(checkout, tip, read_config(tip))
        return {}

    def end_leftovers(recorded: Mapping[str, object]) -> None:
        identity = process.Identity.of(recorded)
        if identity is not None:
            process.end_leftovers(identity)

    log_limit = project.config.limits.log_max_mb * 1_000_000
    checkouts = project.folder / "checkouts"
    sweeper = ThreadPoolExecutor(1, thread_name_prefix="sweeper")

    def behind(folder: Path) -> object:
        """Whoever lands next must not wait for a disk; what is left at the end is the reaper's."""
        return sweeper.submit(remove, folder)

    runner = CleanRunner(
        mirror, checkouts, prepare, stopping, log_limit, sandbox=level, readable=(made,), ports=ports, sweep=behind
    )
    forge = FORGES["local"](mirror, project.repository, row.main_branch, runner, row.name)
    judges = gates(runner, mirror, scanner := Scanner())
    calls = project.config.retry
    retry = CallRetry(calls.call_attempts, calls.call_first_seconds, calls.call_most_seconds)
    return Tools(
        db=app.database,
        project=row,
        folder=project.folder,
        mirror=mirror,
        workspaces=Workspaces(project.worktrees, mirror, project.config.project.branch_prefix),
        snapshots=Snapshots(mirror),
        forge=patient(forge, retry),
        agent=agent,
        gates_before=judges.before,
        gates_after=judges.after,
        scanner=scanner,
        quick_scanner=Scanner.quick(),
        level=level,
        ports=ports,
        read_config=read_config,
        prepare_checkout=prepare,
        stopping=stopping,
        end_leftovers=end_leftovers,
        boundary=boundary,
        refiner=project.config.agent.refiner,
    )


def make_agent(app: App, project: Project, choice: Choice) -> "Agent":
    """`claude`, unless another is chosen: by flag, by variable, or in main's damascus.toml."""
    from damascus.agents import Setup
    from damascus.agents import make_agent as make

    def bridge() -> "GatewayBridge":
        from damascus.agents.gateway import GatewayBridge

        return GatewayBridge.from_environment(app.environ, config.gateway, app.home)

    config = project.config.agent
    kind = choice.agent or config.kind or ("command" if choice.agent_command or config.command else "claude")
    folder = project.folder
    setup = Setup(
        command=choice.agent_command or config.command,
        start_folder=Path.cwd(),
        homes=folder / "homes",
        state=folder / "agent-state",
        binary=config.binary,
        environ=app.environ,
        bridge=bridge,
    )
    return make(kind, setup)


def refuse_unconfined(agent: "Agent") -> None:
    """`--require-sandbox`: better not at all than without walls."""
    from damascus.system.sandbox import Level, found

    tried = found()
    if Level.UNCONFINED in (tried.level, agent.confinement):
        why = "; ".join(tried.refusals) or f"the {agent.name} agent runs inside Damascus itself"
        raise DamascusError(
            f"nothing is run, because it could not be confined: {why}. Install bubblewrap or allow user namespaces "
            "(docs/sandbox.md), or run without --require-sandbox and [sandbox] require."
        )


def make_worker(
    app: App,
    project: Project,
    choice: Choice,
    boundary: Callable[[str, str], None] | None = None,
    agent: "Agent | None" = None,
) -> "Worker":
    """A worker of this process, holding its lock for as long as the process lives."""
    from damascus.engine.guards import guard
    from damascus.engine.tools import nothing
    from damascus.engine.worker import Pace, Worker
    from damascus.system.hostid import WorkerLock, new_worker_id

    app.hold_queue(project.repository)
    limits = project.config.limits
    agent = agent or make_agent(app, project, choice)
    if choice.require_sandbox or project.config.sandbox.require:
        refuse_unconfined(agent)
    worker_id = new_worker_id()
    lock = WorkerLock.hold(app.home / "workers", worker_id)
    made: list[Worker] = []

    def stopping() -> bool:
        return bool(made) and made[0].stopping()

    tools = make_tools(app, project, agent, stopping, boundary or nothing)
    tools.db.stopping, tools.db.patience = stopping, RECONNECT_PATIENCE
    pace = Pace(
        slots=choice.slots or limits.slots,
        lease=timedelta(seconds=limits.lease_seconds),
        heartbeat=timedelta(seconds=limits.heartbeat_seconds),
        until_idle=choice.until_idle,
    )
    worker = Worker(tools, worker_id, pace, lambda: guard(project.folder, limits))
    worker.lock = lock
    made.append(worker)
    return worker
