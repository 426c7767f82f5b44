"""Which contracts a diff concerns: what it changes, adds or deletes, and what refers to a file that it changes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from damascus.domain.ports import Candidate
from damascus.domain.scope import Scope
from damascus.gates.contracts.reading import contract_files
from damascus.gates.contracts.samples import samples_of, schema_name

REFERRED = (".yaml", ".yml", ".json")
"""What a `$ref` leads to."""
LIKE_A_DESCRIPTION = re.compile(r"(?:.*/)?(?:openapi|swagger)[^/]{0,60}\.(?:ya?ml|json)", re.IGNORECASE)


@dataclass(frozen=True)
class Touched:
    """Contracts by the key of `[contracts]` that names them."""

    openapi: tuple[str, ...] = ()
    schemas: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    zod: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return (*self.openapi, *self.schemas, *self.zod, *self.code)

    @property
    def keys(self) -> set[str]:
        """The keys of `[contracts]` that are concerned."""
        return {key for key, paths in vars(self).items() if paths}

    def __bool__(self) -> bool:
        return bool(self.paths)

    @classmethod
    def of(cls, candidate: Candidate) -> "Touched":
        config, changed = candidate.config.contracts, {file.path for file in candidate.changed}
        if not changed or not config.paths:
            return cls()
        samples = Scope(tuple(pattern.replace("{name}", "*") for pattern in (*config.samples, *config.bad_samples)))
        sampled = any(samples.allows(path) for path in changed)
        code = [path for path in sorted(changed) if Scope(tuple(config.code)).allows(path)]
        openapi = [path for path in named_files(candidate, config.openapi) if _concerned(candidate, path, changed)]
        schemas = [
            path
            for path in named_files(candidate, config.schemas)
            if _concerned(candidate, path, changed, "schema_files") or (sampled and _sampled(candidate, path, changed))
        ]
        zod = [path for path in named_files(candidate, config.zod) if path in changed or sampled]
        return cls(tuple(openapi), tuple(schemas), tuple(code), tuple(zod))


def named_files(candidate: Candidate, globs: Sequence[str]) -> list[str]:
    """The files of either side that are named."""
    named = Scope(tuple(globs))
    there = {*candidate.files(candidate.base), *candidate.files(candidate.commit)} if globs else set()
    return sorted(path for path in there if named.allows(path))


def _concerned(candidate: Candidate, path: str, changed: set[str], listed_by: str = "contract_files") -> bool:
    """A file that is no longer referred to concerns it as well."""
    if path in changed:
        return True
    if not any(each.endswith(REFERRED) for each in changed):
        return False
    commits = (candidate.base, candidate.commit)
    sides = (contract_files(candidate, commit, path, listed_by) for commit in commits)
    return any(side is not None and not changed.isdisjoint(side.files) for side in sides)


def _sampled(candidate: Candidate, path: str, changed: set[str]) -> bool:
    """Is a sample of this schema among what was changed?"""
    config = candidate.config.contracts
    patterns = [*config.samples, *config.bad_samples]
    commits = (candidate.base, candidate.commit)
    return any(not changed.isdisjoint(samples_of(candidate, each, patterns, schema_name(path))) for each in commits)


def unnamed_descriptions(candidate: Candidate) -> list[str]:
    """Changed files that look like an API's description and that `[contracts]` does not name."""
    named = Scope(tuple(candidate.config.contracts.paths))
    found = [file.path for file in candidate.changed if LIKE_A_DESCRIPTION.fullmatch(file.path)]
    return [path for path in found if not named.allows(path)]
