"""Two receipts compared, field by field: what one says and what the other does.

Left alone is what belongs to one machine or to nobody's run: times, the sandbox, what agents and people said, and what
gates tell beside their verdict.
"""

import re
from collections.abc import Iterator
from typing import Any

from damascus.domain.ports.gates import GateName
from damascus.domain.receipt import BuildReceipt, GateLine

TIMES = re.compile(r"\b\d+(?:\.\d+)? ?m?s\b|\b\d+(?:\.\d+)? seconds?\b|\(\d+:\d+:\d+\)")
NOT_COMPARED = (
    "times", "how the run was confined", "what agents and people said", "what gates told beside their verdict",
    "what could not be verified: it depends on the tools of a machine",
)  # fmt: skip
LEFT_ALONE = {
    "proof.confinement", "proof.gates", "proof.unverified", "proof.persons", "proof.said", "proof.survivors",
    "proof.held_out", "notes",
}  # fmt: skip


def differences(given: BuildReceipt, made: BuildReceipt) -> list[str]:
    """What the receipt says and what came out, each field that is not the same."""
    told = [_gate(one, two) for one, two in _gates_of(given, made)]
    return [*_compared("", given.model_dump(mode="json"), made.model_dump(mode="json")), *(one for one in told if one)]


def _compared(path: str, given: Any, made: Any) -> Iterator[str]:
    if path in LEFT_ALONE:
        return
    if isinstance(given, dict) and isinstance(made, dict):
        for key in [*given, *(key for key in made if key not in given)]:
            yield from _compared(f"{path}.{key}" if path else key, given.get(key), made.get(key))
    elif path == "proof.summary":
        if TIMES.sub("", given) != TIMES.sub("", made):
            yield f"{path}: the receipt says {given!r}, here it is {made!r}"
    elif path == "proof.red_tests" or (isinstance(given, list) and path == "proof.green_tests"):
        yield from _lists(path, given, made)
    elif path == "requirement_lines":
        yield from _lines(given, made)
    elif given != made:
        yield f"{path}: the receipt says {given!r}, here it is {made!r}"


def _lists(path: str, given: list[str], made: list[str]) -> Iterator[str]:
    for word, names in (("only in the receipt", set(given) - set(made)), ("only here", set(made) - set(given))):
        if names:
            yield f"{path}: {word}: {', '.join(sorted(names)[:5])}"


def _lines(given: list[dict[str, Any]], made: list[dict[str, Any]]) -> Iterator[str]:
    here = {line["id"]: line for line in made}
    for line in given:
        yield from _compared(line["id"], line, here.get(line["id"], {}))
    for ident in here.keys() - {line["id"] for line in given}:
        yield f"{ident}: only here"


def _gates_of(given: BuildReceipt, made: BuildReceipt) -> Iterator[tuple[GateLine, GateLine | None]]:
    here = {one.gate: one for one in made.proof.gates}
    unread = given.proof.held_out and not made.proof.held_out
    for one in given.proof.gates:
        if not (unread and one.gate == GateName.ACCEPTANCE):
            yield one, here.get(one.gate)


def _gate(given: GateLine, made: GateLine | None) -> str:
    if made is None:
        return f"gate {given.gate}: not reached here"
    facts = [(name, getattr(given, name), getattr(made, name)) for name in ("passed", "command", "exit_code")]
    return "; ".join(f"gate {given.gate}: {name} is {one!r}, here {two!r}" for name, one, two in facts if one != two)
