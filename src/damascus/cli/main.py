"""The command line: the global options, and the one error boundary. The verbs are in verbs.py."""

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from damascus import __version__
from damascus.cli.say import columns, error_text
from damascus.cli.verbs import VerbGroup
from damascus.domain.errors import DamascusError, GitError, TransientError, UsageError

BUG = 3
INTERRUPTED = 130
LARGE = 19
"""Digits of a number that no row may have."""
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)

app = typer.Typer(
    name="damascus",
    cls=VerbGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    In your own repository:                  damascus init
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
        return _print_error(f"{err.format_message().rstrip('.')}. See: {_help_of(err)}", 2)
    except BrokenPipeError:
        raise
    except SystemExit as err:
        if isinstance(err.__context__, BrokenPipeError):
            raise err.__context__ from None
        return err.code if isinstance(err.code, int) else 1
    except Exception as err:
        if debug:
            traceback.print_exc()
        message, code = _explained(err, words)
        return _print_error(message, code)


def _explained(err: Exception, words: Sequence[str]) -> tuple[str, int]:
    """What a person can cause or cure, in its own words; everything else is a bug, saved to be reported."""
    if isinstance(err, DamascusError):
        return str(err), err.exit_code
    if isinstance(err, TransientError):
        return f"{err}. Try again.", 1
    if isinstance(err, GitError):
        return str(err), 1
    if told := _of_words(err, words):
        return told, 2
    if told := _of_database(err):
        return told, 1
    if isinstance(err, OSError) and err.errno in NO_SPACE:
        where = f" of {err.filename}" if err.filename else ""
        return f"no space left on the disk{where}. Make room, then try again.", 1
    if isinstance(err, OSError) and err.filename:
        return f"{err.filename}: {err.strerror or err}.", 1
    return f"this is a bug in Damascus: {type(err).__name__}: {err}\nDetails: {_saved()}", BUG


def _of_words(err: Exception, words: Sequence[str]) -> str | None:
    """What was typed and no row can hold: bytes that are no text, a number beyond all numbers of ours. A path may have
    such bytes, so only who needs them as text refuses them."""
    if isinstance(err, UnicodeEncodeError):
        wrong = (word for word in words if word.encode(errors="replace").decode() != word)
        return next((f"{word!a} is not UTF-8. Write it in UTF-8." for word in wrong), None)
    if getattr(err, "sqlstate", None) == "22003":
        numbers = (word.rpartition("=")[2] for word in words)
        large = (word for word in numbers if word.isdecimal() and len(word) >= LARGE)
        return next((f"{word} is too large. Write a smaller number." for word in large), None)
    return None


def _of_database(err: Exception) -> str | None:
    """What can be cured at the database: a wrong address, missing rights, a full disk, a read-only copy.

    Looked for among what is imported: where its driver is not, no error is the driver's.
    """
    driver = sys.modules.get("psycopg")
    if driver is None or not isinstance(err, driver.Error):
        return None
    state: str | None = getattr(err, "sqlstate", None)
    reason = str(err).strip().split("\n")[0].rstrip(".")
    if state is None and not os.environ.get("DAMASCUS_DATABASE_URL"):
        return f"the database can't be reached: {reason}. Look at it: damascus db status"
    if state is None:
        return f"DAMASCUS_DATABASE_URL can't be used: {reason}. Write it like postgresql://user@host/name, or unset it."
    if state in ("42501", "25006") or state.startswith("53"):
        return f"the database refused: {reason}. Fix that there, or use another (DAMASCUS_DATABASE_URL)."
    return None


def _print_error(message: str, code: int) -> int:
    sys.stdout.flush()
    print(error_text(message, columns(sys.stderr) - 1), file=sys.stderr)
    return code


def _help_of(err: typer.TyperException) -> str:
    context = getattr(err, "ctx", None)
    return f"{context.command_path if context else 'damascus'} --help"


def _saved() -> Path:
    from damascus.people.bug_reports import saved_traceback  # only a bug needs it, and --help must not pay for it

    return saved_traceback()


def _silence_stdout() -> None:
    """The reader has gone: what the interpreter flushes at its end must not complain."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
