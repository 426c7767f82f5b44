"""A worker is put together here: its agent, its tools for each repository (toolset.py), its pace, its webhooks."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from damascus import agents
from damascus.app import App, Project
from damascus.domain.config import Config
from damascus.domain.errors import DamascusError
from damascus.domain.ports import Agent, Log
from damascus.domain.roles import role_of
from damascus.engine.guards import guard
from damascus.engine.tools import Tools, nothing
from damascus.engine.worker import Pace, Worker
from damascus.forges.webhooks import WebhookReceiver
from damascus.store.waking import wake_ci
from damascus.system import sandbox, scratch
from damascus.system.hostid import WorkerLock, new_worker_id
from damascus.system.sandbox import Level
from damascus.toolset import make_tools
from damascus.working_set import worked_here

if TYPE_CHECKING:
    from damascus.gateway.bridge import GatewayBridge

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
    log_json: bool = False

    def pace(self, config: Config) -> Pace:
        limits = config.limits
        return Pace(
            slots=self.slots or limits.slots,
            lease=timedelta(seconds=limits.lease_seconds),
            heartbeat=timedelta(seconds=limits.heartbeat_seconds),
            until_idle=self.until_idle,
        )


class AskedToStop:
    """Whether the worker was asked to stop. Its tools ask, and they are made before it is."""

    worker: Worker | None = None

    def __call__(self) -> bool:
        return self.worker is not None and self.worker.stopping()


@dataclass(frozen=True)
class Equipment:
    """What the tools of all repositories of one worker share. `agent` plays every part, if it is given."""

    app: App
    choice: Choice
    boundary: Callable[[str, str], None]
    agent: Agent | None
    log: Log
    stopping: AskedToStop

    def tools_of(self, worked: list[Project]) -> dict[int, Tools]:
        """By the repository's number. Each can ask the others': a repository needs those above it."""
        everyone: dict[int, Tools] = {}
        for project in worked:
            if project.here is not None:
                self.app.hold_queue(project.here)
            everyone[project.row.repo_id] = make_tools(
                self.app, project, self._player(project), self.stopping, self.boundary,
                everyone=everyone, roles=self._players_of_roles(project), log=self.log,
            )  # fmt: skip
        return everyone

    def _player(self, project: Project, kind: str | None = None) -> Agent:
        choice = replace(self.choice, agent=kind, agent_command=None) if kind else self.choice
        player = self.agent or make_agent(self.app, project, choice)
        if self.choice.require_sandbox or project.config.sandbox.require:
            refuse_unconfined(player)
        return player

    def _players_of_roles(self, project: Project) -> dict[str, Agent]:
        """[agent.roles]: each kind is made once."""
        wanted = {role_of(role): kind for role, kind in project.config.agent.roles.items()}
        made = {kind: self._player(project, kind) for kind in dict.fromkeys(wanted.values())}
        return {role: made[kind] for role, kind in wanted.items()}


def make_worker(
    app: App,
    project: Project,
    choice: Choice,
    boundary: Callable[[str, str], None] | None = None,
    agent: Agent | None = None,
) -> Worker:
    """A worker of this process, holding its lock for as long as the process lives."""
    from damascus.system.worker_log import WorkerLog  # structlog: only a worker writes a log, `run --help` does not

    worked, notes = worked_here(app, project)
    worker_id = new_worker_id()
    lock = WorkerLock.hold(app.home / "workers", worker_id)
    aside = scratch.begin(app.home, worker_id)
    kept = WorkerLog(app.home, worker_id, also=sys.stderr if choice.log_json else None)
    stopping = AskedToStop()
    everyone = Equipment(app, choice, boundary or nothing, agent, kept.log, stopping).tools_of(worked)
    tools = everyone[project.row.repo_id]
    others = {repo: each for repo, each in everyone.items() if each is not tools}
    tools.db.stopping, tools.db.patience = stopping, RECONNECT_PATIENCE
    may_begin = partial(guard, project.folder, project.config.limits)
    worker = stopping.worker = Worker(tools, worker_id, choice.pace(project.config), may_begin, others)
    worker.lock, worker.notes = lock, tuple(notes)
    worker.ends += [partial(scratch.end, aside), kept.close]
    listen_for_webhooks(app, project, worker)
    return worker


def make_agent(app: App, project: Project, choice: Choice) -> Agent:
    """`claude`, unless another is chosen: by flag, by variable, or in main's damascus.toml."""
    config = project.config.agent
    kind = choice.agent or config.kind or ("command" if choice.agent_command or config.command else "claude")
    setup = agents.AgentSetup(
        command=choice.agent_command or config.command,
        start_folder=Path.cwd(),
        homes=project.folder / "homes",
        state=project.folder / "agent-state",
        binary=config.binary,
        environ=app.environ,
        bridge=partial(open_bridge, app, config.gateway),
    )
    return agents.make_agent(kind, setup)


def open_bridge(app: App, address: str) -> "GatewayBridge":
    """Loaded for an agent with a model alone: it brings a client for HTTP along."""
    bridge: type[GatewayBridge] = import_module("damascus.gateway.bridge").GatewayBridge
    return bridge.from_environment(app.environ, address, app.home)


def refuse_unconfined(agent: Agent) -> None:
    """`--require-sandbox`: better not at all than without walls."""
    tried = sandbox.found()
    if Level.UNCONFINED in (tried.level, agent.confinement):
        why = "; ".join(tried.refusals) or f"the {agent.name} agent runs inside Damascus itself"
        raise DamascusError(
            f"nothing is run, because it could not be confined: {why}. Install bubblewrap or allow user namespaces "
            "(docs/sandbox.md), or run without --require-sandbox and [sandbox] require."
        )


def listen_for_webhooks(app: App, project: Project, worker: Worker) -> None:
    """Only where a port is set: a webhook shortens a wait, polling is the truth."""
    if project.config.forge.webhook_port:
        receiver = WebhookReceiver.start(
            project.config.forge, app.environ, partial(wake_ci, app.database), worker.tools.log
        )
        if receiver is not None:
            worker.ends.append(receiver.stop)
