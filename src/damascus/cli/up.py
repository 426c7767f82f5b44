"""damascus up: a worker and the window in one process."""

from damascus.assembly import Choice
from damascus.cli.flags import AgentCommand, AgentKind, LogJson, Slots, UntilIdle
from damascus.cli.opened import open_app, open_project
from damascus.cli.web import Hosts, Listen, Port, ReadOnly, opened_window
from damascus.cli.working import work_queue
from damascus.people.places import refuse_config_off_main
from damascus.web.options import LOOPBACK, Options


def up(
    port: Port = 8420,
    slots: Slots = None,
    *,
    read_only: ReadOnly = False,
    agent: AgentKind = None,
    agent_command: AgentCommand = None,
    until_idle: UntilIdle = False,
    listen: Listen = LOOPBACK,
    host: Hosts = None,
    log_json: LogJson = False,
) -> int:
    """Work through this project's queue and open its window, until Ctrl-C (once: stop agents, save their work; twice:
    stop at once).

    \b
    Example:  damascus up --port 0 --slots 2
    """
    app = open_app()
    project = open_project(app)
    refuse_config_off_main(project)
    apart = open_app()  # the worker waits for a lost database, a page says so at once
    serving = opened_window(apart, project, Options(port, listen, read_only, tuple(host or ())))
    try:
        choice = Choice(slots, agent, agent_command, until_idle, log_json=log_json)
        return work_queue(app, project, choice, f"{project.config.forge.kind} forge")
    finally:
        serving.stop()
