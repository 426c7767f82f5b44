"""Where a forge is, and the token for it: from the config, the environment, a file."""

from collections.abc import Callable, Mapping
from pathlib import Path

from damascus.domain.config import ForgeConfig
from damascus.domain.errors import DamascusError, UsageError

Token = Callable[[], str]


def forge_url(config: ForgeConfig) -> str:
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
