"""What others wrote, on its way to a program: keys masked, and where the reader is an agent, harmless and short."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from damascus.system.masking import without_secrets
from damascus.telling.phrases import plain


@dataclass(frozen=True)
class TextBounds:
    """How much an agent is given: characters of one text, entries of one list."""

    longest: int = 4_000
    most: int = 200


WIDE = TextBounds()


def masked(value: Any, keys: Sequence[str]) -> Any:
    """Every text in it without keys and passwords; times in UTC, bytes as text."""
    return _each(value, lambda text: without_secrets(text, keys), None)


def for_agent(value: Any, keys: Sequence[str], bounds: TextBounds = WIDE) -> Any:
    """As `masked`, without escape codes and what nobody sees, and capped: it says how much is left out."""
    return _each(value, lambda text: _short(plain(without_secrets(text, keys)), bounds.longest), bounds.most)


def _each(value: Any, text: Callable[[str], str], most: int | None) -> Any:
    match value:
        case str():
            return text(str(value))
        case bytes():
            return text(value.decode("utf-8", errors="replace"))
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case dict():
            return {text(str(key)): _each(one, text, most) for key, one in value.items()}
        case list() | tuple() | set() | frozenset():
            return _listed([_each(one, text, most) for one in list(value)[:most]], len(value))
        case None | bool() | int() | float():
            return value
        case _:
            return text(str(value))


def _listed(kept: list[Any], whole: int) -> list[Any]:
    return kept if len(kept) == whole else [*kept, f"… and {whole - len(kept):,} more"]


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text) - longest:,} characters more)"
