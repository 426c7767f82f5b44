"""damascus web: the window alone, beside any number of workers."""

import signal
import sys
import threading
from dataclasses import replace
from typing import Annotated

import typer

from damascus.app import App, Project
from damascus.cli.opened import open_app, open_project, person_in
from damascus.cli.say import aside, say, wrapped
from damascus.domain.errors import DamascusError
from damascus.far_projects import far_project
from damascus.people import tokens
from damascus.people.acts import Actor
from damascus.web.options import BROWSER, LOOPBACK, LOOPBACKS, Options
from damascus.web.server import Serving
from damascus.web.sessions import Sessions
from damascus.web.site import make_site

Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="Nobody can act in the window.")]
Listen = Annotated[
    str, typer.Option("--listen", metavar="ADDRESS", help="Beyond this machine: needs a token, and TLS is a proxy's.")
]
Hosts = Annotated[
    list[str] | None, typer.Option("--host", metavar="NAME", help="A name that browsers ask a proxy for; repeatable.")
]
Link = Annotated[bool, typer.Option("--link", help="Only print another link to a window that runs on that port.")]
ProjectName = Annotated[
    str | None, typer.Option("--project", metavar="NAME", help="Where there is no folder of it: its name or uuid.")
]


def web(
    port: Port = 8420,
    read_only: ReadOnly = False,
    listen: Listen = LOOPBACK,
    host: Hosts = None,
    *,
    project: ProjectName = None,
    link: Link = False,
) -> int:
    """Open the window: every page of this project, live, beside any number of workers on any host.

    It prints a link that works once; the browser that opens it is known from then on. It listens on 127.0.0.1 alone,
    unless --listen says otherwise: then a token must exist (damascus token new), and TLS is a proxy's before it.

    \b
    Example:  damascus web --port 0
              damascus web --link      (another browser)
    """
    app = open_app()
    found = far_project(app, project) if project else open_project(app)
    if link:
        say(f"http://{listen if ':' not in listen else f'[{listen}]'}:{port}/enter/{_another_link(app, found)}")
        return 0
    serving = opened_window(app, found, Options(port, listen, read_only, tuple(host or ())))
    until_ended("Ctrl-C ends it.")
    serving.stop()
    return 0


def _another_link(app: App, project: Project) -> str:
    """Whoever asks for it acts by their own name."""
    return Sessions(app.home, project.row.uuid).link(person_in(project).name)


def until_ended(said: str) -> None:
    """Until Ctrl-C, or whoever ends processes here."""
    say(wrapped(said))
    sys.stdout.flush()
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    ended.wait()


def opened_window(app: App, project: Project, options: Options) -> Serving:
    """Served from now on, and its link told."""
    _refuse_open_doors(app, project, options)
    named = replace(options, person=Actor(person_in(project).name, BROWSER))
    serving = Serving(make_site(app, project, named), named)
    serving.start()
    say(wrapped(f"The window: {serving.one_time_link()} (the link works once)"))
    if named.listen != LOOPBACK:
        aside("note", f"it listens on {named.listen} without TLS: a proxy has to bring that (docs/dashboard.md)")
    sys.stdout.flush()  # who reads a pipe waits for the link
    return serving


def _refuse_open_doors(app: App, project: Project, options: Options) -> None:
    """Beyond this machine only where somebody has said who may enter."""
    if options.listen in LOOPBACKS or any(row.valid for row in tokens.listed(app.database, project)):
        return
    raise DamascusError(
        f"--listen {options.listen} lets other machines in, and this project has no token. Make one first: "
        "damascus token new --scope read. Nothing was opened."
    )
