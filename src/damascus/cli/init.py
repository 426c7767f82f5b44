"""damascus init: a git repository becomes a project."""

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from damascus.cli.opened import open_app
from damascus.cli.say import next_step, say
from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.scope import SETTINGS_FILE

if TYPE_CHECKING:
    from damascus.app import App
    from damascus.cli.presets import Way
    from damascus.git.repository import Repository
    from damascus.stacks.suite import Suite

MESSAGE = "damascus: settings"
TEXT = """\
# How stories of this repository are built and judged. Every key has a default (docs/config.md).
# Damascus reads this file from {main}: what is not committed there does not hold.

[project]
name = {name}

[test]
# The whole test command: every story's commit passes it, beside the story's own Test Command.
# "none": there is none, and every receipt says so.
{command}

[ci.jobs]
# Commands that CI runs on every story's commit. Default: the test command above and the story's own.
# lint = "make lint"

[workspace]
# A command that prepares a fresh checkout (cached by your lock files), and untracked files it needs.
# setup = "make deps"
# copy = [".env.test"]

{agent}"""


@dataclass(frozen=True)
class Found:
    """What the repository says of itself."""

    main: str
    stacks: tuple[str, ...]
    suite: "Suite"
    likely: str | None
    """What would run tests of this stack, were there any."""

    @property
    def command(self) -> str | None:
        return self.suite.command or self.likely

    def told(self) -> str:
        stack = " and ".join(self.stacks) or "no stack we know"
        none = "no tests found; each spec names its own"
        tests = f"tests run by: {self.suite.command}" if self.suite.command else none
        return f"{stack}, lands on {self.main}, {tests}"


def init(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    commit: Annotated[
        bool, typer.Option("--commit", help="Commit damascus.toml, and only it, on the main branch.")
    ] = False,
    joins: Annotated[
        str | None,
        typer.Option("--joins", metavar="FOLDER", help="Become a repository of the project in that folder."),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option("--preset", metavar="WAY", help="The way to a model: anthropic, litellm, openai or none."),
    ] = None,
    gateway: Annotated[
        str, typer.Option("--gateway", metavar="URL", help="With --preset: the address of your gateway.")
    ] = "",
) -> None:
    """Make the git repository of this folder a project: finds its main branch, stack and tests, writes damascus.toml.

    \b
    Example:  damascus init --yes --commit
              damascus init --preset anthropic
              damascus init --joins ../core
    """
    from damascus.git.repository import Repository

    app = open_app()
    repository = Repository.discover(Path.cwd())
    found = found_in(repository, app.environ)
    say(f"{repository.top.name}: {found.told()}")
    file = repository.top / SETTINGS_FILE
    if (
        not file.exists()
        and not yes
        and sys.stdin.isatty()
        and not typer.confirm(f"Write {SETTINGS_FILE}?", default=True)
    ):
        raise DamascusError("nothing was changed.")
    way = _way(preset, gateway, asks=not file.exists() and not yes and sys.stdin.isatty())
    row = app.init_project(Path.cwd(), joins=Path(joins) if joins is not None else None)
    if row.joined:
        say(f"{row.repo} is a repository of the project {row.name}. What it needs is named under [repo] needs.")
    say(f"{SETTINGS_FILE}: {_written(file, repository, found, way)}")
    _bring_to_main(repository, found.main, commit)
    _say_graph(app)
    if way is not None:
        say(f"Before the first run: {way.then}")
    next_step("damascus add SPEC…   (docs/spec.md), and before the first story: damascus doctor --test")


def _way(preset: str | None, gateway: str, *, asks: bool) -> "Way | None":
    """By the flag, else asked for at a terminal."""
    from damascus.cli import presets

    if preset is None and asks:
        for name, about in presets.OFFERED.items():
            say(f"  {name:<10} {about}")
        preset = typer.prompt("The way to a model (or none)", default="none")
    chosen = presets.named(preset or "")
    if gateway and chosen is None:
        raise UsageError("--gateway goes with a --preset: anthropic, litellm or openai.")
    return presets.way(chosen, gateway) if chosen else None


def _say_graph(app: "App") -> None:
    """What it needs can be named before that is there: then `run` refuses, and here it is only said."""
    from damascus.repositories import declare_graph

    try:
        declare_graph(app, [app.project(Path.cwd())])
    except UsageError as err:
        print(f"note: {err}", file=sys.stderr)


def found_in(repository: "Repository", environ: dict[str, str]) -> Found:
    from damascus import stacks
    from damascus.domain.config import parse_config
    from damascus.settings import suite_on

    file = repository.top / SETTINGS_FILE
    config = parse_config(file.read_text("utf-8", errors="replace") if file.is_file() else "", environ)
    main = repository.main_branch(config.project.main_branch)
    repository.refuse_unsupported(main, config.project.branch_prefix)
    listing = repository.git.out("ls-tree", "-r", "-z", "--name-only", f"refs/heads/{main}").split("\0")
    names = tuple(stack.name for stack in stacks.detect(listing))
    return Found(main, names, suite_on(repository, main, config), stacks.default_command(listing))


def _written(file: Path, repository: "Repository", found: Found, way: "Way | None") -> str:
    """An existing file is the user's: it is kept as it is."""
    import json

    from damascus.cli.presets import NONE
    from damascus.domain.config import parse_config

    if file.exists():
        return f"kept as it is. What the preset would write there:\n{way.lines}" if way else "kept as it is"
    name = json.dumps(repository.top.name, ensure_ascii=False)
    command = f"command = {json.dumps(found.suite.command or 'make test', ensure_ascii=False)}"
    command = command if found.suite.command else f"# {command}"
    text = TEXT.format(main=found.main, name=name, command=command, agent=way.lines if way else NONE)
    parse_config(text)
    file.write_text(text, "utf-8")
    return "written"


def _bring_to_main(repository: "Repository", main: str, commit: bool) -> None:
    from damascus.settings import read_at

    local = (repository.top / SETTINGS_FILE).read_bytes()
    if read_at(repository, repository.tip(main), SETTINGS_FILE) == local:
        say(f"{SETTINGS_FILE} is on {main}.")
        return
    here = repository.checked_out_at(main)
    if commit and here is not None and here.resolve() == repository.top.resolve():
        _commit(repository)
        say(f"{SETTINGS_FILE} is committed on {main}.")
        return
    steps = [*([] if here is not None else [f"git switch {shlex.quote(main)}"]), *_commands()]
    say(f"{SETTINGS_FILE} is not on {main} yet, and only there it holds. Commit it: {' && '.join(steps)}")


def _commands() -> list[str]:
    return [f"git add {SETTINGS_FILE}", f"git commit -m {shlex.quote(MESSAGE)} -- {SETTINGS_FILE}"]


def _commit(repository: "Repository") -> None:
    """The user's git, with the user's identity and hooks; only this file, whatever else is staged."""
    for words in (["add", "--", SETTINGS_FILE], ["commit", "--quiet", "-m", MESSAGE, "--", SETTINGS_FILE]):
        done = subprocess.run(
            ["git", *words], cwd=repository.top, capture_output=True, text=True, errors="replace",
            stdin=subprocess.DEVNULL, env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        )  # fmt: skip
        if done.returncode != 0:
            why = " ".join((done.stderr or done.stdout).split())[-300:]
            raise DamascusError(
                f"git could not commit {SETTINGS_FILE}: {why} Cure that, then: {' && '.join(_commands())}. "
                "The project is registered and the file written."
            )
