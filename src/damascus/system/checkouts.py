"""What each checkout has for itself (X10): ports, a folder for temporary files, caches.

Two stories that run the same tools at once never meet in a cache, and nothing that one leaves there reaches the next.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from damascus.system.ports import PortBlocks

PORT = "DAMASCUS_PORT"
CACHES = {
    "XDG_CACHE_HOME": "",
    "PIP_CACHE_DIR": "pip",
    "UV_CACHE_DIR": "uv",
    "npm_config_cache": "npm",
    "YARN_CACHE_FOLDER": "yarn",
    "GOCACHE": "go-build",
    "CARGO_TARGET_DIR": "cargo-target",
    "MYPY_CACHE_DIR": "mypy",
    "RUFF_CACHE_DIR": "ruff",
}
"""Variables of the tools that don't ask XDG_CACHE_HOME, and their folder below it."""


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
    return {name: str(folder / below) if below else str(folder) for name, below in CACHES.items()}
