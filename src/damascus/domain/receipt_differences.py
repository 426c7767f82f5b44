"""Two receipts compared, field by field: what one says and what the other does.

Left alone is what belongs to one machine or to nobody's run: times, the sandbox, what agents and people said, and what
gates tell beside their verdict. Whatever else is left alone is named to whoever asks.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from damascus.domain.ports.gates import GateName
from damascus.domain.receipt import BuildReceipt, GateLine
from damascus.domain.receipt_making import words_of_persons

TIMES = re.compile(r"\b\d+(?:\.\d+)? ?m?s\b|\b\d+(?:\.\d+)? seconds?\b|\(\d+:\d+:\d+\)")
NOT_COMPARED = (
    "times", "how the run was confined", "what agents and people said",
    "what gates told beside their verdict, and on which tree those ran that are not the tests",
    "what could not be verified: it depends on the tools of a machine",
    "what the receipt alone tells: title, branch, the base that its tests were red on before main moved, earlier runs, "
    "what a budget left open, whether agents left a summary",
)  # fmt: skip
LEFT_ALONE = {"proof.confinement", "proof.gates", "proof.unverified", "proof.persons", "proof.said"}
"""Gates are compared one by one."""
LISTS = {"proof.red_tests", "proof.green_tests", "notes"}


def differences(given: BuildReceipt, made: BuildReceipt, unread: bool = False) -> list[str]:
    """What the receipt says and what came out, each field that is not the same. `unread`: there are held-out tests, and
    they are not at hand."""
    told = [_gate(one, two) for one, two in _gates_of(given, made, unread)]
    told += [f"gate {one}: only here" for one in _names(made) if one not in _names(given)]
    return [*_compared("", _without_persons(given), _without_persons(made)), *(one for one in told if one)]


def _without_persons(receipt: BuildReceipt) -> dict[str, Any]:
    """A note that quotes a person is compared only where the receipt names no such person."""
    quoted = words_of_persons(receipt.proof)
    return receipt.model_dump(mode="json") | {"notes": [note for note in receipt.notes if note not in quoted]}


def other_tools(given: BuildReceipt, made: BuildReceipt) -> list[str]:
    """What could not be verified on one of both machines only: no difference, and no secret."""
    there, here = given.proof.unverified, made.proof.unverified
    sides = (
        ("according to the receipt alone", [name for name in there if name not in here]),
        ("here alone", [name for name in here if name not in there]),
    )
    return [f"not verified {side}: {', '.join(names)}" for side, names in sides if names]


def _compared(path: str, given: Any, made: Any) -> Iterator[str]:
    if path in LEFT_ALONE:
        return
    if isinstance(given, dict) and isinstance(made, dict):
        for key in [*given, *(key for key in made if key not in given)]:
            yield from _compared(f"{path}.{key}" if path else key, given.get(key), made.get(key))
    elif path == "proof.summary":
        if TIMES.sub("", given) != TIMES.sub("", made):
            yield f"{path}: the receipt says {given!r}, here it is {made!r}"
    elif path in LISTS:
        yield from _lists(path, given, made)
    elif path == "proof.survivors":
        yield from _lists(
            path, *([f"{one['path']}:{one['line']} {one['operator']}" for one in side] for side in (given, made))
        )
    elif path == "requirement_lines":
        yield from _lines(given, made)
    elif given != made:
        yield f"{path}: the receipt says {given!r}, here it is {made!r}"


def _lists(path: str, given: list[str], made: list[str]) -> Iterator[str]:
    there, here = Counter(given), Counter(made)
    for word, names in (("only in the receipt", there - here), ("only here", here - there)):
        if names:
            yield f"{path}: {word}: {', '.join(sorted(names)[:5])}"


def _lines(given: list[dict[str, Any]], made: list[dict[str, Any]]) -> Iterator[str]:
    here = {line["id"]: line for line in made}
    for line in given:
        yield from _compared(line["id"], line, here.get(line["id"], {}))
    for ident in here.keys() - {line["id"] for line in given}:
        yield f"{ident}: only here"


def _names(receipt: BuildReceipt) -> list[str]:
    return [one.gate for one in receipt.proof.gates]


def _gates_of(given: BuildReceipt, made: BuildReceipt, unread: bool) -> Iterator[tuple[GateLine, GateLine | None]]:
    here = {one.gate: one for one in made.proof.gates}
    for one in given.proof.gates:
        if not (unread and one.gate == GateName.ACCEPTANCE):
            yield one, here.get(one.gate)


def _gate(given: GateLine, made: GateLine | None) -> str:
    """Only the tests' tree must be the judged one: other gates may have run before main moved."""
    if made is None:
        return f"gate {given.gate}: not reached here"
    names = ("passed", "command", "exit_code", *(("tree",) if given.gate == GateName.TESTS else ()))
    facts = [(name, getattr(given, name), getattr(made, name)) for name in names]
    return "; ".join(f"gate {given.gate}: {name} is {one!r}, here {two!r}" for name, one, two in facts if one != two)
