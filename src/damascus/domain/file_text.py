"""The text of a file that a person wrote: UTF-8, with a mark before it or not, and lines that end in one way."""

from damascus.domain.errors import UsageError


def decode(raw: bytes, name: str) -> str:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        raise UsageError(
            f"{name} is not UTF-8 (byte {err.start} is 0x{raw[err.start]:02x}). Save it as UTF-8."
        ) from None
    if "\x00" in text:
        raise UsageError(f"{name} contains a NUL character. Save it as plain UTF-8 text.")
    return text.replace("\r\n", "\n")
