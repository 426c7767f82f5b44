"""What a repository's damascus.toml says, and how it is known without reading it again.

Main's damascus.toml holds; the one in the folder must be valid too, and a difference is named in one line.

Most commands only look at the queue, and nothing has changed since the last one. So what was found is kept in the data
folder together with a hash of all that it was found from, and anything that differs is read anew. That saves
every looking command four git processes and pydantic. Nothing is judged by it: a worker reads the rules at a commit.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from damascus import __version__
from damascus.domain.errors import UsageError
from damascus.domain.scope import SETTINGS_FILE

if TYPE_CHECKING:
    from damascus.domain.config import Config
    from damascus.domain.ids import Sha
    from damascus.git.repository import Repository
    from damascus.stacks.suite import Suite
    from damascus.store.projects import ForgeAddress

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
    forge: "ForgeAddress | None" = None
    suite: str = ""
    """The project's whole test command, as it holds on main; "" where there is none."""
    suite_found: bool = False
    """Nobody wrote it down: main's files tell it."""
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)

    @cached_property
    def config(self) -> "Config":
        from damascus.domain.config import parse_config

        return parse_config(self.text, self.environ, self.name)


Identity = tuple[UUID | None, UUID | None]
"""Of a repository: its project, and which of that project's it is."""


def glance(repository: "Repository", home: Path, environ: Mapping[str, str]) -> tuple[Settings, Identity]:
    """The settings of a repository and who it is: as the last look found them, if nothing has changed."""
    from damascus.git.repository import MAIN_NAMES

    file = home / SEEN / f"{hashlib.sha256(str(repository.top).encode()).hexdigest()[:24]}.json"
    known = _recalled(file, repository, environ)
    if known is not None:
        return known
    before = _basis(repository, MAIN_NAMES[0], environ)
    settings, identity = read_settings(repository, environ), repository.identity()
    if settings.main not in MAIN_NAMES:  # its own name is known only now
        before = _basis(repository, settings.main, environ)
        settings, identity = read_settings(repository, environ), repository.identity()
    if before is not None and before == _basis(repository, settings.main, environ):  # nothing moved while it was read
        _remember(file, before, settings, identity)
    return settings, identity


def read_settings(repository: "Repository", environ: Mapping[str, str]) -> Settings:
    """Read from the folder and from main, and checked."""
    from damascus.domain.config import parse_config

    local = _read_text(repository.top / SETTINGS_FILE)
    mine = parse_config(local or "", environ)
    main = repository.main_branch(mine.project.main_branch)
    theirs = read_at(repository, repository.tip(main), SETTINGS_FILE)
    if theirs is None:
        own = suite_on(repository, main, mine)
        return Settings(
            local or "", SETTINGS_FILE, main, on_main=False, suite=own.command, suite_found=own.found, environ=environ
        )
    differs = local is not None and local.encode() != theirs
    notice = (
        f"{SETTINGS_FILE} in your folder differs from {main}'s; {main}'s holds until you commit yours."
        if differs
        else None
    )
    text, name = theirs.decode("utf-8", errors="replace"), f"{SETTINGS_FILE} on {main}"
    config = parse_config(text, environ, name)
    own = suite_on(repository, main, config)
    return Settings(text, name, main, True, notice, _address(config), own.command, own.found, environ)


def suite_on(repository: "Repository", main: str, config: "Config") -> "Suite":
    """The suite of main's tip, by these settings."""
    from damascus.stacks.suite import suite_of

    tip = repository.tip(main)
    named = bool(config.test.command.strip())
    listing = "" if named else repository.git.out("ls-tree", "-r", "-z", "--name-only", tip)
    return suite_of(config.test, listing.split("\0"), lambda path: read_at(repository, tip, path))


def _address(config: "Config") -> "ForgeAddress | None":
    """What other hosts must know of the forge; an address that holds a password is refused before it is written."""
    forge = config.forge
    if forge.kind == "local":
        return None
    from damascus.forges.address import Address
    from damascus.store.projects import ForgeAddress

    return ForgeAddress(forge.kind, Address.parse(forge.url).url, forge.token_env)


def _read_text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as err:
        raise UsageError(f"{path} can't be read: {err}. Correct it.") from None


def read_at(repository: "Repository", commit: "Sha", path: str) -> bytes | None:
    found = repository.git.run("cat-file", "blob", f"{commit}:{path}", check=False)
    return found.raw if found.code == 0 else None


# ── what the last look found ──────────────────────────────────────────────────────────────────────────


def _recalled(file: Path, repository: "Repository", environ: Mapping[str, str]) -> tuple[Settings, Identity] | None:
    from damascus.store.projects import ForgeAddress

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
    aside = file.with_name(f"{file.name}.{os.getpid()}")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(json.dumps(found))
        os.replace(aside, file)


def _basis(repository: "Repository", main: str, environ: Mapping[str, str]) -> str | None:
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
