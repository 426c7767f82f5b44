"""What a repository's damascus.toml says, read and checked.

Main's damascus.toml holds; the one in the folder must be valid too, and a difference is named in one line.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from damascus.domain.config import Config, parse_config
from damascus.domain.errors import UsageError
from damascus.domain.ids import Sha
from damascus.domain.scope import SETTINGS_FILE
from damascus.forges.address import Address
from damascus.git.repository import Repository
from damascus.settings import Settings
from damascus.stacks.gate_commands import GateCommands, commands_of
from damascus.stacks.suite import Suite, suite_of
from damascus.store.projects import ForgeAddress


def read_settings(repository: Repository, environ: Mapping[str, str]) -> Settings:
    """Read from the folder and from main, and checked."""
    local = _read_text(repository.top / SETTINGS_FILE)
    mine = parse_config(local or "", environ)
    main = repository.main_branch(mine.project.main_branch)
    theirs = read_at(repository, repository.tip(main), SETTINGS_FILE)
    if theirs is None:
        return _judged_by(repository, mine, Settings(local or "", SETTINGS_FILE, main, on_main=False, environ=environ))
    differs = local is not None and local.encode() != theirs
    notice = (
        f"{SETTINGS_FILE} in your folder differs from {main}'s; {main}'s holds until you commit yours."
        if differs
        else None
    )
    text, name = theirs.decode("utf-8", errors="replace"), f"{SETTINGS_FILE} on {main}"
    config = parse_config(text, environ, name)
    read = Settings(text, name, main, True, notice, _address(config), environ=environ)
    return _judged_by(repository, config, read)


def _judged_by(repository: Repository, config: Config, settings: Settings) -> Settings:
    """With the suite and the gate commands of main's tip."""
    suite, asked = suite_on(repository, settings.main, config), commands_on(repository, settings.main, config)
    commands = [(each.name, each.command, each.found) for each in asked.commands]
    return replace(settings, suite=suite.command, suite_found=suite.found, commands=commands)


def suite_on(repository: Repository, main: str, config: Config) -> Suite:
    """The suite of main's tip, by these settings."""
    tip = repository.tip(main)
    listing = [] if config.test.command.strip() else _listing(repository, tip)
    return suite_of(config.test, listing, lambda path: read_at(repository, tip, path))


def commands_on(repository: Repository, main: str, config: Config) -> GateCommands:
    """The gate commands of main's tip, by these settings."""
    tip = repository.tip(main)
    return commands_of(config, _listing(repository, tip), lambda path: read_at(repository, tip, path))


def _listing(repository: Repository, tip: Sha) -> list[str]:
    return repository.git.out("ls-tree", "-r", "-z", "--name-only", tip).split("\0")


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
