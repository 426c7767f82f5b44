"""What a doctor found, printed: a line for each check, and what to do next."""

from collections.abc import Mapping, Sequence

from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say, styled, wrapped
from damascus.domain.check import Check

MARKS = {"ok": ("ok  ", "green"), "warn": ("note", "yellow"), "fail": ("FAIL", "red")}


def report(found: Sequence[Check], facts: Mapping[str, object], again: str, ready: str, *, as_json: bool) -> int:
    """The exit code: 1 if something fails. `facts` are more keys of the JSON, `ready` is what to do if all is well."""
    failed = any(check.state == "fail" for check in found)
    if as_json:
        print_json({**facts, "healthy": not failed, "checks": [vars(check) for check in found]})
        return int(failed)
    room = max([10, *(len(check.name) for check in found)])
    for check in found:
        word, colour = MARKS[check.state]
        say(f"{styled(word, colour)}  {check.name:<{room}}  {wrapped(check.says, ' ' * (room + 8)).lstrip()}")
    next_step(f"cure what FAILs, then {again} again" if failed else ready)
    return int(failed)
