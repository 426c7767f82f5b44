"""What lint, types and build are told by the base, laid over a candidate that says otherwise.

A story may change such a file where its scope names it (gate weakened_tests sees to that). That is the person's word
where the file says nothing else: `ruff.toml`. A file that is named in a scope for a dependency, `package.json` or
`pyproject.toml`, keeps the base's word in the parts that checks read, and so does whatever is changed below a folder of
the scope. `may_change` in the spec names files whose own word shall hold at once.
"""

import fnmatch
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from damascus.domain.ports import Candidate, ChangedFile
from damascus.gates.permitted import permits
from damascus.stacks import REGISTRY
from damascus.stacks.settings_parts import UnreadableSettings, with_parts_of

SCRIPTS = "scripts"
"""Of a package.json that is new: they run for nothing that the base has."""


def settings_of_base(candidate: Candidate) -> Mapping[str, bytes | None]:
    """The changed files of settings as the base has them, None for those that it does not have."""
    asked = [file for file in candidate.changed if not permits(candidate.spec.may_change, file.path)]
    found: dict[str, bytes | None] = {}
    for file in asked:
        keys = _keys(file.path)
        if keys is not None:
            found |= _kept(candidate, file, keys)
        elif _is_own(file.path) and not candidate.scope.names(file.path):
            found[file.path] = candidate.read(candidate.base, file.path)
    return found


def _is_own(path: str) -> bool:
    patterns = (stack.check_settings.own for stack in REGISTRY.values())
    return any(pattern.fullmatch(path) for pattern in patterns if pattern is not None)


def _keys(path: str) -> Sequence[str] | None:
    """Of a file that says other things too; none of them: the whole of it."""
    name = PurePosixPath(path).name
    parts = (part for stack in REGISTRY.values() for part in stack.check_settings.parts.items())
    return next((keys for pattern, keys in parts if fnmatch.fnmatchcase(name, pattern)), None)


def _kept(candidate: Candidate, file: ChangedFile, keys: Sequence[str]) -> dict[str, bytes | None]:
    """Whoever can't tell the parts apart lays the base's whole file over."""
    base, path = candidate.read(candidate.base, file.path), file.path
    now = candidate.read(candidate.commit, path) if file.status != "D" else None
    if not keys or now is None:
        return {path: base}
    if base is None:
        keys = [key for key in keys if key != SCRIPTS]
    try:
        made = with_parts_of(PurePosixPath(path).name, base, now, keys)
    except UnreadableSettings:
        return {path: base}
    return {} if made is None else {path: made}
