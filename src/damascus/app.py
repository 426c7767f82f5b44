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
from uuid import uuid4

from damascus.domain.errors import DamascusError, UsageError

if TYPE_CHECKING:
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
    from damascus.store.projects import ForgeAddress, ProjectRow

RECONNECT_PATIENCE = 24 * 3600.0
"""A worker waits this long for its database; a command that a person waits for does not."""
COPY = "copy"
"""Where `[workspace] copy` finds its files on a host that has no folder of the repository."""


@dataclass(frozen=True)
class Project:
    """An open project: its row, our mirror of its repository, the folder where its work lies, and the user's own
    repository (`here`; None on a host that has no folder of it)."""

    row: "ProjectRow"
    here: "Repository | None"
    folder: Path
    config: "Config"
    config_notice: str | None
    on_main: bool

    @property
    def repository(self) -> "Repository":
        assert self.here is not None, "asked for only by commands that a person gives in its folder"
        return self.here

    @cached_property
    def mirror(self) -> "Mirror":
        """Opened when first asked for: looking at the queue needs none."""
        from damascus.git.mirror import Mirror

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

    def init_project(self, start: Path, name: str = "", joins: Path | None = None) -> "ProjectRow":
        """Register the repository of a folder, as a project of its own or of the one that it joins; idempotent."""
        from damascus.git.repository import Repository
        from damascus.repositories import remember_place
        from damascus.store import projects

        repository = Repository.discover(start)
        config, _, _ = _config_of(repository, self.environ)
        main = repository.main_branch(config.project.main_branch)
        repository.refuse_unsupported(main, config.project.branch_prefix)
        if joins is not None:
            self._join(repository, joins)
        uuid = repository.project_uuid(create=True)
        assert uuid is not None
        known = self._known(repository)
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

    def _join(self, repository: "Repository", folder: Path) -> None:
        """The repository leaves the project that it was, if that has no stories, and belongs to the other's."""
        from damascus.store import projects

        other = self.project(folder)
        if other.repository.git_dir == repository.git_dir:
            raise UsageError(f"{folder} is this very repository. Name the folder of another one of the project.")
        mine, _ = repository.identity()
        if mine == other.row.uuid:
            return
        if mine is not None:
            projects.leave(self.database, mine, repository.top.name)
        repository.join(other.row.uuid, uuid4())

    def _known(self, repository: "Repository") -> "ProjectRow | None":
        """Its row: by its own uuid; where its git config has none (an older release), by its folder, or as the only
        one."""
        from damascus.store import projects

        uuid, own = repository.identity()
        if uuid is None:
            return None
        if own is not None:
            return projects.find(self.database, uuid, own)
        found = projects.repositories(self.database, uuid)
        there = next((row for row in found if row.path == str(repository.top)), None)
        if there is not None:
            repository.own_uuid(there.repo_uuid)
        return there or (found[0] if len(found) == 1 else None)

    def folder_of(self, row: "ProjectRow") -> Path:
        """Where a repository's mirror, workspaces and runs lie. The project's first has the project's own folder."""
        whole = self.home / "projects" / str(row.uuid)
        return whole / "repos" / str(row.repo_uuid) if row.joined else whole

    def repositories(self, project: Project) -> "list[Project]":
        """The project's repositories that this host has, in a folder of its own or on a forge; this one first."""
        from damascus.store import projects

        rows = projects.repositories(self.database, project.row.uuid)
        others = [self._other(row) for row in rows if row.repo_id != project.row.repo_id]
        return [project, *(other for other in others if other is not None)]

    def beside(self, project: Project, repo: int) -> Project:
        """The repository of a project with that number."""
        from damascus.store import projects

        if repo == project.row.repo_id:
            return project
        row = next(row for row in projects.repositories(self.database, project.row.uuid) if row.repo_id == repo)
        if (found := self._other(row)) is None:
            raise DamascusError(f"that belongs to the repository {row.repo} ({row.path}), which is not on this host.")
        return found

    def _other(self, row: "ProjectRow") -> Project | None:
        from damascus.repositories import place_of

        place = place_of(self.folder_of(row), row)
        if place is not None:
            return self.project(place)
        return self._far(row) if row.forge is not None and self.server is None else None

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
        row = self._known(repository)
        if row is None:
            raise UsageError(f"{repository.top} is not a Damascus project yet. Set it up: damascus init")
        row = self.init_project(start) if row.path != str(repository.top) else row
        row = projects.remember_forge(self.database, row, _address(config)) if on_main else row
        return Project(row, repository, self.folder_of(row), config, notice, on_main)

    def far_project(self, wanted: str | None) -> Project:
        """A project on a host that has no folder of it: found in the database, its mirror made from the forge."""
        return self._far(self._far_row(wanted))

    def _far(self, row: "ProjectRow") -> Project:
        from damascus.domain.config import FILE, parse_config
        from damascus.forges import Setup, make_forge
        from damascus.git.mirror import Mirror

        assert row.forge is not None
        folder = self.folder_of(row)
        known = {"kind": row.forge.kind, "url": row.forge.url, "token_env": row.forge.token_env}
        forge = parse_config("", self.environ).forge.model_copy(update=known)
        mirror = Mirror.open(folder / "mirror.git", forge.url)
        setup = Setup(mirror, None, row.main_branch, None, row.repo, forge, self.environ)
        text = mirror.read(make_forge(forge.kind, setup).main_tip(), FILE)
        name = f"{FILE} on {row.main_branch}"
        config = parse_config((text or b"").decode("utf-8", errors="replace"), self.environ, name)
        if config.forge.kind == "local":
            raise DamascusError(f"{name} of {forge.url} names no forge any more, so only its own folder can be worked.")
        return Project(row, None, folder, config, None, on_main=text is not None)

    def _far_row(self, wanted: str | None) -> "ProjectRow":
        from damascus.store import projects

        if self.server is not None:
            raise UsageError(
                "a worker on any host needs a database that every host reaches. Set DAMASCUS_DATABASE_URL, or work "
                "in the project's folder: damascus run (docs/operations.md)"
            )
        known = projects.on_forges(self.database)
        found = [uuid for uuid, name in known if wanted in (None, name, str(uuid))]
        if not known:
            raise UsageError(
                "no project of this database lives on a forge that every host reaches. Set [forge] kind and url in "
                "damascus.toml on main, and give any command in its folder: damascus status (docs/forges.md)"
            )
        if len(found) != 1:
            named = ", ".join(f"{name} ({uuid})" for uuid, name in known)
            raise UsageError(f"which project? Name one by --project, by its uuid if its name is not enough: {named}.")
        return next(row for row in projects.repositories(self.database, found[0]) if row.forge is not None)


def _refuse_copy(repository: "Repository", known: Path) -> None:
    """A moved folder is found again; a copy would take the queue away from the folder it was copied from."""
    from damascus.git.repository import Repository

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


def _address(config: "Config") -> "ForgeAddress | None":
    """What other hosts must know of the forge; an address that holds a password is refused before it is written."""
    forge = config.forge
    if forge.kind == "local":  # before the imports: looking at the queue needs no forge
        return None
    from damascus.forges.address import Address
    from damascus.store.projects import ForgeAddress

    return ForgeAddress(forge.kind, Address.parse(forge.url).url, forge.token_env)


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
    *,
    everyone: "Mapping[int, Tools] | None" = None,
) -> "Tools":
    """Wire adapters, git and store together for one repository. `everyone` are the tools of the project's others."""
    from concurrent.futures import ThreadPoolExecutor

    from damascus.domain.config import FILE, Config, parse_config
    from damascus.domain.failures import CallRetry
    from damascus.domain.ids import Sha
    from damascus.engine.patience import patient
    from damascus.engine.tools import Tools
    from damascus.engine.upstreams import Upstreams
    from damascus.forges import Setup, make_forge
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
    copied = project.here.top if project.here else project.folder / COPY
    setup = WorkspaceSetup(mirror, made, copied, stopping, sandbox=level, may_lack=project.here is None)

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

    needed = Upstreams(app.database, row, {} if everyone is None else everyone)
    runner = CleanRunner(
        mirror, checkouts, prepare, stopping, log_limit,
        sandbox=level, readable=(made,), ports=ports, sweep=behind, upstreams=needed,
    )  # fmt: skip
    wanted = project.config.forge
    setting = Setup(mirror, project.here, row.main_branch, runner, row.repo, wanted, app.environ)
    forge = make_forge(wanted.kind, setting)
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
        window=window(project.config.queue.window, forge.runs_ci),
        runner=runner,
        upstreams=needed,
        home=app.home,
    )


def window(most: int, runs_ci: bool) -> int:
    """Stories tested on top of each other at once; where CI runs here, at most two for each processor."""
    return min(most, 2 * (os.cpu_count() or 1)) if runs_ci else most


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
    from damascus.repositories import worked_here
    from damascus.system.hostid import WorkerLock, new_worker_id

    limits = project.config.limits
    worked, notes = worked_here(app, project)
    worker_id = new_worker_id()
    lock = WorkerLock.hold(app.home / "workers", worker_id)
    made: list[Worker] = []

    def stopping() -> bool:
        return bool(made) and made[0].stopping()

    everyone: dict[int, Tools] = {}
    for one in worked:
        if one.here is not None:
            app.hold_queue(one.here)
        player = agent or make_agent(app, one, choice)
        if choice.require_sandbox or one.config.sandbox.require:
            refuse_unconfined(player)
        everyone[one.row.repo_id] = make_tools(app, one, player, stopping, boundary or nothing, everyone=everyone)
    tools = everyone[project.row.repo_id]
    tools.db.stopping, tools.db.patience = stopping, RECONNECT_PATIENCE
    pace = Pace(
        slots=choice.slots or limits.slots,
        lease=timedelta(seconds=limits.lease_seconds),
        heartbeat=timedelta(seconds=limits.heartbeat_seconds),
        until_idle=choice.until_idle,
    )
    others = {repo: each for repo, each in everyone.items() if each is not tools}
    worker = Worker(tools, worker_id, pace, lambda: guard(project.folder, limits), others)
    worker.lock, worker.notes = lock, tuple(notes)
    made.append(worker)
    listen_for_webhooks(app, project, worker)
    return worker


def listen_for_webhooks(app: App, project: Project, worker: "Worker") -> None:
    """Only where a port is set: a webhook shortens a wait, polling is the truth."""
    if not project.config.forge.webhook_port:
        return
    from damascus.forges.webhooks import WebhookReceiver
    from damascus.store.waking import wake_ci

    db = app.database
    receiver = WebhookReceiver.start(project.config.forge, app.environ, lambda commit: wake_ci(db, commit))
    if receiver is not None:
        worker.ends.append(receiver.stop)
