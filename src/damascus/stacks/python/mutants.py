"""Python's functions, what lies outside of them, and edits of both: they count in UTF-8, whatever the file is in."""

from collections.abc import Iterable

from damascus.stacks.mutants.function import Edit, Mutants, edited_bytes
from damascus.stacks.python.functions import functions
from damascus.stacks.python.outside import parts_outside
from damascus.stacks.python.text import decoded


def edited(source: bytes, edits: Iterable[Edit]) -> bytes:
    text, encoding = decoded(source)
    return edited_bytes(text.encode(), edits).decode().encode(encoding)


MUTANTS = Mutants(functions, lambda source, path, values: parts_outside(source, values), edited)
