"""What an owner promised: the commands that say whether it holds, and the tests that one run may show of it."""

from collections.abc import Collection
from dataclasses import dataclass

from damascus.domain.ports import Owner, TestRun
from damascus.domain.requirement_status import LATER
from damascus.evidence.diff_paths import named_paths
from damascus.gates.requirements import names_requirement
from damascus.stacks import written_name


@dataclass(frozen=True)
class Promise:
    """A requirement, and the files or folders in which a test of it lies."""

    requirement: str
    places: tuple[str, ...]


def commands(owner: Owner) -> list[str]:
    """Of its contracts; the Test Command where one of them names none, or where there are none."""
    if owner.spec is None:
        return []
    own = [one.command for one in owner.spec.contracts]
    wanted = own if own and all(own) else [*own, owner.spec.test_command]
    return list(dict.fromkeys(command for command in wanted if command))


def promises(owner: Owner) -> list[Promise]:
    """Its contracts; without any its requirements, in what its Test Command names. None where a contract has a command
    of its own, or nothing tells where the tests lie: then only its own commands can say whether it holds."""
    spec = owner.spec
    if spec is None or any(one.command for one in spec.contracts):
        return []
    if spec.contracts:
        return [Promise(one.requirement, (one.file,)) for one in spec.contracts]
    places = tuple(path.rstrip("/") for path in named_paths(spec.test_command))
    return [Promise(need.id, places) for need in spec.requirements if need.tag not in LATER] if places else []


def of_contracts(owner: Owner) -> list[Promise]:
    """Its contracts, whatever command each has of its own: for a story that owns nothing of what changed, a green test
    in the contract's file is word enough."""
    return [Promise(one.requirement, (one.file,)) for one in owner.spec.contracts] if owner.spec else []


def kept(promised: Collection[Promise], run: TestRun) -> bool:
    """Does the run show a green test of each? A run that leaves one out (by its marks, say) does not speak for it."""
    green = [(written_name(case.id)[0], f"{case.id} {case.text}") for case in run.cases if case.status == "passed"]
    return all(
        any(_lies_in(path, one.places) and names_requirement(text, one.requirement) for path, text in green)
        for one in promised
    )


def _lies_in(path: str, places: Collection[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)
