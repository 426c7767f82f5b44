"""Is the forge of a project fit for its work? Each question is answered for itself, with what to do."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Protocol

from damascus.domain.check import Check
from damascus.domain.config import Config
from damascus.domain.errors import DamascusError, TransientError, UsageError

DOCTORS = {
    "local": "damascus.forges.local.doctor",
    "gitea": "damascus.forges.gitea.doctor",
    "github": "damascus.forges.github.doctor",
}
"""Where each forge's `doctor` is. One that is not here is refused, never taken for another."""


class Doctor(Protocol):
    """One kind of forge."""

    def checks(self) -> Iterator[tuple[str, Callable[[], Check]]]: ...


def examine(config: Config, environ: Mapping[str, str], main: str) -> Iterator[Check]:
    try:
        doctor = doctor_of(config, environ, main)
    except DamascusError as err:
        yield Check("forge", "fail", str(err))
        return
    yield from _token_file(config, environ)
    for name, look in doctor.checks():
        check = _guarded(name, look)
        yield check
        if check.state == "fail" and name in ("forge", "token", "repository"):
            return  # all that follows would fail for the same reason


def doctor_of(config: Config, environ: Mapping[str, str], main: str) -> Doctor:
    kind = config.forge.kind
    if kind not in DOCTORS:
        raise UsageError(f"There is no doctor for the forge {kind!r}. Choose one of: {', '.join(sorted(DOCTORS))}.")
    made: Callable[[Config, Mapping[str, str], str], Doctor] = import_module(DOCTORS[kind]).doctor
    return made(config, environ, main)


def _token_file(config: Config, environ: Mapping[str, str]) -> Iterator[Check]:
    """Only where it is what holds the token."""
    file = Path(config.forge.token_file).expanduser()
    asked = config.forge.token_file and config.forge.kind != "local" and not environ.get(config.forge.token_env)
    if asked and file.stat().st_mode & 0o077:
        yield Check("token file", "warn", f"{file} can be read by others than you: chmod 600 {file}")


def _guarded(name: str, look: Callable[[], Check]) -> Check:
    try:
        return look()
    except (DamascusError, TransientError, LookupError) as err:
        return Check(name, "fail", str(err))
