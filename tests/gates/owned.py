"""Owners that a test names, in the place of those that the database knows."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from damascus.domain.ids import StoryId
from damascus.domain.ports import Owner, Owners
from damascus.domain.spec import Spec
from damascus.domain.tasks import ContractKind, TestContract
from tests.gates.judging import PYTHON


def pytest_of(path: str) -> str:
    return f"{PYTHON} -m pytest -q -p no:cacheprovider {path}"


@dataclass
class KnownOwners(Owners):
    owners: list[Owner]
    relatives: tuple[Owner, ...] = ()

    def of(self, paths: Collection[str]) -> list[Owner]:
        found = [replace(one, files=tuple(path for path in one.files if path in paths)) for one in self.owners]
        return [one for one in found if one.files]

    def every(self) -> list[Owner]:
        return self.owners

    def kin(self, story: StoryId) -> list[Owner]:
        return list(self.relatives)


def owner(story: str, files: Collection[str], item: int = 1, **parts: object) -> Owner:
    contract = TestContract("TC-1", "adds up", ContractKind.UNIT, "tests/test_cart.py")
    told: dict[str, object] = {"test_command": pytest_of("tests/test_cart.py"), "contracts": (contract,), **parts}
    return Owner(StoryId(story), item, tuple(files), Spec(StoryId(story), story, None, **told))  # type: ignore[arg-type]
