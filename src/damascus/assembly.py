"""A worker is put together here: its agent, its tools for each repository, its pace, its webhooks."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from damascus.app import COPY, App, Project
from damascus.domain.errors import DamascusError

if TYPE_CHECKING:
    from damascus.agents.gateway import GatewayBridge
    from damascus.domain.ports import Agent
    from damascus.engine.tools import Tools
    from damascus.engine.worker import Worker

RECONNECT_PATIENCE = 24 * 3600.0
"""A worker waits this long for its database; a command that a person waits for does not."""


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

    from damascus.domain.config import Config, parse_config
    from damascus.domain.failures import CallRetry
    from damascus.domain.ids import Sha
    from damascus.domain.scope import SETTINGS_FILE
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
        found = mirror.read(Sha(commit), SETTINGS_FILE)
        return parse_config((found or b"").decode("utf-8", errors="replace"), app.environ, f"{SETTINGS_FILE} on main")

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
        sandbox=level, home_of=setup.home_of, ports=ports, sweep=behind, upstreams=needed,
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
        gates_beside=judges.beside,
        scanner=scanner,
        quick_scanner=Scanner.quick(),
        level=level,
        ports=ports,
        read_config=read_config,
        prepare_checkout=prepare,
        home_of=setup.home_of,
        as_laid=setup.as_laid,
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
    from damascus.system import scratch
    from damascus.system.hostid import WorkerLock, new_worker_id

    limits = project.config.limits
    worked, notes = worked_here(app, project)
    worker_id = new_worker_id()
    lock = WorkerLock.hold(app.home / "workers", worker_id)
    aside = scratch.begin(app.home, worker_id)
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
    worker.ends.append(lambda: scratch.end(aside))
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
