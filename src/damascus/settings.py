"""What a repository's damascus.toml says, known without reading it again (settings_on_main.py reads it).

Most commands only look at the queue, and nothing has changed since the last one. So what was found is kept in the data
folder together with a hash of all that it was found from, and anything that differs is read anew. That saves
every looking command four git processes and pydantic. Nothing is judged by it: a worker reads the rules at a commit.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from damascus import __version__
from damascus.domain.scope import SETTINGS_FILE
from damascus.git.repository import MAIN_NAMES, Repository
from damascus.store.projects import ForgeAddress
from damascus.system.replacing import replace_file

if TYPE_CHECKING:
    from damascus.domain.config import Config

SEEN = "seen"
"""Where the data folder keeps what was found."""


@dataclass(frozen=True)
class Settings:
    """The damascus.toml that holds, found valid; `name` is what errors call it."""

    text: str
    name: str
    main: str
    on_main: bool
    notice: str | None = None
    forge: ForgeAddress | None = None
    suite: str = ""
    """The project's whole test command, as it holds on main; "" where there is none."""
    suite_found: bool = False
    """Nobody wrote it down: main's files tell it."""
    commands: Sequence[tuple[str, str, bool]] = ()
    """The gate commands that hold on main: name, command, and whether main's files tell it."""
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)

    @cached_property
    def config(self) -> "Config":
        from damascus.domain.config import parse_config  # pydantic: a command that only looks at the queue needs none

        return parse_config(self.text, self.environ, self.name)


Identity = tuple[UUID | None, UUID | None]
"""Of a repository: its project, and which of that project's it is."""


def glance(repository: Repository, home: Path, environ: Mapping[str, str]) -> tuple[Settings, Identity]:
    """The settings of a repository and who it is: as the last look found them, if nothing has changed."""
    file = home / SEEN / f"{hashlib.sha256(str(repository.top).encode()).hexdigest()[:24]}.json"
    known = _recalled(file, repository, environ)
    if known is not None:
        return known
    from damascus.settings_on_main import read_settings  # configs, stacks, forges: only what has changed is read

    before = _basis(repository, MAIN_NAMES[0], environ)
    settings, identity = read_settings(repository, environ), repository.identity()
    if settings.main not in MAIN_NAMES:  # its own name is known only now
        before = _basis(repository, settings.main, environ)
        settings, identity = read_settings(repository, environ), repository.identity()
    if before is not None and before == _basis(repository, settings.main, environ):  # nothing moved while it was read
        _remember(file, before, settings, identity)
    return settings, identity


# ── what the last look found ──────────────────────────────────────────────────────────────────────────


def _recalled(file: Path, repository: Repository, environ: Mapping[str, str]) -> tuple[Settings, Identity] | None:
    try:
        known = json.loads(file.read_bytes())
        if known["basis"] != _basis(repository, known["settings"]["main"], environ):
            return None
        forge = known["settings"].pop("forge")
        settings = Settings(**known["settings"], forge=forge and ForgeAddress(**forge), environ=environ)
        project, own = known["identity"]
        return settings, (UUID(project), UUID(own))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _remember(file: Path, basis: str, settings: Settings, identity: Identity) -> None:
    """Only of a repository that is set up; where it can't be kept, the next command looks again."""
    if None in identity:
        return
    kept = {key: value for key, value in vars(settings).items() if key not in ("environ", "forge", "config")}
    kept["forge"] = asdict(settings.forge) if settings.forge else None
    found = {"basis": basis, "settings": kept, "identity": [str(each) for each in identity]}
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, json.dumps(found))


def _basis(repository: Repository, main: str, environ: Mapping[str, str]) -> str | None:
    """A hash of all that settings and identity are found from; None where git alone can tell."""
    try:
        marks = repository.marks(main)
    except OSError:
        return None
    if marks is None:
        return None
    try:
        local = (repository.top / SETTINGS_FILE).read_bytes()
    except FileNotFoundError:
        local = None
    ours = sorted((key, value) for key, value in environ.items() if key.startswith("DAMASCUS_"))
    rules = os.stat(Path(__file__).with_name("domain") / "config.py")
    release = __version__, rules.st_size, rules.st_mtime_ns
    return hashlib.sha256(repr((release, str(repository.top), marks, local, ours)).encode()).hexdigest()
