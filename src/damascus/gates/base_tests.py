"""The candidate's code with the base's tests: what was a promise before the story came, as it was written then."""

from dataclasses import dataclass
from pathlib import PurePosixPath

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, ChangedFile
from damascus.gates.diff_paths import is_test
from damascus.git.mirror import Mirror


@dataclass(frozen=True)
class BaseTests:
    """`tree` is the candidate's with every test as the base has it; `told` names what could not be put back."""

    tree: Sha
    told: tuple[str, ...] = ()


def belongs_to_tests(candidate: Candidate, path: str) -> bool:
    """Tests, their helpers, data and snapshots. A conftest.py is a helper of tests wherever it lies; other files that
    judge (pyproject.toml, package.json) belong to the code too and stay the candidate's."""
    return is_test(candidate, path) or PurePosixPath(path).name == "conftest.py"


def of_tests(candidate: Candidate) -> list[ChangedFile]:
    return [file for file in candidate.changed if belongs_to_tests(candidate, file.path)]


def with_base_tests(candidate: Candidate, mirror: Mirror) -> BaseTests:
    """Changed and removed ones are the base's again, those that the story added are left out."""
    paths = [file.path for file in of_tests(candidate)]
    tree = mirror.overlay(candidate.commit, candidate.base, paths) if paths else candidate.tree
    return BaseTests(tree)
