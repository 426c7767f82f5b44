"""What each checkout has for itself (X10): ports, a folder for temporary files, caches.

Two stories that run the same tools at once never meet in a cache, and nothing that one leaves there reaches the next.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from damascus.stacks.others import toolchains
from damascus.system.ports import PortBlocks

PORT = "DAMASCUS_PORT"


@contextmanager
def checkout_environment(private: Path, ports: PortBlocks) -> Iterator[dict[str, str]]:
    """The variables of one checkout while it is in use. `private` is outside of it, and empty at the start."""
    temporary, caches = private / "tmp", private / "cache"
    if private.exists():
        shutil.rmtree(private, ignore_errors=True)
    for folder in (temporary, caches):
        folder.mkdir(parents=True, exist_ok=True)
    with ports.hold() as port:
        yield {PORT: str(port), "TMPDIR": str(temporary), **_caches(caches)}


def _caches(folder: Path) -> dict[str, str]:
    """XDG_CACHE_HOME, and the variables of the tools that don't ask it."""
    others = {name: str(folder / below) for each in toolchains() for name, below in each.caches.items()}
    return {"XDG_CACHE_HOME": str(folder), **others}
