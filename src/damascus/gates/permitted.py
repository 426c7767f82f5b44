"""Which tests a spec lets go (`may_remove`) or lets say something else from now on (`may_change`)."""

from collections.abc import Sequence

from damascus.domain.scope import Scope, glob_regex
from damascus.stacks import stack_of


def permits(entries: Sequence[str], test: str) -> bool:
    """An entry is a file, a folder, a glob of either, or one test as `path::name`; a test's parameters and its own
    parts (`TestA/part`) belong to it. A test whose file its runner does not tell is named by itself."""
    path, _, name = test.partition("::")
    ids = {test, test.partition("[")[0]}
    if stack_of(path) is None:
        ids |= {test.partition("/")[0], test.rpartition("::")[2]}
    return any(_names(entry, path, name, ids) for entry in entries)


def _names(entry: str, path: str, name: str, ids: set[str]) -> bool:
    place, _, wanted = entry.partition("::")
    if entry in ids or any(glob_regex(entry).fullmatch(one) for one in ids):
        return True
    if wanted:
        return place == path and wanted == name.partition("[")[0].split("::")[-1]
    return Scope((place,)).allows(path)
