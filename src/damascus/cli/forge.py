"""damascus forge: a forge to try things on, and is the one of this project fit for its work?"""

import signal
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from damascus.cli.opened import open_app, open_project
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say, styled, wrapped
from damascus.domain.errors import DamascusError

if TYPE_CHECKING:
    from damascus.cli.forge_trial import OnForge, Place, Ready

POLL = 0.2
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="A forge to try things on, and checks of yours.")


@app.command("try")
def try_(
    *,
    name: Annotated[str, typer.Option("--name", help="Of the repository there. Default: this folder's.")] = "",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Where it listens on loopback. Default: a free one.")
    ] = 0,
    commit: Annotated[bool, typer.Option("--commit", help="Commit what it writes, and only that, on main.")] = False,
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay, until Ctrl-C ends it.")] = False,
    as_json: AsJson = False,
) -> None:
    """A real Gitea with a runner on this machine, and this repository on it. It stays up until: damascus forge stop

    Adds [forge] to damascus.toml and, where there is none, a workflow; pushes main. Again, it pushes what is new.

    \b
    Example:  damascus forge try --commit
    """
    from damascus.cli import forge_trial

    opened = open_app()
    place = forge_trial.Place(opened.home)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with forge_trial.started(place, opened.environ, port) as ready:
            commit = commit or _asked(as_json)
            there = forge_trial.bring(place, ready.server, opened.environ, name, commit=commit)
        _told_json(place, ready, there) if as_json else _told(place, ready, there, foreground=foreground)
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
    """End the forge of `damascus forge try`; what is on it stays.

    \b
    Example:  damascus forge stop
    """
    from damascus.cli import forge_trial

    opened = open_app()
    stopped = forge_trial.stop(forge_trial.Place(opened.home), opened.environ)
    say("The forge is stopped. Its data stays: damascus forge try" if stopped else "No forge of ours was running.")


@app.command("doctor")
def doctor(as_json: AsJson = False) -> int:
    """Check the forge of this project: token, rights, CI, protection, webhook; says what to do. Exit 1 if one is bad.

    \b
    Example:  damascus forge doctor
    """
    from damascus.cli.doctor import MARKS
    from damascus.forges.doctor import examine

    opened = open_app()
    project = open_project(opened)
    found = list(examine(project.config, opened.environ, project.row.main_branch))
    bad = any(check.state == "fail" for check in found)
    if as_json:
        print_json({"forge": project.config.forge.kind, "healthy": not bad, "checks": [vars(check) for check in found]})
        return int(bad)
    for check in found:
        word, colour = MARKS[check.state]
        say(f"{styled(word, colour)}  {check.name:<10}  {wrapped(check.says, ' ' * 18).lstrip()}")
    next_step("cure what FAILs, then damascus forge doctor again" if bad else "damascus run")
    return int(bad)


def _asked(as_json: bool) -> bool:
    """At a terminal the user is asked, and one command is enough."""
    return not as_json and sys.stdin.isatty() and typer.confirm("Commit what is written here on main?", default=True)


def _told(place: "Place", ready: "Ready", there: "OnForge", *, foreground: bool) -> None:
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


def _main_told(there: "OnForge") -> str:
    if not there.pushed:
        bring = f"git pull {there.url} {there.main}"
        return f"{there.main} was not pushed, since the forge's has commits that yours lacks. Bring them: {bring}"
    if there.steps:
        return f"{there.main} is pushed, but what was written here holds only when it is on {there.main}."
    return f"{there.main} is {'committed and ' if there.committed else ''}pushed."


def _told_json(place: "Place", ready: "Ready", there: "OnForge") -> None:
    server = ready.server
    print_json({
        "url": there.url, "user": server.user, "password": server.password, "version": server.version,
        "token_file": str(place.token_file), "main": there.main, "pushed": there.pushed, "committed": there.committed,
        "files": [{"path": file.path, "told": file.told, "changed": file.changed} for file in there.files],
        "next": there.steps or None, "log": str(server.log),
    })  # fmt: skip


def _stay(ready: "Ready") -> None:
    while ready.server.running:
        time.sleep(POLL)
    raise DamascusError(f"Gitea ended by itself. Its log: {ready.server.log}")
