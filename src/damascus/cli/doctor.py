"""damascus doctor: is everything there that a story needs, and what to do if not."""

from typing import Annotated

import typer

from damascus.cli.opened import open_app
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say, styled, wrapped

MARKS = {"ok": ("ok  ", "green"), "warn": ("note", "yellow"), "fail": ("FAIL", "red")}


def doctor(
    test: Annotated[
        bool, typer.Option("--test", help="Run all that a story will run, once, on a clean checkout of main.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Check git, database, repository, settings, forge, agent with its gateway, sandbox and disk; says what to do.

    With --test also set-up, suite, gate commands and CI jobs. Exit 1 if something fails.

    \b
    Example:  damascus doctor --test
    """
    from damascus.cli.checks import examine

    found = list(examine(open_app(), test=test))
    failed = any(check.state == "fail" for check in found)
    if as_json:
        print_json({"healthy": not failed, "checks": [vars(check) for check in found]})
        return int(failed)
    for check in found:
        word, colour = MARKS[check.state]
        say(f"{styled(word, colour)}  {check.name:<10}  {wrapped(check.says, ' ' * 18).lstrip()}")
    ready = (
        "damascus add SPEC…, then damascus run" if test else "damascus doctor --test, which runs what stories will run"
    )
    next_step("cure what FAILs, then damascus doctor again" if failed else ready)
    return int(failed)
