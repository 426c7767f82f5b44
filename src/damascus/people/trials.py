"""`doctor --test`: all that a story will run, run once on a clean checkout of main, and why it is red if it is."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from damascus.app import App, Project
from damascus.domain.check import Check, State
from damascus.domain.errors import DamascusError, SetupFailed, TransientError
from damascus.domain.failures import CANNOT_START
from damascus.domain.ids import Sha
from damascus.domain.ports import EvidenceRunner, Job, TestRun
from damascus.engine.tools import Tools, nothing
from damascus.evidence.runner import CleanRunner
from damascus.people.spec_files import Ground
from damascus.stacks import REGISTRY, detect
from damascus.telling.phrases import one_line
from damascus.toolset import make_tools

READ_LIMIT = 400_000
MOST_WORDS = 200
ERROR = re.compile(
    r"^E\s+\S|\berror\b|\w(Error|Exception)\b|\bFAIL(ED|URE)?\b|not found|No such file|✗|panicked", re.IGNORECASE
)
NO_HISTORY = re.compile(r"setuptools[-_]scm|unable to detect version", re.IGNORECASE)
ECHO = re.compile(r"> ")
"""So npm names what it starts; a package may be called error."""

VERSION_FROM_GIT = (
    "Checkouts have no git history to take a version from: set SETUPTOOLS_SCM_PRETEND_VERSION in the set-up command, "
    "or export it and name it in [workspace] env (docs/config.md)."
)


@dataclass(frozen=True)
class Trial:
    """One command that stories run. `name` is the check's."""

    name: str
    command: str
    follows: str
    found: bool = False
    """Nobody named it, main's files tell it: where its program is not there, stories land without it (listed)."""


def trials(project: Project) -> list[Trial]:
    """Each command once, though it be the suite and a CI job as well."""
    config, suite = project.config, project.settings.suite
    told = "What is red there is charged to no story, and proves nothing of any: every receipt lists it."
    found = [Trial("tests", suite, told)] if suite else []
    found += [Trial(f"gate {name}", text, told, by_files) for name, text, by_files in project.settings.commands]
    if config.forge.kind == "local":
        jobs = config.ci.jobs.items()
        found += [Trial(f"ci {name}", text, "No story can pass before this does.") for name, text in jobs]
    return list({trial.command: trial for trial in reversed(found)}.values())[::-1]


def examine(app: App, project: Project) -> Iterator[Check]:
    try:
        tools = _tools(app, project)
        tip, runner = tools.forge.main_tip(), _runner(project, tools)
    except (DamascusError, TransientError) as err:
        yield Check("tests", "fail", str(err))
        return
    ready = _set_up(project, tip, runner)
    yield from [ready] if ready else []
    if ready and ready.state == "fail":
        return
    todo = trials(project)
    for trial in todo:
        yield _guarded(project, tip, runner, trial)
    if not todo:
        yield Check("tests", "ok", "nothing to run yet: no suite, no gate command, no CI job; each story's own are run")


def _set_up(project: Project, tip: Sha, runner: EvidenceRunner) -> Check | None:
    """By a command that does nothing: the runner prepares its checkout as it does for every other."""
    wanted = project.config.workspace
    if not (wanted.setup or wanted.copy_files):
        return None
    check = _guarded(project, tip, runner, Trial("set-up", "true", "No story can be worked before this is done."))
    if check.state == "fail":
        return check
    named = [f"`{wanted.setup}`"] if wanted.setup else []
    return Check("set-up", "ok", f"a clean checkout is prepared: {', '.join([*named, *wanted.copy_files])}")


def _guarded(project: Project, tip: Sha, runner: EvidenceRunner, trial: Trial) -> Check:
    try:
        return _tried(project, tip, runner, trial)
    except SetupFailed as err:
        return Check(trial.name, "fail", f"{err}{_first_error_told(Path(err.log), Ground.of(project).listing())}")
    except (DamascusError, TransientError) as err:
        return Check(trial.name, "fail", str(err))


def _tried(project: Project, tip: Sha, runner: EvidenceRunner, trial: Trial) -> Check:
    log = project.folder / "doctor" / f"{re.sub(r'[^A-Za-z0-9_-]', '_', trial.name)}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    limit = project.config.test.timeout_seconds
    done = runner.run(Job(project.mirror.tree(tip), trial.command, limit, "doctor", log))
    if done.green:
        return Check(trial.name, "ok", f"green on a clean checkout of {tip[:7]}: {trial.command}")
    state: State = "warn" if trial.found and done.exit_code in CANNOT_START else "fail"
    return Check(trial.name, state, _why_it_failed(project, trial, done, log))


def _why_it_failed(project: Project, trial: Trial, done: TestRun, log: Path) -> str:
    how = "timed out" if done.timed_out else f"exited {done.exit_code}"
    counted = f", {done.passed} passed and {done.failed} failed" if done.counted else ""
    listing = Ground.of(project).listing()
    line, missing = first_error(log, listing)
    first = f" {_sentence(line)}" if line else ""
    follows = trial.follows
    if done.exit_code in CANNOT_START:
        usual = (stack.install[0][1](listing) for stack in detect(listing) if stack.install)
        example = _example(project, missing or next(usual, ""))
        follows = f"It can't be started there: let [workspace] setup install it{example}, or name another command."
        follows += " Until then every receipt lists it as not verified." if trial.found else ""
    elif missing:
        follows = f"{_hint(project, missing)} {follows}"
    return f"{trial.command} {how} on a clean checkout of main{counted}.{first} {follows} See {log}"


def _sentence(line: str) -> str:
    return f"First error: {line}" + ("" if line.endswith((".", "!", "?")) else ".")


def _first_error_told(log: Path, listing: Collection[str]) -> str:
    """What a set-up said first; where it looked for its version in git, also the cure."""
    lines = _lines(log)
    told = next((line[:MOST_WORDS] for line in lines if NO_HISTORY.search(line)), "")
    if told:
        return f" {_sentence(told)} {VERSION_FROM_GIT}"
    line, _ = first_error(log, listing)
    return f" {_sentence(line)}" if line else ""


def _hint(project: Project, example: str) -> str:
    return f"A package is missing: let [workspace] setup install it{_example(project, example)}."


def _example(project: Project, example: str) -> str:
    return f', for example setup = "{example}"' if example and not project.config.workspace.setup else ""


def first_error(log: Path, listing: Collection[str]) -> tuple[str, str]:
    """The first line of an output that tells an error, and the set-up that would bring a package that is missing."""
    lines = _lines(log)
    for line in lines:
        for pattern, example in (install for stack in REGISTRY.values() for install in stack.install):
            if re.search(pattern, line):
                return line[:MOST_WORDS], example(listing)
    return next((line for line in lines if ERROR.search(line)), lines[0] if lines else "")[:MOST_WORDS], ""


def _lines(log: Path) -> list[str]:
    try:
        with log.open("rb") as file:
            text = file.read(READ_LIMIT).decode("utf-8", errors="replace")
    except OSError:
        return []
    return [one_line(line) for line in text.splitlines() if line.strip() and not ECHO.match(line)]


def _tools(app: App, project: Project) -> Tools:
    return make_tools(app, project, None, lambda: False, nothing)


def _runner(project: Project, tools: Tools) -> EvidenceRunner:
    """The same set-up and the same clean checkout that a story's tests get."""

    def prepare(checkout: Path) -> Mapping[str, str]:
        tools.prepare_checkout(checkout)
        return {}

    return CleanRunner(project.mirror, project.folder / "checkouts", prepare, home_of=tools.home_of)
