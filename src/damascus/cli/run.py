"""damascus run: work the current folder's project."""

from typing import Annotated

import typer

from damascus.app import Project
from damascus.assembly import Choice
from damascus.cli.flags import AgentCommand, AgentKind, LogJson, Slots, UntilIdle
from damascus.cli.opened import open_app, open_project
from damascus.cli.say import aside
from damascus.cli.working import work_queue
from damascus.people.places import refuse_config_off_main


def run(
    until_idle: UntilIdle = False,
    slots: Slots = None,
    agent: AgentKind = None,
    agent_command: AgentCommand = None,
    require_sandbox: Annotated[
        bool, typer.Option("--require-sandbox", help="Refuse to run where agents can't be confined.")
    ] = False,
    *,
    log_json: LogJson = False,
) -> int:
    """Work through this project's queue until Ctrl-C (once: stop agents, save their work; twice: stop at once).

    Exit code 0 when every story is done, 1 when one is blocked or waits for a file of yours.

    \b
    Example:  damascus run --until-idle --agent command --agent-command ./my-agent
    """
    app = open_app()
    project = open_project(app)
    refuse_config_off_main(project)
    _say_what_was_found(project)
    choice = Choice(slots, agent, agent_command, until_idle, require_sandbox, log_json)
    return work_queue(app, project, choice, f"{project.config.forge.kind} forge")


def _say_what_was_found(project: Project) -> None:
    """What is run without anyone having written it in damascus.toml is said."""
    settings = project.settings
    if settings.suite_found:
        found = f"every candidate passes `{settings.suite}` too, found from {settings.main}'s files"
        aside("note", f"{found}; write it as command under [test] in damascus.toml, or none")
    commands = ", ".join(f"{name} `{text}`" for name, text, found in settings.commands if found)
    if commands:
        told = f"every candidate passes {commands} too, found from {settings.main}'s files"
        aside("note", f"{told}; write them under [gates.commands] in damascus.toml, or none")
