"""Does a story touch anything that a page could show?"""

from damascus.domain.ports import Candidate
from damascus.domain.scope import Scope
from damascus.evidence.diff_paths import is_test

DOCUMENTATION = (".md", ".rst", ".txt", ".adoc")


def touched(candidate: Candidate) -> list[str]:
    """Its changed paths that count: those that `paths` names, without it all but tests and documentation. What
    `pages` names counts anyway."""
    config = candidate.config.visual
    pages = {page.lstrip("/") for page in config.pages}
    named = Scope(tuple(config.paths))
    return [
        file.path
        for file in candidate.changed
        if file.path in pages or (named.allows(file.path) if config.paths else _shows(candidate, file.path))
    ]


def _shows(candidate: Candidate, path: str) -> bool:
    return not path.lower().endswith(DOCUMENTATION) and not is_test(candidate, path)
