"""The command line: the verbs in the order of --help, the global options, and the one error boundary.

Verb modules import what is heavy (the database driver, pydantic, rich) inside their functions only, so that
`damascus --help` and shell completion answer at once.
"""

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from damascus import __version__
from damascus.cli import (
    add,
    answer,
    approve,
    cancel,
    db,
    demo,
    diff,
    docs,
    doctor,
    events,
    forge,
    gateway,
    graph,
    hold,
    inbox,
    init,
    logs,
    new,
    prompt,
    receipt,
    replay,
    rescue,
    retry,
    run,
    scan,
    show,
    stats,
    status,
    why,
    worker,
    write,
)
from damascus.cli.say import columns, error_text
from damascus.domain.errors import DamascusError, TransientError, UsageError

BUG = 3
INTERRUPTED = 130

app = typer.Typer(
    name="damascus",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
VERBS: tuple[tuple[str, Callable[..., object], str], ...] = (
    ("demo", demo.demo, "See it work: five stories, no key, no server."),
    ("init", init.init, "Make this git repository a project."),
    ("new", new.new, "Write a spec to edit, from one sentence."),
    ("add", add.add, "Queue stories from spec files, all or none."),
    ("run", run.run, "Work the queue of this project."),
    ("worker", worker.worker, "One more worker, on any host."),
    ("status", status.status, "What moves, what needs you, how many of the rest."),
    ("show", show.show, "One story, and what happened step by step."),
    ("diff", diff.diff, "What a story changes, as git apply takes it."),
    ("why", why.why, "What a story waits for, and who must act."),
    ("graph", graph.graph, "The repositories: who needs whom, CI, locks."),
    ("logs", logs.logs, "Transcripts and test logs of a story."),
    ("prompt", prompt.prompt, "What a story's next agent step would be told."),
    ("events", events.events, "What happened, oldest first."),
    ("receipt", receipt.receipt, "The evidence of a story, as JSON."),
    ("stats", stats.stats, "Lead time, tries, verdicts, files, cost."),
    ("inbox", inbox.inbox, "The questions that only you can answer."),
    ("answer", answer.answer, "Answer one of them."),
    ("approve", approve.approve, "Let a story land that waits for your word."),
    ("send-back", approve.send_back, "Send it back, with words for its agent."),
    ("retry", retry.retry, "Give a story a new budget of tries."),
    ("cancel", cancel.cancel, "End a story."),
    ("hold", hold.hold, "Stop a repository and its chain."),
    ("release", hold.release, "Let a repository go on."),
    ("scan", scan.scan, "Look through files for secrets."),
    ("replay", replay.replay, "Check a story's logged writes again."),
    ("docs", docs.docs, "The documents: list them, or print one."),
    ("doctor", doctor.doctor, "Check that all is there, and say what to do."),
)
for _name, _verb, _short in VERBS:
    app.command(_name, short_help=_short)(_verb)
app.add_typer(rescue.app, name="rescue")
app.add_typer(write.app, name="write")
app.add_typer(db.app, name="db")
app.add_typer(gateway.app, name="gateway")
app.add_typer(forge.app, name="forge")


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"damascus {__version__}")
        raise typer.Exit


def _go_to(folder: str | None) -> None:
    if folder is not None:
        try:
            os.chdir(folder)
        except OSError as err:
            raise UsageError(f"-C {folder}: {err.strerror or err}. Name a folder inside your repository.") from None


@app.callback(invoke_without_command=True)
def damascus(
    context: typer.Context,
    folder: Annotated[str | None, typer.Option("-C", metavar="FOLDER", help="Work in that folder.")] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Turns specs into merged code with coding agents, and takes no agent's word for anything.

    \b
    See it work, with no key and no server:  damascus demo
    In a repository of yours:                damascus init
                                             damascus add specs/*.md
                                             damascus run
    """
    _go_to(folder)
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 fine, 1 expected failure, 2 usage, 3 a bug of ours, 130 interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        code = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        _silence_stdout()
        return 0
    return code


def _run(words: list[str]) -> int:
    debug = "--debug" in words
    try:
        done = typer.main.get_command(app)(words, prog_name="damascus", standalone_mode=False)
        return done if isinstance(done, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        print("error: interrupted", file=sys.stderr)
        return INTERRUPTED
    except typer.TyperException as err:
        return _told(f"{err.format_message().rstrip('.')}. See: {_help_of(err)}", 2)
    except BrokenPipeError:
        raise
    except SystemExit as err:
        if isinstance(err.__context__, BrokenPipeError):
            raise err.__context__ from None
        return err.code if isinstance(err.code, int) else 1
    except Exception as err:
        if debug:
            traceback.print_exc()
        message, code = _explained(err)
        return _told(message, code)


def _explained(err: Exception) -> tuple[str, int]:
    """What a person can cause or cure, in its own words; everything else is a bug, saved to be reported."""
    if isinstance(err, DamascusError):
        return str(err), err.exit_code
    if isinstance(err, TransientError):
        return f"{err}. Try again.", 1
    if type(err).__name__ == "GitError":
        return str(err), 1
    if type(err).__module__.startswith("psycopg") and (told := _of_database(err)):
        return told, 1
    if isinstance(err, OSError) and err.filename:
        return f"{err.filename}: {err.strerror or err}.", 1
    return f"this is a bug in Damascus: {type(err).__name__}: {err}\nDetails: {_saved_traceback()}", BUG


def _of_database(err: Exception) -> str | None:
    """What can be cured at the database: a wrong address, missing rights, a full disk, a read-only copy."""
    state: str | None = getattr(err, "sqlstate", None)
    reason = str(err).strip().split("\n")[0].rstrip(".")
    if state is None:
        return f"DAMASCUS_DATABASE_URL can't be used: {reason}. Write it like postgresql://user@host/name, or unset it."
    if state in ("42501", "25006") or state.startswith("53"):
        return f"the database refused: {reason}. Cure that there, or use another (DAMASCUS_DATABASE_URL)."
    return None


def _told(message: str, code: int) -> int:
    sys.stdout.flush()
    print(error_text(message, columns(sys.stderr) - 1), file=sys.stderr)
    return code


def _help_of(err: typer.TyperException) -> str:
    context = getattr(err, "ctx", None)
    return f"{context.command_path if context else 'damascus'} --help"


def _saved_traceback() -> Path:
    import tempfile
    import time

    from damascus.store.embedded import default_home

    name = f"bug-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    for folder in (default_home(os.environ) / "logs", Path(tempfile.gettempdir())):
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(traceback.format_exc())
            return folder / name
    return Path("nowhere: no folder could be written")


def _silence_stdout() -> None:
    """The reader has gone: what the interpreter flushes at its end must not complain."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
