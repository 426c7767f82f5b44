"""The checks of `doctor`. Each one answers for itself: what fails does not keep the next from being looked at."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from damascus.domain.check import Check
from damascus.domain.errors import DamascusError, TransientError

if TYPE_CHECKING:
    from damascus.app import App, Project
    from damascus.domain.ids import Sha
    from damascus.domain.ports import EvidenceRunner, TestRun
    from damascus.engine.tools import Tools

OLDEST_GIT = (2, 38)


def examine(app: "App", *, test: bool) -> Iterator[Check]:
    git = _git()
    yield git
    if git.state == "fail":
        return
    yield _guarded("database", lambda: _database(app))
    yield _guarded("repository", lambda: _repository(app))
    project, problem = _project(app)
    if project is None:
        yield Check("project", "fail", problem)
        return
    yield _settings(project)
    yield _suite(project)
    yield _agent(app, project)
    yield _sandbox(project)
    yield _disk(app, project)
    if test:
        yield _guarded("tests", lambda: _tests(app, project))


def _guarded(name: str, look: Callable[[], Check]) -> Check:
    try:
        return look()
    except (DamascusError, TransientError) as err:
        return Check(name, "fail", str(err))


def _git() -> Check:
    try:
        told = subprocess.run(["git", "--version"], capture_output=True, text=True).stdout
    except OSError:
        return Check("git", "fail", "git is not installed, or not on the PATH. Install 2.38 or newer.")
    found = re.search(r"(\d+)\.(\d+)", told)
    version = (int(found.group(1)), int(found.group(2))) if found else (0, 0)
    if version < OLDEST_GIT:
        return Check("git", "fail", f"{told.strip()} is too old. Install 2.38 or newer.")
    return Check("git", "ok", told.strip())


def _database(app: "App") -> Check:
    version = app.database.run(lambda c: c.info.server_version)
    where = f"embedded, in {app.server.status().data}" if app.server else "at DAMASCUS_DATABASE_URL"
    return Check("database", "ok", f"PostgreSQL {version // 10000}.{version % 10000}, {where}")


def _repository(app: "App") -> Check:
    from damascus.cli.init import found_in
    from damascus.git.repository import Repository

    repository = Repository.discover(Path.cwd())
    main = found_in(repository, app.environ).main
    return Check("repository", "ok", f"{repository.top}, lands on {main} at {repository.tip(main)[:7]}")


def _project(app: "App") -> "tuple[Project | None, str]":
    try:
        return app.project(Path.cwd()), ""
    except (DamascusError, TransientError) as err:
        return None, str(err)


def _settings(project: "Project") -> Check:
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


def _suite(project: "Project") -> Check:
    """The whole test command that every candidate passes."""
    from damascus.stacks.suite import Suite

    settings, main = project.settings, project.row.main_branch
    told = Suite(settings.suite, settings.suite_found).told(main)
    if not settings.suite:
        return Check("suite", "warn", f"{told}, and every receipt says so. Name it: command under [test].")
    write = ". Write it there: command under [test]" if settings.suite_found else ""
    return Check("suite", "ok", f"every candidate passes {told}{write}")


def _agent(app: "App", project: "Project") -> Check:
    agent = project.config.agent
    kind = agent.kind or ("command" if agent.command else "claude")
    if kind == "command":
        return _command_agent(project, agent.command)
    if kind == "scripted":
        return Check("agent", "ok", kind)
    return _model_agent(app, project, kind)


def _model_agent(app: "App", project: "Project", kind: str) -> Check:
    """Its program and its way to a model; a project that names its agent needs both, another may name it at `run`."""
    from damascus.assembly import Choice, make_agent

    try:
        agent = make_agent(app, project, Choice(agent=kind))
    except DamascusError as err:
        return Check("agent", "fail" if project.config.agent.kind else "warn", f"{kind}: {err}")
    return Check("agent", "ok", f"{kind}, {agent.confinement}")


def _command_agent(project: "Project", command: str) -> Check:
    try:
        words = shlex.split(command)
    except ValueError as err:
        return Check("agent", "fail", f"the command {command!r} can't be split into words: {err}. Correct it.")
    if not words:
        return Check("agent", "fail", "kind is command, but no command is named. Set command under [agent].")
    if shutil.which(words[0], path=None) or shutil.which(str(project.repository.top / words[0])):
        return Check("agent", "ok", f"command: {command}")
    return Check("agent", "fail", f"the program {words[0]} is not there or not executable. Correct [agent] command.")


def _sandbox(project: "Project") -> Check:
    """How agents and tests are confined here, tried in earnest."""
    from damascus.system.sandbox import Level, found

    here = found()
    why = "; ".join(here.refusals)
    advice = "Install bubblewrap or allow user namespaces (docs/sandbox.md)."
    if here.form is not None:
        return Check("sandbox", "ok", f"agents and tests run in bubblewrap, {here.form.program}")
    if here.level is Level.LANDLOCK:
        return Check("sandbox", "warn", f"agents and tests run under Landlock, which stops less: {why}. {advice}")
    required = project.config.sandbox.require
    told = "no run would start, [sandbox] require is set" if required else "agents and tests run unconfined"
    return Check("sandbox", "fail" if required else "warn", f"{told}: {why}. {advice}")


def _disk(app: "App", project: "Project") -> Check:
    free = shutil.disk_usage(app.home).free // 2**20
    reserve = project.config.limits.disk_reserve_mb
    told = f"{free:,} MB free at {app.home}, reserve {reserve:,} MB"
    if free < reserve:
        return Check("disk", "fail", f"{told}: no slot would be filled. Free some, or lower [limits] disk_reserve_mb.")
    return Check("disk", "ok", told)


def _tests(app: "App", project: "Project") -> Check:
    """The project's suite and each CI command, on a clean checkout of main's tip."""
    tip = _tools(app, project).forge.main_tip()
    suite = project.settings.suite
    jobs = {**({"suite": suite} if suite else {}), **project.config.ci.jobs}
    if not jobs:
        return Check("tests", "warn", "no test command is known here. Name it in damascus.toml: command under [test].")
    for name, words in jobs.items():
        if problem := _run(app, project, tip, name, words):
            return Check("tests", "fail", problem)
    return Check("tests", "ok", f"green on a clean checkout of {tip[:7]}: " + "; ".join(jobs.values()))


def _run(app: "App", project: "Project", tip: "Sha", name: str, command: str) -> str | None:
    from damascus.domain.ports import Job

    tree = project.mirror.tree(tip)
    log = project.folder / "doctor" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    done = _runner(app, project).run(Job(tree, command, project.config.test.timeout_seconds, "doctor", log))
    if done.green:
        return None
    how = "timed out" if done.timed_out else f"exited {done.exit_code}"
    counted = f", {done.passed} passed and {done.failed} failed" if done.counted else ""
    return f"{command} {how} on a clean checkout of main{counted}. {_follows(name, done)} See {log}"


def _follows(name: str, done: "TestRun") -> str:
    if done.exit_code in (126, 127):
        return "It can't be started there: let [workspace] setup install it, or name another command."
    if name == "suite":
        return "What is red there is charged to no story, and proves nothing of any: every receipt lists it."
    return "No story can pass before this does."


def _tools(app: "App", project: "Project") -> "Tools":
    from damascus.assembly import make_tools
    from damascus.engine.tools import nothing

    return make_tools(app, project, None, lambda: False, nothing)


def _runner(app: "App", project: "Project") -> "EvidenceRunner":
    """The same set-up and the same clean checkout that a story's tests get."""
    from damascus.gates.evidence import CleanRunner

    tools = _tools(app, project)

    def prepare(checkout: Path) -> Mapping[str, str]:
        tools.prepare_checkout(checkout)
        return {}

    return CleanRunner(project.mirror, project.folder / "checkouts", prepare, home_of=tools.home_of)
