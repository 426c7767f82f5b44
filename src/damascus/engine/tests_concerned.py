"""The old tests that a change of a landed story concerns: those of its contract, and those that its commit added."""

from collections.abc import Sequence

from damascus.domain.ids import Sha
from damascus.domain.spec import parse_spec
from damascus.evidence.reading import tests_in
from damascus.git.mirror import Mirror
from damascus.stacks import is_test


def tests_concerned(mirror: Mirror, spec: bytes, landed: Sha, patterns: Sequence[str]) -> list[str]:
    """As `may_change` takes them: the files of its contract, else each test by its name, or its file where the names of
    its tests are not known."""
    files = list(dict.fromkeys(one.file for one in parse_spec(spec, "the spec", rough=True).contracts))
    base = mirror.parent(landed)
    found = list(files)
    for file in mirror.changed(base, landed):
        if file.status == "D" or file.path in files or not is_test(file.path, patterns):
            continue
        before, after = (tests_in(mirror.read(one, file.path) or b"", file.path).tests for one in (base, landed))
        added = [f"{file.path}::{name}" for name in after if name not in before]
        found += added if after else [file.path]
    return list(dict.fromkeys(found))
