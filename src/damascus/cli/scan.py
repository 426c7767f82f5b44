"""damascus scan: look through files for secrets, as every write of an agent is."""

from typing import Annotated

import typer

from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say
from damascus.people.scanning import scan as scanned
from damascus.scanning.lines import REPAIR
from damascus.telling.phrases import plural


def scan(
    files: Annotated[list[str], typer.Argument(metavar="PATH…", help="Files and folders to search.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Search whole files for secrets. Exit code 1 if one is found. The secret itself is never printed.

    In a folder every file is searched, except in .git, .venv, venv, node_modules and __pycache__.

    \b
    Example:  damascus scan src/ .env.test
    """
    found = scanned(files)
    if as_json:
        print_json({"files": found.files, "hits": found.hits})
        return 1 if found.hits else 0
    for hit in found.hits:
        say(f"{hit['path']}:{hit['line']}: {hit['kind']}")
    if found.hits:
        next_step(REPAIR)
        return 1
    say(f"No secret in {plural(len(found.files), 'file')}.")
    return 0
