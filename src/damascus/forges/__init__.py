"""Forges: where branches, pull requests, CI and main live.

A new one is a folder by capability (forge.py with a `make`, doctor.py), a line in this dict and in doctor.py's, and a
line in tests/contracts/test_forges.py.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module

from damascus.domain.config import ForgeConfig
from damascus.domain.errors import UsageError
from damascus.domain.ports import EvidenceRunner, Forge
from damascus.git.making_way import OurFiles
from damascus.git.mirror import Mirror
from damascus.git.repository import Repository


@dataclass(frozen=True)
class ForgeSetup:
    """What a forge is made from. Of the user's repository and the runner only the local one makes use."""

    mirror: Mirror
    repository: Repository | None
    main_branch: str
    runner: EvidenceRunner | None
    project_name: str
    config: ForgeConfig
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    ours: Callable[[], OurFiles] = dict
    """Files that we wrote into the user's checkout, by their hashes."""


FORGES = {
    "local": "damascus.forges.local.forge",
    "gitea": "damascus.forges.gitea.forge",
    "github": "damascus.forges.github.forge",
}
"""Where each one's `make` is. Only the chosen one is loaded: those with a server bring a client for HTTP along."""


def make_forge(kind: str, setup: ForgeSetup) -> Forge:
    if kind not in FORGES:
        raise UsageError(f"There is no forge {kind!r}. Choose one of: {', '.join(sorted(FORGES))}.")
    make: Callable[[ForgeSetup], Forge] = import_module(FORGES[kind]).make
    return make(setup)
