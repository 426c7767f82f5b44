"""damascus stats: lead time, tries, verdicts, files, cost (D21)."""

from typing import Annotated

import typer

from damascus.cli.opened import opened
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say, wrapped
from damascus.store.stats import stats as read
from damascus.telling.stats import lines


def stats(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """Lead time, tries per story, verdicts, files most touched, flaky tests, cost.

    \b
    Example:  damascus stats --json
    """
    db, project = opened()
    found = read(db, project.row)
    if as_json:
        print_json(found)
        return
    for name, value in lines(found):
        say(f"{name:<12} {wrapped(value, ' ' * 13).lstrip()}")
    next_step("damascus status --all")
