"""damascus worker: one more worker, on any host with the same database and forge, without the repository's folder."""

from typing import Annotated

import typer

from damascus.app import COPY, Project
from damascus.assembly import Choice
from damascus.cli.flags import AgentCommand, AgentKind, LogJson, Slots, UntilIdle
from damascus.cli.opened import open_app
from damascus.cli.say import aside
from damascus.cli.working import work_queue
from damascus.far_projects import far_project
from damascus.people.places import refuse_config_off_main


def worker(
    project: Annotated[
        str | None, typer.Option("--project", metavar="NAME", help="Its name or uuid; needed if there are several.")
    ] = None,
    until_idle: UntilIdle = False,
    slots: Slots = None,
    agent: AgentKind = None,
    agent_command: AgentCommand = None,
    *,
    log_json: LogJson = False,
) -> int:
    """Run another worker on any host, until Ctrl-C or SIGTERM. It needs no folder of the repository.

    DAMASCUS_DATABASE_URL names the database, and the variable that [forge] token_env names holds the forge's token;
    everything else comes from the database and from main. Exit code 1 when a story is blocked, or when the database has
    become newer than this worker: then it finishes what it holds and asks to be upgraded.

    \b
    Example:  damascus worker --project calc
    """
    app = open_app()
    found = far_project(app, project)
    refuse_config_off_main(found)
    _say_what_is_not_copied(found)
    choice = Choice(slots, agent, agent_command, until_idle, log_json=log_json)
    return work_queue(app, found, choice, f"{found.config.forge.kind} at {found.config.forge.url}")


def _say_what_is_not_copied(project: Project) -> None:
    lacking = [name for name in project.config.workspace.copy_files if not (project.folder / COPY / name).exists()]
    if lacking:
        aside(
            "note",
            f"[workspace] copy names {', '.join(lacking)}, and this host has no folder of yours to copy from. "
            f"Put such files into {project.folder / COPY}, or checkouts go without them.",
        )
