"""Text and values made fit for a row: PostgreSQL refuses some, and no log belongs into one whole."""

import math

OUTPUT_LIMIT = 32_000
LARGEST_NUMBER = 2**63


def clean(text: str | bytes, limit: int = OUTPUT_LIMIT) -> str:
    """Output made fit for a row: decoded with replacement, NUL removed, cut to head and tail.

    PostgreSQL refuses NUL in text and jsonb; without this one stray byte rescues a story forever.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", errors="replace")
    text = text.replace("\x00", "").encode("utf-8", errors="replace").decode("utf-8")
    if len(text) <= limit:
        return text
    half = limit // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n… {left_out} characters left out …\n{text[half + left_out :]}"


def storable(value: object) -> object:
    """The same value without what PostgreSQL's jsonb refuses: NUL, infinities, numbers of a thousand digits."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): storable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [storable(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and abs(value) >= LARGEST_NUMBER:
        return None
    return value
