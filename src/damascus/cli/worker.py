"""damascus worker: one more worker, on any host with the same database and forge, without the repository's folder."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from damascus.cli.flags import AgentCommand, AgentKind, Slots, UntilIdle
from damascus.cli.opened import open_app
from damascus.cli.run import ended, played_by, refuse_config_off_main, start, work
from damascus.cli.words import plural

if TYPE_CHECKING:
    from damascus.app import Project


def worker(
    project: Annotated[
        str | None, typer.Option("--project", metavar="NAME", help="Its name or uuid; needed if there are several.")
    ] = None,
    until_idle: UntilIdle = False,
    slots: Slots = None,
    agent: AgentKind = None,
    agent_command: AgentCommand = None,
) -> int:
    """One more worker on any host, until Ctrl-C or SIGTERM. It needs no folder of the repository.

    DAMASCUS_DATABASE_URL names the database, the forge's token is in the variable that [forge] token_env names; all
    else comes from the database and from main. Exit 1 when a story is blocked, or when the database has become newer
    than this worker: then it finishes what it holds and asks to be upgraded.

    \b
    Example:  damascus worker --project calc
    """
    from damascus.assembly import Choice

    app = open_app()
    found = app.far_project(project)
    refuse_config_off_main(found)
    _say_what_is_not_copied(found)
    made = start(app, found, Choice(slots, agent, agent_command, until_idle))
    forge = f"{found.config.forge.kind} at {found.config.forge.url}"
    began = work(
        app, found, made, f"{found.row.name} · {plural(made.pace.slots, 'slot')} · {played_by(made)} · {forge}"
    )
    return ended(app, found, made, began)


def _say_what_is_not_copied(project: "Project") -> None:
    from damascus.app import COPY

    lacking = [name for name in project.config.workspace.copy_files if not (project.folder / COPY / name).exists()]
    if lacking:
        print(
            f"note: [workspace] copy names {', '.join(lacking)}, and this host has no folder of yours to copy from. "
            f"Put such files into {project.folder / COPY}, or checkouts go without them.",
            file=sys.stderr,
        )
