"""What a repository's damascus.toml says, read and checked.

Main's damascus.toml holds; the one in the folder must be valid too, and a difference is named in one line.
"""

from collections.abc import Mapping
from pathlib import Path

from damascus.domain.config import Config, parse_config
from damascus.domain.errors import UsageError
from damascus.domain.ids import Sha
from damascus.domain.scope import SETTINGS_FILE
from damascus.forges.address import Address
from damascus.git.repository import Repository
from damascus.settings import Settings
from damascus.stacks.suite import Suite, suite_of
from damascus.store.projects import ForgeAddress


def read_settings(repository: Repository, environ: Mapping[str, str]) -> Settings:
    """Read from the folder and from main, and checked."""
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


def suite_on(repository: Repository, main: str, config: Config) -> Suite:
    """The suite of main's tip, by these settings."""
    tip = repository.tip(main)
    named = bool(config.test.command.strip())
    listing = "" if named else repository.git.out("ls-tree", "-r", "-z", "--name-only", tip)
    return suite_of(config.test, listing.split("\0"), lambda path: read_at(repository, tip, path))


def _address(config: Config) -> ForgeAddress | None:
    """What other hosts must know of the forge; an address that holds a password is refused before it is written."""
    forge = config.forge
    if forge.kind == "local":
        return None
    return ForgeAddress(forge.kind, Address.parse(forge.url).url, forge.token_env)


def _read_text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as err:
        raise UsageError(f"{path} can't be read: {err}. Correct it.") from None


def read_at(repository: Repository, commit: Sha, path: str) -> bytes | None:
    found = repository.git.run("cat-file", "blob", f"{commit}:{path}", check=False)
    return found.raw if found.code == 0 else None
