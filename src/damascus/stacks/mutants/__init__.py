"""Mutants of functions: a stack's own module makes them (`Stack.mutants`), from a source's text alone."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath

from damascus.stacks import stack_of
from damascus.stacks.mutants.function import (
    Edit,
    Function,
    Mutant,
    Mutants,
    OutsidePart,
    edited_bytes,
    noticed,
    only_ran,
)
from damascus.stacks.mutants.values import Values
from damascus.stacks.written import READ_LIMIT

__all__ = [
    "Edit",
    "Function",
    "Mutant",
    "Mutants",
    "OutsidePart",
    "Values",
    "edited",
    "functions_in",
    "noticed",
    "only_ran",
    "outside",
    "reads",
]


def _mutants(path: str) -> Mutants | None:
    stack = stack_of(path)
    return stack.mutants() if stack is not None and stack.mutants is not None else None


def reads(path: str) -> bool:
    stack = stack_of(path)
    return stack is not None and stack.mutants is not None


def functions_in(
    source: bytes, path: str, seen: Mapping[int, Collection[str]] | None = None, values: Values | None = None
) -> list[Function]:
    """Raises ValueError for a source that can't be read, or is too long."""
    if len(source) > READ_LIMIT:
        raise ValueError("too long")
    try:
        return _known(path).functions(source, path, values or Values.drawn(), seen or {})
    except RecursionError as err:
        raise ValueError(str(err)) from err


def outside(source: bytes, path: str, values: Values | None = None) -> list[OutsidePart]:
    """What lies outside of any function. Raises ValueError as above."""
    try:
        return _known(path).outside(source, path, values or Values.drawn())
    except RecursionError as err:
        raise ValueError(str(err)) from err


def edited(source: bytes, edits: Iterable[Edit], path: str = "") -> bytes:
    """The source with all edits made; they must not overlap."""
    mutants = _mutants(path)
    return mutants.edited(source, edits) if mutants else edited_bytes(source, edits)


def _known(path: str) -> Mutants:
    mutants = _mutants(path)
    if mutants is None:
        raise ValueError(f"no mutants are known for {PurePosixPath(path).suffix or path}")
    return mutants
