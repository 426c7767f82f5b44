"""Our part of a file that may be a person's, too: what stands between two marks. Every byte outside is left alone.

A file that was there before keeps its words, and ours go below them. Whoever edits between the marks loses nothing
either: the writer moves such a file aside first (engine/maintenance/projector.py).
"""

BEGIN = (
    b"<!-- damascus: written by Damascus from here to the end mark; words outside are yours (docs/task-graph.md) -->\n"
)
END = b"<!-- damascus: end -->\n"


def with_region(raw: bytes, text: str) -> bytes:
    """The file with this text as our part; below its words where it has none yet."""
    before, _, after = parted(raw)
    if region_of(raw) is None and before:
        before = before + (b"" if before.endswith(b"\n") else b"\n") + b"\n"
    return before + BEGIN + text.encode("utf-8", "replace") + END + after


def region_of(raw: bytes) -> bytes | None:
    """Our part, without its marks; None: there is none."""
    return parted(raw)[1]


def parted(raw: bytes) -> tuple[bytes, bytes | None, bytes]:
    """Before, between and after the marks. Where the end mark is gone, all that follows the first one is between."""
    start = _line(raw, BEGIN, 0)
    if start < 0:
        return raw, None, b""
    inside = start + len(BEGIN)
    stop = _line(raw, END, inside)
    if stop < 0:
        return raw[:start], raw[inside:], b""
    return raw[:start], raw[inside:stop], raw[stop + len(END) :]


def _line(raw: bytes, mark: bytes, begin: int) -> int:
    """Where the mark stands as a whole line."""
    at = raw.find(mark, begin)
    while at > 0 and raw[at - 1 : at] != b"\n":
        at = raw.find(mark, at + 1)
    return at
