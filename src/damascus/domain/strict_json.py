"""JSON that somebody else wrote, read so that it has one meaning: what says the same thing twice says nothing."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from damascus.domain.storable import clean


class Unreadable(ValueError):
    """Why it can't be read, as the end of a sentence that begins with its name."""


def read_json(text: str | bytes, constant: Callable[[str], Any] | None = None) -> Any:
    """`constant` is asked what NaN and the infinities are."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=constant)
    except Unreadable:
        raise
    except RecursionError:
        raise Unreadable("is nested too deeply") from None
    except ValueError as err:
        raise Unreadable(f"is not valid JSON: {err}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Names are compared as they would be kept: with a NUL in it one is still the same."""
    names = Counter(clean(name) for name, _ in pairs)
    if len(names) < len(pairs):
        raise Unreadable(f"has the key {names.most_common(1)[0][0][:80]!r} twice")
    return dict(pairs)
