"""damascus forge: a forge to try things on, and is the one of this project fit for its work?"""

import signal
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from damascus.cli.checks import report
from damascus.cli.opened import open_app, open_project
from damascus.cli.own_commits import commit_paths
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say
from damascus.domain.errors import DamascusError
from damascus.forges.doctor import examine
from damascus.people import forge_trial
from damascus.people.forge_trial import OnForge, Place, Ready

POLL = 0.2
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="A trial forge, and checks of your own.")


@app.command("try", short_help="A real Gitea with a runner on this machine.")
def try_(
    *,
    name: Annotated[str, typer.Option("--name", help="Name of the repository there; default: this folder's.")] = "",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port on loopback; default: a free one.")] = 0,
    commit: Annotated[bool, typer.Option("--commit", help="Commit what it writes, and only that, on main.")] = False,
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay in the foreground until Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> None:
    """A real Gitea with a runner on this machine, and this repository on it. It stays up until: damascus forge stop

    Adds [forge] to damascus.toml and, where there is none, a workflow; pushes main. Run again, it pushes what is new.

    \b
    Example:  damascus forge try --commit
    """
    opened, here = open_app(), Path.cwd()
    place = forge_trial.Place(opened.home)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with forge_trial.started(place, opened.environ, here, port) as ready:
            commit = commit or _asked(as_json)
            there = forge_trial.bring(place, ready, opened, name, here=here, commit=commit_paths if commit else None)
        _print_as_json(place, ready, there) if as_json else _say_it_runs(place, ready, there, foreground=foreground)
        sys.stdout.flush()
        if foreground:
            _stay(ready)
    except KeyboardInterrupt:
        say("The forge is stopped.")
    finally:
        if foreground:
            forge_trial.stop(place, opened.environ)
        signal.signal(signal.SIGTERM, before)


@app.command("stop")
def stop() -> None:
    """Stop the forge of `damascus forge try`; what is on it stays.

    \b
    Example:  damascus forge stop
    """
    opened = open_app()
    stopped = forge_trial.stop(forge_trial.Place(opened.home), opened.environ)
    say("The forge is stopped. Its data stays: damascus forge try" if stopped else "No forge of ours was running.")


@app.command("doctor", short_help="Check the forge of this project.")
def doctor(as_json: AsJson = False) -> int:
    """Check this project's forge: token, rights, CI, protection, webhook. Says what to do. Exit code 1 if one fails.

    \b
    Example:  damascus forge doctor
    """
    opened = open_app()
    project = open_project(opened)
    found = list(examine(project.config, opened.environ, project.row.main_branch))
    facts = {"forge": project.config.forge.kind}
    return report(found, facts, "damascus forge doctor", "damascus run", as_json=as_json)


def _asked(as_json: bool) -> bool:
    """At a terminal the user is asked, and one command is enough."""
    return not as_json and sys.stdin.isatty() and typer.confirm("Commit what is written here on main?", default=True)


def _say_it_runs(place: Place, ready: Ready, there: OnForge, *, foreground: bool) -> None:
    server = ready.server
    say(f"Gitea {server.version} with a runner, ready in {ready.seconds:.1f} s: {there.url}")
    say(f"Log in as {server.user} with the password {server.password}")
    for file in there.files:
        say(f"{file.path}: {file.told}")
    say(f"Token: {place.token_file}, readable by you alone")
    say(_main_told(there))
    if there.steps:
        next_step(f"{there.steps} && damascus forge try")
        return
    end = "Ctrl-C here ends the forge" if foreground else "end the forge with: damascus forge stop"
    first = "" if there.registered else "damascus init, "
    next_step(f"{first}damascus forge doctor, then damascus add SPEC… and damascus run; {end}")


def _main_told(there: OnForge) -> str:
    if not there.pushed:
        bring = f"git pull {there.url} {there.main}"
        return f"{there.main} was not pushed, since the forge's has commits that yours lacks. Bring them: {bring}"
    if there.steps:
        return f"{there.main} is pushed, but what was written here holds only when it is on {there.main}."
    return f"{there.main} is {'committed and ' if there.committed else ''}pushed."


def _print_as_json(place: Place, ready: Ready, there: OnForge) -> None:
    server = ready.server
    print_json({
        "url": there.url, "user": server.user, "password": server.password, "version": server.version,
        "token_file": str(place.token_file), "main": there.main, "pushed": there.pushed, "committed": there.committed,
        "files": [{"path": file.path, "told": file.told, "changed": file.changed} for file in there.files],
        "next": there.steps or None, "log": str(server.log),
    })  # fmt: skip


def _stay(ready: Ready) -> None:
    while ready.server.running:
        time.sleep(POLL)
    raise DamascusError(f"Gitea ended by itself. Its log: {ready.server.log}")
