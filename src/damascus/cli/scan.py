"""damascus scan: look through files for secrets, as every write of an agent is."""

import os
from pathlib import Path
from typing import Annotated

import typer

from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say
from damascus.domain.errors import DamascusError, UsageError

NOT_OURS = {".git", ".venv", "venv", "node_modules", "__pycache__"}


def scan(
    files: Annotated[list[str], typer.Argument(metavar="PATH…", help="Files and folders to look through.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Look through whole files for secrets. Exit code 1 when there is one. The secret itself is never printed.

    Of a folder every file below it but what git, pip and npm keep there (.git, .venv, node_modules, __pycache__).

    \b
    Example:  damascus scan src/ .env.test
    """
    from damascus.cli.words import plural
    from damascus.scanning.lines import REPAIR, new_lines
    from damascus.scanning.scanner import ScanFailed, Scanner

    files = [file for name in files for file in _files(name)]
    added = [lines for file in files for lines in new_lines(file, None, _read(file))]
    scanner = Scanner()
    try:
        hits = scanner.scan(added)
    except ScanFailed as err:
        raise DamascusError(f"the files could not be scanned: {err}. Name fewer or smaller ones.") from None
    finally:
        scanner.close()
    if as_json:
        print_json({"files": files, "hits": hits})
        return 1 if hits else 0
    for hit in hits:
        say(f"{hit['path']}:{hit['line']}: {hit['kind']}")
    if hits:
        next_step(REPAIR)
        return 1
    say(f"No secret in {plural(len(files), 'file')}.")
    return 0


def _files(name: str) -> list[str]:
    """The file itself, or the files of a folder, in order; links are not followed."""
    if not Path(name).is_dir():
        return [name]
    found: list[str] = []
    for place, below, names in os.walk(name):
        below[:] = sorted(each for each in below if each not in NOT_OURS)
        paths = [Path(place) / each for each in sorted(names)]
        found += [str(path) for path in paths if path.is_file() and not path.is_symlink()]
    return found


def _read(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as err:
        raise UsageError(f"{file} can't be read: {err.strerror or err}. Name files that can.") from None
