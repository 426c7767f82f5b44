"""Failing tests of ours, laid into files: appended, alone in a file, or as a test's first line.

A stack's `Layer` does it (`Stack.canaries`); all of them only edit text and answer None where they can't be sure of the
place.
"""

from collections.abc import Callable, Collection

from damascus.stacks import stack_of
from damascus.stacks.layer import Laid, Layer, Style
from damascus.stacks.made_up import MadeUp
from damascus.stacks.written import READ_LIMIT

__all__ = ["Laid", "Style", "alone", "append", "beside", "expecting", "first_lines", "layer_of"]


def layer_of(path: str) -> Layer | None:
    stack = stack_of(path)
    return stack.canaries() if stack is not None and stack.canaries is not None else None


def append(path: str, source: bytes, made: MadeUp, style: Style) -> Laid | None:
    """The file with failing tests of ours behind its own."""
    return _laid(path, source, lambda layer, text: layer.append(text, made, style))


def alone(path: str, like: bytes, made: MadeUp, style: Style) -> Laid | None:
    """A file that holds nothing but failing tests, written as `like` is."""
    return _laid(path, like, lambda layer, text: layer.alone(text, made, style))


def first_lines(path: str, source: bytes, tests: Collection[str], made: MadeUp) -> Laid | None:
    """The file with these tests of its own failing at once. `names` of the answer are those that could be changed."""
    return _laid(path, source, lambda layer, text: layer.first_lines(text, tests, made))


def expecting(path: str, source: bytes, tests: Collection[str], made: MadeUp) -> Laid | None:
    """The file with these tests of its own expecting another value. `names` are those that could be changed."""
    return _laid(path, source, lambda layer, text: layer.expecting(text, tests, made))


def beside(path: str, neighbours: Collection[str], made: MadeUp) -> str | None:
    """A path in the same folder, sorted behind the others, that a runner takes as it takes `path`."""
    layer = layer_of(path)
    if layer is None:
        return None
    folder, _, own = path.rpartition("/")
    ending = next((end for end in layer.endings if own.endswith(end)), None)
    if ending is None:
        return None
    same = [name for name in neighbours if name.endswith(ending)] or [own]
    stem = max([*same, own]).removesuffix(ending)
    name = f"{stem}{'' if ending.startswith('_') else '_'}{made.new_word()}{ending}"  # a letter sorts behind `_`
    return f"{folder}/{name}" if folder else name


def _laid(path: str, source: bytes, do: Callable[[Layer, str], Laid | None]) -> Laid | None:
    layer = layer_of(path)
    if layer is None or len(source) > READ_LIMIT:
        return None
    try:
        return do(layer, source.decode("utf-8"))
    except UnicodeDecodeError:
        return None
