"""damascus db: the embedded PostgreSQL."""

import os
import shutil
from typing import TYPE_CHECKING, Annotated

import typer

from damascus.cli.opened import open_app
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say
from damascus.domain.errors import DamascusError

if TYPE_CHECKING:
    from damascus.app import App
    from damascus.store.embedded import EmbeddedServer

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="The embedded PostgreSQL: start, stop, look, psql.")


def _ours(context: "App") -> "EmbeddedServer":
    if context.server is None:
        raise DamascusError(
            "DAMASCUS_DATABASE_URL is set, so the database is not ours to start or stop. "
            "Unset it to use the embedded one."
        )
    return context.server


@app.command("start")
def start() -> None:
    """Start the embedded server. Every command does so when it needs it.

    \b
    Example:  damascus db start
    """
    started = _ours(open_app()).ensure_running()
    how = {"attached": "runs already", "started": "is started", "created": "is made and started"}[started.how]
    say(f"PostgreSQL {started.version} {how}, ready in {started.seconds:.1f} s.")
    next_step("damascus db status")


@app.command("stop")
def stop() -> None:
    """Stop the embedded server. What runs loses nothing: workers wait for it to come back.

    \b
    Example:  damascus db stop
    """
    stopped = _ours(open_app()).stop()
    say("PostgreSQL is stopped." if stopped else "PostgreSQL was not running.")
    next_step("damascus db start, or any other command: it is started when needed")


@app.command("status")
def status(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """Whether the server runs, which version, and where its data is.

    \b
    Example:  damascus db status
    """
    context = open_app()
    if context.server is None:
        version = context.database.run(lambda c: c.info.server_version)
        found = {"embedded": False, "running": True, "pid": None, "version": f"{version // 10000}.{version % 10000}",
                 "data": None, "sockets": None}  # fmt: skip
    else:
        found = {"embedded": True, **vars(context.server.status())}
    if as_json:
        print_json(found)
        return
    if not found["embedded"]:
        say(f"PostgreSQL {found['version']} answers at DAMASCUS_DATABASE_URL.")
    elif found["running"]:
        say(f"PostgreSQL {found['version']} runs (process {found['pid']}). Data: {found['data']}")
    else:
        say(f"PostgreSQL does not run. Data: {found['data']}")
    next_step("damascus db psql" if found["running"] else "damascus db start")


@app.command("psql", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def psql(context: typer.Context) -> None:
    """Open psql on the database; further words are psql's.

    \b
    Example:  damascus db psql -c 'SELECT story_id, phase FROM work_items'
    """
    ours, environ = open_app(), dict(os.environ)
    if ours.server is not None:
        ours.server.ensure_running()
        environ.pop("PGPASSWORD", None)  # it would come before the file that the address names
        program, url = str(ours.server.bin("psql")), ours.server.url()
    else:
        program, url = shutil.which("psql") or "", ours.environ["DAMASCUS_DATABASE_URL"]
    if not program:
        raise DamascusError("there is no psql on this machine's PATH. Install PostgreSQL's client programs.")
    os.execve(program, ["psql", url, *context.args], environ)
