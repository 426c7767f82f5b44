"""Asks mutmut for its mutants of some lines, in the environment that mutmut is installed in.

Only its operators are used: no setting, no pragma and no coverage data of the tree has a say, and nothing of the tree
is imported or run.
"""

import json
import os
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import libcst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.file_mutation import MutationVisitor
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode


def main() -> None:
    folder = Path(os.environ["DAMASCUS_TOOL"])
    asked = json.loads((folder / "request.json").read_text())
    told = [one for path, lines in asked["lines"].items() for one in mutants(Path(asked["root"]), path, set(lines))]
    (folder / "report.json").write_text(json.dumps({"version": version("mutmut"), "mutants": told}))


def mutants(root: Path, path: str, lines: set[int]) -> Iterator[dict[str, Any]]:
    text = (root / path).read_bytes().decode()
    wrapper = MetadataWrapper(libcst.parse_module(text))
    places = wrapper.resolve(PositionProvider)
    visitor = MutationVisitor(mutation_operators, IgnoredCode(set(), set(), set()))
    wrapper.visit(visitor)
    whole = wrapper.module.code
    for mutation in visitor.mutations:
        place = places.get(mutation.original_node)
        if place is None or not lines & set(range(place.start.line, place.end.line + 1)):
            continue
        old, new = (wrapper.module.code_for_node(one) for one in (mutation.original_node, mutation.mutated_node))
        if recased(old, new):
            continue
        edit = at(text, place, old, new)
        if edit is None:
            edit = by_difference(whole, wrapper.module.deep_replace(mutation.original_node, mutation.mutated_node).code)
        yield {"path": path, **edit, "operator": f"{said(old)} → {said(new)}"}


def recased(old: str, new: str) -> bool:
    """Of the three mutants of each text one is enough."""
    return old != new and old.lower() == new.lower()


def at(text: str, place: Any, old: str, new: str) -> dict[str, Any] | None:
    """Where the node stands by itself; None: its text is not what stands there."""
    lines = text.splitlines(keepends=True)
    start = sum(map(len, lines[: place.start.line - 1])) + place.start.column
    if text[start : start + len(old)] != old:
        return None
    before = len(text[:start].encode())
    return {"start": before, "end": before + len(old.encode()), "text": new}


def by_difference(old: str, new: str) -> dict[str, Any]:
    most = min(len(old), len(new))
    head = next((n for n in range(most) if old[n] != new[n]), most)
    tail = next((n for n in range(most - head) if old[-1 - n] != new[-1 - n]), most - head)
    start, end = len(old[:head].encode()), len(old[: len(old) - tail].encode())
    return {"start": start, "end": end, "text": new[head : len(new) - tail]}


def said(code: str) -> str:
    one = " ".join(code.split())
    return f"`{one if len(one) <= 60 else one[:59] + '…'}`"


main()
