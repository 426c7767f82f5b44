"""The command that runs single files of Python's tests: the project's own runner, by whatever starts it there."""

import re
import shlex
from collections.abc import Sequence

from damascus.stacks.python.commands import place_of_programs
from damascus.stacks.stack import BaseFiles

STARTS = re.compile(r"[^;&|()<>\n]{0,500}?(?:^|[\s/])(pytest|py\.test|-m[ \t]+unittest)(?=\s|$)")
"""The beginning of a plain command, up to its runner."""
BIN = "bin/"


def file_command(files: Sequence[str], base: BaseFiles) -> str:
    """`base.prepared` begins with the project's whole test command, where damascus.toml names one."""
    started = STARTS.match(base.prepared.partition("\n")[0].strip())
    named = " ".join(shlex.quote(path) for path in files)
    if started:
        return f"{started[0]} {named}" if "unittest" in started[1] else f"{started[0]} -q {named}"
    place = place_of_programs(base.prepared)
    if not place:
        return f"python3 -m pytest -q {named}"
    return f"{place}python -m pytest -q {named}" if place.endswith(BIN) else f"{place}pytest -q {named}"
