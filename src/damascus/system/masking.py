"""Values of variables that `[workspace] env` passes on, and whatever looks like a key, are not for logs."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from damascus.system.replacing import replace_file

MASK = "•••"
SHORTEST = 4
"""Shorter values (a 1, a port) would mask half of every log and are no secrets."""
SECRET_NAME = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|ACCESS_KEY|AUTH", re.IGNORECASE)
SECRET_SHORTEST = 8
IN_ADDRESS = re.compile(r"(?<=://)[^\s/@]{0,200}:[^\s/@]{1,400}(?=@)|(?<=password=)[^\s&]{1,400}", re.IGNORECASE)


def masked(text: str, values: Iterable[str]) -> str:
    for value in _long_first(values):
        text = text.replace(value, MASK)
    return text


def own_keys() -> list[str]:
    """What this process' environment holds under a name that looks like a key's."""
    return [value for name, value in os.environ.items() if SECRET_NAME.search(name) and len(value) >= SECRET_SHORTEST]


def without_secrets(text: str, keys: Iterable[str]) -> str:
    """Without these keys, and without passwords in addresses."""
    return IN_ADDRESS.sub(MASK, masked(text, keys))


def mask_file(path: Path, values: Iterable[str]) -> None:
    """Rewritten aside and renamed; a log is at most `log_max_mb` large."""
    known = _long_first(values)
    if not known or not path.is_file():
        return
    data = was = path.read_bytes()
    for value in known:
        data = data.replace(value.encode(), MASK.encode())
    if data != was:
        replace_file(path, data, mode=path.stat().st_mode & 0o777)


def _long_first(values: Iterable[str]) -> list[str]:
    return sorted({value for value in values if len(value) >= SHORTEST}, key=len, reverse=True)
