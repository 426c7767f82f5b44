"""How the files of a commit are read, one by one."""

from collections.abc import Callable
from functools import partial

from damascus.domain.ids import Sha
from damascus.git.mirror import Mirror

MANY = 200
"""So many files that they are looked up in one listing."""

Read = Callable[[Sha, str], bytes | None]


def reader(mirror: Mirror, files: int) -> Read:
    """Looking through a folder anew for each of the 20,000 files that an agent wrote into it takes time by the square
    of their number; a listing is made once."""
    return mirror.read if files < MANY else partial(_listed, mirror)


def _listed(mirror: Mirror, commit: Sha, path: str) -> bytes | None:
    entry = mirror.listing(commit).files.get(path)
    found = mirror.objects.find([entry.sha])[0] if entry is not None else None
    return found.data if found is not None and found.kind == "blob" else None
