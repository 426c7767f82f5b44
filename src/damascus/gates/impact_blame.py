"""Whose promise a lost test was: the owner whose contract names its file, else who landed that file."""

from collections.abc import Sequence

from damascus.domain.ports import Owner, Owners
from damascus.domain.tasks import TestContract
from damascus.gates.requirements import names_requirement
from damascus.stacks import written_name


def blamed(known: Owners, owners: Sequence[Owner], lost: Sequence[str]) -> dict[Owner, list[str]]:
    """By owner its lost tests. Several share a command; where nobody's own part of it is lost, it was all of theirs."""
    landed = {one.item: set(one.files) for one in known.of([written_name(test)[0] for test in lost]) or []}
    found: dict[Owner, list[str]] = {}
    for test in lost:
        path = written_name(test)[0]
        mine = [one for one in owners if any(tc.file == path for tc in _contracts(one))]
        mine = mine or [one for one in owners if path in landed.get(one.item, ())]
        for owner in mine or owners:
            found.setdefault(owner, []).append(test)
    return found


def promised(owner: Owner, test: str, text: str) -> str:
    """The contract that a test is of, as a start of its name: by the requirement that it names, else by its file, else
    by the command that is red as a whole."""
    path = written_name(test)[0]
    whole = [one for one in _contracts(owner) if test == f"`{one.command}`"]
    if whole:
        return f"{', '.join(f'{one.id} {one.file}' for one in whole)} "
    here = [one for one in _contracts(owner) if one.file == path]
    named = [one for one in here if names_requirement(f"{test} {text}", one.requirement)]
    return f"{', '.join(one.id for one in named or here)} " if here else ""


def _contracts(owner: Owner) -> tuple[TestContract, ...]:
    return owner.spec.contracts if owner.spec else ()
