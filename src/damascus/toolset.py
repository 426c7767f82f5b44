"""The tools of one repository are put together here: git, the forge, the runner of tests, the gates."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from os import cpu_count
from pathlib import Path

from damascus.app import COPY, App, Project
from damascus.domain.config import Config, parse_config
from damascus.domain.failures import CallRetry
from damascus.domain.ids import Sha
from damascus.domain.ports import Agent, Forge, Log, NoLog
from damascus.domain.scope import SETTINGS_FILE
from damascus.engine.retried_forge import RetriedForge
from damascus.engine.tools import Tools
from damascus.engine.upstreams import Upstreams
from damascus.evidence.keeping import Keeping, secret_of
from damascus.evidence.runner import CleanRunner, remove
from damascus.forges import ForgeSetup, make_forge
from damascus.gates import gates
from damascus.git.made import LaidBySetup
from damascus.git.mirror import Mirror
from damascus.git.setup import WorkspaceSetup
from damascus.git.snapshots import Snapshots
from damascus.git.workspaces import Workspaces
from damascus.scanning.scanner import Scanner
from damascus.store import projections
from damascus.store.evidence import KeptEvidence
from damascus.store.owners import KeptOwners
from damascus.store.screenshots import KeptPictures
from damascus.system import process
from damascus.system.ports import PortBlocks
from damascus.system.sandbox import Level, detect

RULES_KEPT = 64


class RulesAtCommit:
    """The damascus.toml of a commit. The same text is parsed once: main moves with every story, its settings hardly."""

    def __init__(self, mirror: Mirror, environ: Mapping[str, str]) -> None:
        self._mirror, self._environ = mirror, environ
        self._parsed = lru_cache(maxsize=RULES_KEPT)(self._parse)

    def __call__(self, commit: str) -> Config:
        return self._parsed(self._mirror.read(Sha(commit), SETTINGS_FILE) or b"")

    def _parse(self, text: bytes) -> Config:
        return parse_config(text.decode("utf-8", errors="replace"), self._environ, f"{SETTINGS_FILE} on main")


@dataclass
class PreparedByMain:
    """Lays into a checkout what [workspace] of main's tip names."""

    setup: WorkspaceSetup
    rules: RulesAtCommit
    forge: Forge | None = None
    """Whose word for main's tip counts, not the mirror's: an agent can push to that. Known last, since a local forge
    runs its CI on checkouts that are prepared here."""

    def __call__(self, checkout: Path) -> Mapping[str, str]:
        assert self.forge is not None, "set before anything is run"
        tip = self.forge.main_tip()
        self.setup.prepare(checkout, tip, self.rules(tip))
        return {}

    def laid(self) -> LaidBySetup | None:
        assert self.forge is not None, "set before anything is run"
        tip = self.forge.main_tip()
        return self.setup.laid(tip, self.rules(tip))


class Sweeper:
    """Removes checkouts in a thread of its own: whoever lands next must not wait for a disk. What is left at the end is
    the reaper's."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sweeper")

    def __call__(self, folder: Path) -> object:
        return self._thread.submit(remove, folder)


@dataclass(frozen=True)
class Checkouts:
    """How commits of a repository are checked out, prepared and run."""

    level: Level
    ports: PortBlocks
    setup: WorkspaceSetup
    rules: RulesAtCommit
    prepare: PreparedByMain
    upstreams: Upstreams
    runner: CleanRunner


def make_tools(
    app: App,
    project: Project,
    agent: Agent | None,
    stopping: Callable[[], bool],
    boundary: Callable[[str, str], None],
    *,
    everyone: Mapping[int, Tools] | None = None,
    roles: Mapping[str, Agent] | None = None,
    log: Log | None = None,
) -> Tools:
    """Adapters, git and store of one repository. `everyone` are the tools of the project's others, `roles` the agents
    of single roles."""
    checkouts = _checkouts(app, project, stopping, {} if everyone is None else everyone)
    forge = checkouts.prepare.forge = _forge(app, project, checkouts.runner)
    pictures = KeptPictures(app.database, project.row.repo_id)
    owners = KeptOwners(app.database, project.row.repo_id)
    judges = gates(checkouts.runner, project.mirror, scanner := Scanner(), pictures, owners)
    config = project.config
    return Tools(
        db=app.database, project=project.row, home=app.home, folder=project.folder, log=log or NoLog(), config=config,
        mirror=project.mirror, snapshots=Snapshots(project.mirror),
        workspaces=Workspaces(project.worktrees, project.mirror, config.project.branch_prefix),
        forge=RetriedForge(forge, _retries(config)), window=window(config.queue.window, forge.runs_ci),
        agent=agent, agents=roles or {}, refiner=config.agent.refiner,
        gates_before=judges.before, gates_after=judges.after, gates_beside=judges.beside,
        scanner=scanner, quick_scanner=Scanner.quick(),
        level=checkouts.level, ports=checkouts.ports, read_config=checkouts.rules,
        prepare_checkout=checkouts.prepare, home_of=checkouts.setup.home_of, as_laid=checkouts.setup.as_laid,
        runner=checkouts.runner, upstreams=checkouts.upstreams,
        top=project.here.top if project.here else None, here=project.here,
        stopping=stopping, end_leftovers=end_leftovers, boundary=boundary,
    )  # fmt: skip


def _checkouts(app: App, project: Project, stopping: Callable[[], bool], everyone: Mapping[int, Tools]) -> Checkouts:
    level, mirror = detect(), project.mirror
    ports = PortBlocks(app.home / "ports", project.config.sandbox.first_port)
    copied = project.here.top if project.here else project.folder / COPY
    setup = WorkspaceSetup(
        mirror, project.folder / "setup", copied, stopping, sandbox=level, may_lack=project.here is None
    )
    rules = RulesAtCommit(mirror, app.environ)
    prepare = PreparedByMain(setup, rules)
    upstreams = Upstreams(app.database, project.row, everyone)
    keeping = Keeping(KeptEvidence(app.database, project.row.repo_id), secret_of(app.home), lambda: level, prepare.laid)
    runner = CleanRunner(
        mirror, project.folder / "checkouts", prepare, stopping, project.config.limits.log_max_mb * 1_000_000,
        sandbox=level, home_of=setup.home_of, ports=ports, sweep=Sweeper(), upstreams=upstreams, keeping=keeping,
    )  # fmt: skip
    return Checkouts(level, ports, setup, rules, prepare, upstreams, runner)


def _forge(app: App, project: Project, runner: CleanRunner) -> Forge:
    wanted, row = project.config.forge, project.row
    ours = partial(projections.ours, app.database, row.repo_id)
    setup = ForgeSetup(project.mirror, project.here, row.main_branch, runner, row.repo, wanted, app.environ, ours)
    return make_forge(wanted.kind, setup)


def _retries(config: Config) -> CallRetry:
    calls = config.retry
    return CallRetry(calls.call_attempts, calls.call_first_seconds, calls.call_most_seconds)


def window(most: int, runs_ci: bool) -> int:
    """Stories tested on top of each other at once; where CI runs here, at most two for each processor."""
    return min(most, 2 * (cpu_count() or 1)) if runs_ci else most


def end_leftovers(recorded: Mapping[str, object]) -> None:
    """What a dead worker's step left running."""
    identity = process.Identity.of(recorded)
    if identity is not None:
        process.end_leftovers(identity)
