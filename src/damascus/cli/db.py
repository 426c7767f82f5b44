"""damascus db: the embedded PostgreSQL, back-up and restore of the whole installation."""

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from damascus.app import App
from damascus.cli.opened import open_app, open_project
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say, tell
from damascus.cli.tables import table
from damascus.domain.errors import DamascusError
from damascus.people import backing_up, pruning, restoring
from damascus.store.embedded.database import EmbeddedServer
from damascus.telling.phrases import size

app = typer.Typer(
    rich_markup_mode=None, no_args_is_help=True, help="The database: start, stop, status, psql, prune, backup, restore."
)


def _ours(context: App) -> EmbeddedServer:
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
    how = {"attached": "is already running", "started": "is started", "created": "is made and started"}[started.how]
    say(f"PostgreSQL {started.version} {how}, ready in {started.seconds:.1f} s.")
    next_step("damascus db status")


@app.command("stop")
def stop() -> None:
    """Stop the embedded server. Nothing is lost: workers wait for it to come back.

    \b
    Example:  damascus db stop
    """
    stopped = _ours(open_app()).stop()
    say("PostgreSQL is stopped." if stopped else "PostgreSQL was not running.")
    next_step("damascus db start, or any other command: it is started when needed")


@app.command("status", short_help="Whether the server runs, and where.")
def status(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """Whether the server is running, which version, and where its data is.

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


@app.command("backup", short_help="Save the whole installation in one file.")
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; it must not be there yet.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Save the whole installation in one file: the database, stories' work, run folders. Workers may go on meanwhile.

    \b
    Example:  damascus db backup ~/damascus-monday.backup
    """
    done = backing_up.back_up(open_app(), file, _progress)
    if as_json:
        print_json({"file": done.file, "bytes": done.bytes, "files": done.files, "stories": done.stories})
    else:
        tell(done)


@app.command("restore", short_help="Make an installation from such a file.")
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `db backup` made.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Make an installation from a back-up, in an empty data folder or database; nothing is ever overwritten.

    \b
    Example:  DAMASCUS_HOME=~/restored damascus db restore ~/damascus-monday.backup
    """
    done = restoring.restore(restoring.app_to_restore(os.environ, Path.cwd()), file, _progress)
    if as_json:
        print_json({"home": done.home, "made_at": done.made_at, "files": done.files})
    else:
        tell(done)


@app.command("prune", short_help="Remove what is older than [retention] says.")
def prune(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would go.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Remove what is older than [retention] keeps it, in this folder's project. Workers do so every 15 minutes.

    \b
    Example:  damascus db prune --dry-run
    """
    context = open_app()
    done = pruning.prune(context, open_project(context), dry_run=dry_run)
    if as_json:
        aged = [vars(each) for each in done.aged]
        print_json({"dry_run": dry_run, "project": done.project, "others": done.others, "aged": aged})
        return
    rows = [
        (each.repository, each.what, f"{each.days} days" if each.days else "for ever", str(each.count),
         size(each.bytes), f"{each.oldest.astimezone():%Y-%m-%d}" if each.oldest else "–")
        for each in done.aged
    ]  # fmt: skip
    for line in table(("repository", "what", "kept", "older", "size", "oldest"), rows, lead=0):
        say(line)
    tell(done)


def _progress(line: str) -> None:
    """To stderr: stdout may be JSON."""
    print(line, file=sys.stderr, flush=True)


@app.command("psql", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def psql(context: typer.Context) -> None:
    """Open psql on the database; further arguments are passed to it.

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
