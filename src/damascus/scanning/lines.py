"""What a change adds to a file, as lines to be scanned. The same for a proposed write and for the final diff.

A secret may stand in the file's name, and one layer of packing hides nothing: gzip and zip are looked into here, base64
by the patterns. What is packed beyond a limit can't be looked through, and so has not passed.
"""

import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import IO, cast

from damascus.scanning.scan import Hit, NewLines
from damascus.scanning.scanner import ScanFailed

BINARY_LOOK = 8_000
UNPACKED_LIMIT = 20_000_000
MEMBERS_LIMIT = 2_000
WRAPPED_FROM = 40
BASE64_LINE = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
NOTEBOOK = ".ipynb"
REPAIR = (
    "Take it out and read it from the environment or a secret store. Test data: build it at run time, or make it "
    "plainly no secret (with EXAMPLE in it)."
)


def new_lines(path: str, old: bytes | None, new: bytes) -> list[NewLines]:
    """What the file did not have: its name where it is new, its lines, and those of what is packed in it. Raises
    ScanFailed for what is packed beyond all measure."""
    named = [NewLines(path=path, binary=False, lines=[(0, path)], source=True)] if old is None else []
    packed = [lines for name, data in _unpacked(path, new) for lines in _new_lines(f"{path}!{name}", None, data)]
    return [*named, *_new_lines(path, old, new), *packed]


def _unpacked(path: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """One layer. What only looks packed, or is broken, is looked at as it stands."""
    room = UNPACKED_LIMIT
    try:
        for name, stream in _members(data):
            content = stream.read(room + 1)
            room -= len(content)
            if room < 0:
                raise ScanFailed(f"{path} unpacks to more than {UNPACKED_LIMIT // 1_000_000} MB")
            yield name, content
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, ValueError):
        return


def _members(data: bytes) -> Iterator[tuple[str, IO[bytes]]]:
    if data.startswith(GZIP):
        yield "", cast("IO[bytes]", gzip.GzipFile(fileobj=io.BytesIO(data)))
    elif ZIP in data[:BINARY_LOOK]:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if len(archive.infolist()) > MEMBERS_LIMIT:
                raise ScanFailed(f"an archive of {len(archive.infolist())} files")
            for member in archive.infolist():
                yield member.filename, archive.open(member)


def _new_lines(path: str, old: bytes | None, new: bytes) -> list[NewLines]:
    """The lines that the file did not have. A notebook's cells are looked at once more, as the source they are."""
    binary = b"\0" in new[:BINARY_LOOK]
    known = set((old or b"").splitlines())
    lines = [(n, line) for n, line in enumerate(new.splitlines(), 1) if line not in known and line.strip()]
    if not lines:
        return []
    texts = [(n, _text(line, binary)) for n, line in lines]
    found = [NewLines(path=path, binary=binary, lines=[*texts, *_wrapped(texts)])]
    return [*found, *_new_cells(path, old, new)] if is_notebook(path) else found


def _wrapped(lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """base64 is usually wrapped: its lines once more, as the one text that they are."""
    run: list[str] = []
    for n, line in [*lines, (0, "")]:
        text = line.strip(" \t\r\"',\\")
        if len(text) >= WRAPPED_FROM and BASE64_LINE.fullmatch(text):
            run.append(text)
            continue
        if run:
            yield n, "".join([*run, text if BASE64_LINE.fullmatch(text) else ""])[:UNPACKED_LIMIT]
        run = []


def places(hits: Sequence[Hit]) -> str:
    """Where and of which kind; never the secret."""
    return "; ".join(dict.fromkeys(f"{hit['path']}:{hit['line']}: {hit['kind']}" for hit in hits))


def _text(line: bytes, binary: bool) -> str:
    """Without NULs also UTF-16 reads like plain text."""
    return line.replace(b"\0", b"").decode("latin-1" if binary else "utf-8", errors="replace")


def _new_cells(path: str, old: bytes | None, new: bytes) -> list[NewLines]:
    known = {line for _, line in cell_lines(old or b"")}
    lines = [(n, line) for n, line in cell_lines(new) if line not in known and line.strip()]
    return [NewLines(path=path, binary=False, lines=lines, source=True)] if lines else []


def cell_lines(notebook: bytes) -> list[tuple[int, str]]:
    """The source of a notebook's cells, each line with its cell's number from 1; nothing of what is no notebook."""
    try:
        cells = json.loads(notebook)["cells"]
        sources = ["".join(cell["source"]) for cell in cells]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    return [(n, line) for n, source in enumerate(sources, 1) for line in source.splitlines()]


def is_notebook(path: str) -> bool:
    return PurePosixPath(path).suffix == NOTEBOOK
