"""The base's tests after a refactor: the same assertions on the same things, under the names that these have now.

A story that moves a module must adapt the tests that import it, so the base's own wording can't run any more. What it
made of them is not believed: the base's wording is taken and only names that are gone from the code are replaced, by
those that came. If it is green then, the promise holds.
"""

from collections.abc import Callable

from damascus.domain.ports import Candidate
from damascus.gates.base_tests import of_tests
from damascus.gates.python_moves import Moves
from damascus.gates.renamed_words import renamed_words


def adapted(candidate: Candidate) -> dict[str, bytes]:
    """Contents of the base's tests that can only run under new names; empty where there is no such thing."""
    words = renamed_words(candidate)
    files: dict[str, bytes] = {}
    for file in of_tests(candidate):
        source = candidate.read(candidate.base, file.path) if file.status != "A" else None
        rewrite = _rewriter(candidate, words, file.path)
        now = rewrite(source) if source is not None and rewrite else None
        if now is not None:
            files[file.path] = now
    return files


def _rewriter(candidate: Candidate, words: dict[str, str], path: str) -> Callable[[bytes], bytes | None] | None:
    return Moves(candidate, words).rewritten if path.endswith(".py") else None
