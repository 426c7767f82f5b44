"""Code that knows it is tested, by stack: which lines of code that is no test refer to a runner or its variables."""

from collections.abc import Callable
from pathlib import PurePosixPath

from damascus.stacks.awareness import go_code, node_code, python_code, rust_code
from damascus.stacks.awareness.reference import Reference
from damascus.stacks.stack import READ_LIMIT

__all__ = ["Reference", "references_in"]

READERS: dict[str, Callable[[bytes], list[Reference]]] = {
    ".py": python_code.references,
    ".go": go_code.references,
    ".rs": rust_code.references,
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), node_code.references_js),
    **dict.fromkeys((".ts", ".mts", ".cts"), node_code.references_ts),
    ".tsx": node_code.references_tsx,
}


def references_in(source: bytes, path: str) -> list[Reference]:
    reader = READERS.get(PurePosixPath(path).suffix)
    return reader(source) if reader and len(source) <= READ_LIMIT else []
