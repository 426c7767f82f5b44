"""Values of variables that `[workspace] env` passes on are not for logs, transcripts or receipts."""

from collections.abc import Iterable
from pathlib import Path

MASK = "•••"
SHORTEST = 4
"""Shorter values (a 1, a port) would mask half of every log and are no secrets."""


def masked(text: str, values: Iterable[str]) -> str:
    for value in _long_first(values):
        text = text.replace(value, MASK)
    return text


def mask_file(path: Path, values: Iterable[str]) -> None:
    """Rewritten aside and renamed; a log is at most `log_max_mb` large."""
    known = _long_first(values)
    if not known or not path.is_file():
        return
    data = was = path.read_bytes()
    for value in known:
        data = data.replace(value.encode(), MASK.encode())
    if data != was:
        aside = path.with_name(path.name + ".masked")
        aside.write_bytes(data)
        aside.replace(path)


def _long_first(values: Iterable[str]) -> list[str]:
    return sorted({value for value in values if len(value) >= SHORTEST}, key=len, reverse=True)
