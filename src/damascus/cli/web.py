"""damascus web: the window alone, beside any number of workers."""

import signal
import threading
from typing import Annotated

import typer

from damascus.app import App, Project
from damascus.cli.opened import open_app, open_project, person_in
from damascus.cli.say import say, wrapped
from damascus.people.acts import Actor
from damascus.web.options import BROWSER, Options
from damascus.web.server import Serving
from damascus.web.site import make_site

Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="Nobody can act in the window.")]


def web(port: Port = 8420, read_only: ReadOnly = False) -> int:
    """Open the window: every page of this project, live, beside any number of workers on any host.

    It prints a link that works once; the browser that opens it is known from then on. It listens on 127.0.0.1 alone.

    \b
    Example:  damascus web --port 0
    """
    app = open_app()
    project = open_project(app)
    serving = opened_window(app, project, Options(port=port, read_only=read_only))
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    ended.wait()
    serving.stop()
    return 0


def opened_window(app: App, project: Project, options: Options) -> Serving:
    """Served from now on, and its link told."""
    named = Options(options.port, options.listen, options.read_only, options.hosts, _in_browser(project))
    serving = Serving(make_site(app, project, named), named)
    serving.start()
    say(wrapped(f"The window: {serving.one_time_link()} (works once; Ctrl-C ends it)"))
    return serving


def _in_browser(project: Project) -> Actor:
    return Actor(person_in(project).name, BROWSER)
