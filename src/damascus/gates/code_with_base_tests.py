"""The candidate's code with the base's tests: what was a promise before the story came, as it was written then."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate
from damascus.gates.base_tests import of_tests
from damascus.gates.tests_in_sources import tests_in_sources
from damascus.git.mirror import Mirror


@dataclass(frozen=True)
class BaseTests:
    """`tree` is the candidate's with every test file as the base has it, `files` are sources with the base's tests
    inside; `told` names what could not be put back."""

    tree: Sha
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    told: tuple[str, ...] = ()


def with_base_tests(candidate: Candidate, mirror: Mirror) -> BaseTests:
    """Changed and removed ones are the base's again, those that the story added are left out."""
    paths = [file.path for file in of_tests(candidate)]
    tree = mirror.overlay(candidate.commit, candidate.base, paths) if paths else candidate.tree
    inside = tests_in_sources(candidate)
    told = tuple(f"old tests: those inside {path} could not be put back" for path in inside.unreadable)
    return BaseTests(tree, dict(inside.files), told)
