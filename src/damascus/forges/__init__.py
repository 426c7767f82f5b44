"""Forges: where branches, pull requests, CI and main live. A new one is one file here, one line in this dict and
one line in tests/contracts/test_forges.py."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from damascus.domain.config import ForgeConfig
from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.ports import EvidenceRunner, Forge
from damascus.git.mirror import Mirror
from damascus.git.repository import Repository

Token = Callable[[], str]


@dataclass(frozen=True)
class Setup:
    """What a forge is made from. Of the user's repository and the runner only the local one makes use."""

    mirror: Mirror
    repository: Repository | None
    main_branch: str
    runner: EvidenceRunner | None
    project_name: str
    config: ForgeConfig
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)


def _local(setup: Setup) -> Forge:
    from damascus.forges.local import LocalForge

    assert setup.repository is not None and setup.runner is not None
    return LocalForge(setup.mirror, setup.repository, setup.main_branch, setup.runner, setup.project_name)


def _gitea(setup: Setup) -> Forge:
    from damascus.forges.gitea import GiteaForge

    return GiteaForge.at(setup.mirror, _url(setup.config), token(setup.config, setup.environ), setup.main_branch)


def _github(setup: Setup) -> Forge:
    from damascus.forges.github import GithubForge

    return GithubForge.at(setup.mirror, _url(setup.config), token(setup.config, setup.environ), setup.main_branch)


FORGES: dict[str, Callable[[Setup], Forge]] = {"local": _local, "gitea": _gitea, "github": _github}


def make_forge(kind: str, setup: Setup) -> Forge:
    try:
        factory = FORGES[kind]
    except KeyError:
        raise UsageError(f"There is no forge {kind!r}. Choose one of: {', '.join(sorted(FORGES))}.") from None
    return factory(setup)


def _url(config: ForgeConfig) -> str:
    if not config.url:
        raise UsageError(
            f"The forge {config.kind} needs the address of its repository. Set [forge] url in damascus.toml "
            "or DAMASCUS_FORGE_URL."
        )
    return config.url


def token(config: ForgeConfig, environ: Mapping[str, str]) -> Token:
    """Where the token comes from, looked at now so that a missing one is said at once. A file is read for each call:
    a renewed token holds without a restart."""
    given = environ.get(config.token_env, "").strip()
    if given:
        return lambda: given
    if not config.token_file:
        raise UsageError(
            f"The forge {config.kind} needs a token. Set the variable {config.token_env}, or name a file with it in "
            "[forge] token_file (docs/forges.md)."
        )
    file = Path(config.token_file).expanduser()
    read_token(file)
    return lambda: read_token(file)


def read_token(file: Path) -> str:
    try:
        text = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as err:
        raise DamascusError(f"no token can be read from {file} ({err}). Correct [forge] token_file.") from None
    if not text or len(text.split()) != 1:
        raise DamascusError(f"{file} must hold the forge's token and nothing else. Correct it.")
    return text
