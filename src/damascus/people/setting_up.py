"""A git repository becomes a project: what is found in it, what its damascus.toml says first, how that gets to main."""

import json
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from damascus import stacks
from damascus.app import App
from damascus.domain.config import parse_config
from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.scope import SETTINGS_FILE
from damascus.git.repository import Repository
from damascus.people import presets
from damascus.people.acts import Committing, Done
from damascus.people.presets import Way
from damascus.settings_on_main import commands_on, read_at, suite_on
from damascus.stacks.gate_commands import GateCommand
from damascus.stacks.suite import Suite
from damascus.store.projects import ProjectRow
from damascus.working_set import declare_graph

MESSAGE = "damascus: settings"
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
TEXT = """\
# How stories of this repository are built and judged. Every key has a default (docs/config.md).
# Damascus reads this file from {main}: what is not committed there does not hold.

[project]
name = {name}

[test]
# The whole test command: every story's commit passes it, beside the story's own Test Command.
# "none": there is none, and every receipt says so.
{command}

[gates.commands]
# What must exit 0 on every story's commit beside the tests: lint, types, build. What is found in the repository and
# not named here holds as well; "none": there is none, and every receipt says so.
{gates}

[ci.jobs]
# Commands that CI runs on every story's commit. Default: the test command above and the story's own.
# lint = "make lint"

[flow]
# direct: one agent writes, every gate judges. full: critics attack its tests and its code first, in twelve steps, for
# five to ten times the cost (docs/flow.md); single stories can choose it by `flow: full` in their spec.
# profile = "full"

[workspace]
# A command that prepares a fresh checkout (cached by your lock files), and untracked files it needs.
# setup = "make deps"
# copy = [".env.test"]

{agent}"""

FLOW = (
    "One agent builds each story and every gate judges it. With critics between (`flow: full` in a spec) that costs "
    "five to ten times as much and brings tests that somebody tried to fool (docs/flow.md)."
)


@dataclass(frozen=True)
class SurveyedRepository:
    """What the repository says of itself."""

    main: str
    stacks: tuple[str, ...]
    suite: Suite
    likely: str | None
    """What would run tests of this stack, were there any."""
    commands: tuple[GateCommand, ...] = ()

    @property
    def command(self) -> str | None:
        return self.suite.command or self.likely

    def told(self) -> str:
        stack = " and ".join(self.stacks) or "no stack we know"
        none = "no tests found; each spec names its own"
        tests = f"tests run by: {self.suite.command}" if self.suite.command else none
        gates = "".join(f", {each.name} by: {each.command}" for each in self.commands)
        return f"{stack}, lands on {self.main}, {tests}{gates}"


@dataclass(frozen=True)
class SetUp(Done):
    """The project's row, what became of damascus.toml, and what is to be noted ("" for nothing)."""

    row: ProjectRow
    written: bool
    on_main: bool
    note: str


def found_in(repository: Repository, environ: dict[str, str]) -> SurveyedRepository:
    file = repository.top / SETTINGS_FILE
    config = parse_config(file.read_text("utf-8", errors="replace") if file.is_file() else "", environ)
    main = repository.main_branch(config.project.main_branch)
    repository.refuse_unsupported(main, config.project.branch_prefix)
    listing = repository.git.out("ls-tree", "-r", "-z", "--name-only", f"refs/heads/{main}").split("\0")
    names = tuple(stack.name for stack in stacks.detect(listing))
    commands = commands_on(repository, main, config).commands
    return SurveyedRepository(
        main, names, suite_on(repository, main, config), stacks.default_command(listing), commands
    )


def _written(file: Path, repository: Repository, found: SurveyedRepository, way: Way | None) -> str:
    """An existing file is the user's: it is kept as it is."""
    if file.exists():
        return f"kept as it is. What the preset would write there:\n{way.lines}" if way else "kept as it is"
    name = json.dumps(repository.top.name, ensure_ascii=False)
    command = f"command = {json.dumps(found.suite.command or 'make test', ensure_ascii=False)}"
    command = command if found.suite.command else f"# {command}"
    agent, gates = way.lines if way else presets.NONE, _gate_lines(repository, found)
    text = TEXT.format(main=found.main, name=name, command=command, gates=gates, agent=agent)
    parse_config(text)
    file.write_text(text, "utf-8")
    return "written"


def _gate_lines(repository: Repository, found: SurveyedRepository) -> str:
    """A line that can't be run would refuse every story: it is written as a remark."""
    lines = []
    for each in found.commands:
        line = f"{_key(each.name)} = {json.dumps(each.command, ensure_ascii=False)}"
        program = each.command.split()[0]
        there = shutil.which(program) or (repository.top / program).exists()
        lines.append(line if there else f"# {line}  # {program} is not here: let setup install it")
    return "\n".join(lines or ['# lint = "make lint"'])


def _key(name: str) -> str:
    return name if BARE_KEY.fullmatch(name) else json.dumps(name)


def set_up(
    app: App, here: Path, way: Way | None = None, *, joins: Path | None = None, commit: Committing | None = None
) -> SetUp:
    """Registers the repository, writes damascus.toml where there is none, commits it if that is wanted; idempotent."""
    repository = Repository.discover(here)
    found = found_in(repository, app.environ)
    file = repository.top / SETTINGS_FILE
    new = not file.exists()
    row = app.init_project(here, joins=joins)
    said = []
    if row.joined:
        said.append(f"{row.repo} is a repository of the project {row.name}. What it needs is named under [repo] needs.")
    said.append(f"{SETTINGS_FILE}: {_written(file, repository, found, way)}")
    said += [FLOW] if new else []
    on_main, told = _brought_to_main(repository, found.main, commit)
    said.append(told)
    if way is not None:
        said.append(f"Before the first run: {way.then}")
    following = "damascus add SPEC…   (docs/spec.md), and before the first story: damascus doctor --test"
    return SetUp("\n".join(said), following, row, new, on_main, _graph_note(app, here))


def _brought_to_main(repository: Repository, main: str, commit: Committing | None) -> tuple[bool, str]:
    """Whether main has the file now, and what a person is told."""
    local = (repository.top / SETTINGS_FILE).read_bytes()
    if read_at(repository, repository.tip(main), SETTINGS_FILE) == local:
        return True, f"{SETTINGS_FILE} is on {main}."
    here = repository.checked_out_at(main)
    if commit and here is not None and here.resolve() == repository.top.resolve():
        if why := commit(repository.top, [SETTINGS_FILE], MESSAGE):
            raise DamascusError(
                f"git could not commit {SETTINGS_FILE}: {why} Fix that, then: {' && '.join(_commands())}. "
                "The project is registered and the file written."
            )
        return True, f"{SETTINGS_FILE} is committed on {main}."
    steps = [*([] if here is not None else [f"git switch {shlex.quote(main)}"]), *_commands()]
    return False, f"{SETTINGS_FILE} is not on {main} yet, and only there it holds. Commit it: {' && '.join(steps)}"


def _commands() -> list[str]:
    return [f"git add {SETTINGS_FILE}", f"git commit -m {shlex.quote(MESSAGE)} -- {SETTINGS_FILE}"]


def _graph_note(app: App, here: Path) -> str:
    """What it needs can be named before that is there: then `run` refuses, and here it is only said."""
    try:
        declare_graph(app, [app.project(here)])
    except UsageError as err:
        return str(err)
    return ""
