"""Does a test look at an answer? One that asserts nothing and calls nobody but the code under test does not.

It is red where that code blows up, and a mutant that gives nothing back makes it blow up: neither says that anybody
looked. A call of a helper, a fixture or a library may hold an assertion.
"""

from damascus.domain.once import once
from damascus.domain.ports import Candidate
from damascus.evidence.diff_paths import is_test
from damascus.stacks import WrittenTest


class AskedAnswers:
    """What the tree of one candidate says of its tests."""

    def __init__(self, candidate: Candidate) -> None:
        self._candidate = candidate

    def asks(self, test: WrittenTest) -> bool:
        return test.asked is None or not self._code.issuperset(test.asked)

    @once
    def _code(self) -> set[str]:
        """Modules of the tree by every name that they could be imported by, but those of tests: a helper may be one."""
        code, tests = set[str](), set[str]()
        for path in self._candidate.files(self._candidate.commit):
            if path.endswith(".py"):
                names = tests if is_test(self._candidate, path) else code
                parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
                names |= {".".join(parts[at:end]) for end in (len(parts), len(parts) - 1) for at in range(end)}
        return code - tests
