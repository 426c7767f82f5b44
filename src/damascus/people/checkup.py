"""The checks of `doctor`. Each one answers for itself: what fails does not keep the next from being looked at."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from damascus.app import App, Project
from damascus.assembly import Choice, make_agent
from damascus.domain.check import Check
from damascus.domain.errors import DamascusError, TransientError
from damascus.domain.ports import Probed
from damascus.forges.doctor import examine as examine_forge
from damascus.git.repository import Repository
from damascus.people import contract_tools, mutation_tools, notify_checks, trace_checks, trials, visual_tools
from damascus.people.setting_up import found_in
from damascus.people.workers import living
from damascus.stacks.gate_commands import NO_COMMAND, GateCommand
from damascus.stacks.suite import Suite
from damascus.store import views
from damascus.system import sandbox
from damascus.system.sandbox import Level
from damascus.telling import troubles

OLDEST_GIT = (2, 38)
BARE_PYTHON = re.compile(r"(^|[\s;&|(])(python3?|pytest|tox|nox|pip3?)(?=\s|$)")
LOOPBACK = re.compile(r"^https?://(localhost|127\.|\[::1\])")


def examine(app: App, here: Path, *, test: bool) -> Iterator[Check]:
    """Of the repository that has the folder `here`; with `test` all that a story will run is run once."""
    git = _git()
    yield git
    if git.state == "fail":
        return
    yield _guarded("database", lambda: _database(app))
    repository = _guarded("repository", lambda: _repository(app, here))
    yield repository
    project, problem = _project(app, here)
    if project is None:
        if problem != repository.says:
            yield Check("project", "fail", problem)
        return
    yield _settings(project)
    yield _suite(project)
    yield from _gate_commands(project)
    yield from contract_tools.examine(project.config.contracts)
    yield from visual_tools.examine(project.config.visual)
    yield from _python(project)
    yield from mutation_tools.examine(project)
    yield from _forge(app, project)
    yield _agent(app, project)
    yield _sandbox(project)
    yield _disk(app, project)
    yield from _services(app, project)
    yield from notify_checks.examine(app, project)
    yield from trace_checks.examine(app)
    if test:
        yield from trials.examine(app, project)


def _guarded(name: str, look: Callable[[], Check]) -> Check:
    try:
        return look()
    except (DamascusError, TransientError) as err:
        return Check(name, "fail", str(err))


def _git() -> Check:
    try:
        told = subprocess.run(["git", "--version"], capture_output=True, text=True, start_new_session=True).stdout
    except OSError:
        return Check("git", "fail", "git is not installed, or not on the PATH. Install 2.38 or newer.")
    found = re.search(r"(\d+)\.(\d+)", told)
    version = (int(found.group(1)), int(found.group(2))) if found else (0, 0)
    if version < OLDEST_GIT:
        return Check("git", "fail", f"{told.strip()} is too old. Install 2.38 or newer.")
    return Check("git", "ok", told.strip())


def _database(app: App) -> Check:
    version = app.database.run(lambda c: c.info.server_version)
    where = f"embedded, in {app.server.status().data}" if app.server else "at DAMASCUS_DATABASE_URL"
    return Check("database", "ok", f"PostgreSQL {version // 10000}.{version % 10000}, {where}")


def _repository(app: App, here: Path) -> Check:
    repository = Repository.discover(here)
    main = found_in(repository, app.environ).main
    return Check("repository", "ok", f"{repository.top}, lands on {main} at {repository.tip(main)[:7]}")


def _project(app: App, here: Path) -> tuple[Project | None, str]:
    try:
        return app.project(here), ""
    except (DamascusError, TransientError) as err:
        return None, str(err)


def _settings(project: Project) -> Check:
    main = project.row.main_branch
    if not project.settings.on_main:
        return Check(
            "settings", "fail",
            f"damascus.toml is not on {main}, so run would stop. Commit it there: git add damascus.toml && git commit "
            "-m 'damascus: settings' -- damascus.toml",
        )  # fmt: skip
    if project.settings.notice:
        return Check("settings", "warn", project.settings.notice)
    return Check("settings", "ok", f"damascus.toml on {main} is valid")


def _suite(project: Project) -> Check:
    """The whole test command that every candidate passes."""
    settings, main = project.settings, project.row.main_branch
    told = Suite(settings.suite, settings.suite_found).told(main, on_main=settings.on_main)
    if not settings.suite:
        later = "" if project.config.test.command else ". Once there are tests, name it: command under [test]"
        return Check("suite", "ok", f"{told}, and every receipt says so{later}")
    write = ". Write it there: command under [test]" if settings.suite_found else ""
    return Check("suite", "ok", f"every candidate passes {told}{write}")


def _gate_commands(project: Project) -> Iterator[Check]:
    """What must exit 0 on every candidate beside the tests; nothing to say where there is none."""
    asked, main = [GateCommand(*each) for each in project.settings.commands], project.row.main_branch
    none = [name for name, text in project.config.gates.commands.items() if text.strip().lower() == NO_COMMAND]
    told = [*(each.told(main) for each in asked), *(f"{name}: there is none, as every receipt says" for name in none)]
    if told:
        write = ". Write what was found there: [gates.commands]" if any(each.found for each in asked) else ""
        yield Check("gate commands", "ok", f"every candidate passes {', '.join(told)}{write}")


def _python(project: Project) -> Iterator[Check]:
    """Damascus' own environment, first on PATH, would be what the project's tests import from."""
    found = shutil.which("python3")
    own = sys.prefix != sys.base_prefix and found and Path(found).parent == Path(sys.prefix) / "bin"
    config = project.config
    asked = (text for _, text, _ in project.settings.commands)
    commands = [project.settings.suite, *asked, *config.ci.jobs.values()]
    if own and any(BARE_PYTHON.search(command) for command in commands):
        yield Check(
            "python", "warn",
            f"python3 is Damascus' own ({found}), so tests see its packages and not the project's. Name the project's "
            f"in the command (.venv/bin/python), or put ours last: export PATH=$PATH:{Path(found or '').parent}",
        )  # fmt: skip


def _forge(app: App, project: Project) -> Iterator[Check]:
    """Only whether it answers and knows us; the rest is `forge doctor`'s."""
    if project.config.forge.kind == "local":
        return

    said = ""
    for check in examine_forge(project.config, app.environ, project.row.main_branch):
        if check.state == "fail":
            ours = LOOPBACK.search(project.config.forge.url) and (app.home / "forge").is_dir()
            again = " If it is the one of `damascus forge try`, start it again: damascus forge try" if ours else ""
            yield Check("forge", "fail", f"{check.says}{again}")
            return
        said = said or check.says
        if check.name == "repository":
            break
    yield Check("forge", "ok", f"{said}. All of it: damascus forge doctor")


def _agent(app: App, project: Project) -> Check:
    agent = project.config.agent
    kind = agent.kind_of("")
    if kind == "command":
        return _command_agent(project, agent.command)
    if kind == "scripted":
        return Check("agent", "ok", kind)
    return _model_agent(app, project, kind)


def _model_agent(app: App, project: Project, kind: str) -> Check:
    """Its program and its way to a model; a project that names its agent needs both, another may name it at `run`."""
    try:
        agent = make_agent(app, project, Choice(agent=kind))
    except DamascusError as err:
        return Check("agent", "fail" if project.config.agent.kind else "warn", f"{kind}: {err}")
    if not project.config.agent.ping or not isinstance(agent, Probed):
        return Check("agent", "ok", f"{kind}, {agent.confinement}; its gateway is not asked ([agent] ping)")
    models = _models(project)
    if wrong := next((said for model in models if (said := agent.fault(model, ping=True))), ""):
        return Check("agent", "fail", f"{kind}: {wrong}")
    way = getattr(agent, "gateway", "its gateway")
    return Check("agent", "ok", f"{kind}, {agent.confinement}; {way} refuses neither key nor {' and '.join(models)}")


def _models(project: Project) -> list[str]:
    models = project.config.models
    return list(dict.fromkeys([models.fast, models.strong, *models.roles.values()]))


def _command_agent(project: Project, command: str) -> Check:
    try:
        words = shlex.split(command)
    except ValueError as err:
        return Check("agent", "fail", f"the command {command!r} can't be split into words: {err}. Correct it.")
    if not words:
        return Check("agent", "fail", "kind is command, but no command is named. Set command under [agent].")
    if shutil.which(words[0], path=None) or shutil.which(str(project.repository.top / words[0])):
        return Check("agent", "ok", f"command: {command}")
    return Check("agent", "fail", f"the program {words[0]} is not there or not executable. Correct [agent] command.")


def _sandbox(project: Project) -> Check:
    """How agents and tests are confined here, tried in earnest."""
    here = sandbox.found()
    why = "; ".join(here.refusals)
    advice = "Install bubblewrap or allow user namespaces (docs/sandbox.md)."
    if here.form is not None:
        return Check("sandbox", "ok", f"agents and tests run in bubblewrap, {here.form.program}")
    if here.level is Level.LANDLOCK:
        return Check("sandbox", "warn", f"agents and tests run under Landlock, which stops less: {why}. {advice}")
    required = project.config.sandbox.require
    told = "no run would start, [sandbox] require is set" if required else "agents and tests run unconfined"
    return Check("sandbox", "fail" if required else "warn", f"{told}: {why}. {advice}")


def _disk(app: App, project: Project) -> Check:
    free = shutil.disk_usage(app.home).free // 2**20
    reserve = project.config.limits.disk_reserve_mb
    told = f"{free:,} MB free at {app.home}, reserve {reserve:,} MB"
    if free < reserve:
        return Check("disk", "fail", f"{told}: no slot would be filled. Free some, or lower [limits] disk_reserve_mb.")
    return Check("disk", "ok", told)


def _services(app: App, project: Project) -> Iterator[Check]:
    """What fails again and again in the background of the workers that live; nothing to say while nothing does."""
    for told in troubles.told(living(app, views.workers(app.database, project.row))):
        yield Check("services", "fail", told)
