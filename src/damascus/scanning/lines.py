"""What a change adds to a file, as lines to be scanned. The same for a proposed write and for the final diff."""

import json
from collections.abc import Sequence
from pathlib import PurePosixPath

from damascus.scanning.scan import Hit, NewLines

BINARY_LOOK = 8_000
NOTEBOOK = ".ipynb"
REPAIR = (
    "Take it out and read it from the environment or a secret store. Test data: build it at run time, or make it "
    "plainly no secret (with EXAMPLE in it)."
)


def new_lines(path: str, old: bytes | None, new: bytes) -> list[NewLines]:
    """The lines that the file did not have. A notebook's cells are looked at once more, as the source they are."""
    binary = b"\0" in new[:BINARY_LOOK]
    known = set((old or b"").splitlines())
    lines = [(n, line) for n, line in enumerate(new.splitlines(), 1) if line not in known and line.strip()]
    if not lines:
        return []
    found = [NewLines(path=path, binary=binary, lines=[(n, _text(line, binary)) for n, line in lines])]
    return [*found, *_new_cells(path, old, new)] if is_notebook(path) else found


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
