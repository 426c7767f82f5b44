"""Which changed files belong to tests rather than to the code."""

from pathlib import PurePosixPath

from damascus.domain.ports import Candidate, ChangedFile
from damascus.evidence.diff_paths import is_test


def belongs_to_tests(candidate: Candidate, path: str) -> bool:
    """Tests, their helpers, data and snapshots. A conftest.py is a helper of tests wherever it lies; other files that
    judge (pyproject.toml, package.json) belong to the code too and stay the candidate's."""
    return is_test(candidate, path) or PurePosixPath(path).name == "conftest.py"


def of_tests(candidate: Candidate) -> list[ChangedFile]:
    return [file for file in candidate.changed if belongs_to_tests(candidate, file.path)]
