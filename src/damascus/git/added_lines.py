"""Which lines of a file a change brought, by git's own comparison: what moved with its file is not new."""

import ast
import os
import re

HUNK = re.compile(rb"@@ -\d+(?:,(?P<gone>\d+))? \+(?P<first>\d+)(?:,(?P<come>\d+))? @@")
NEW = b"+++ "
FORM = ("-p", "-U0", "-M", "-w", "--text")
"""For Mirror.difference: no context, renames found, a line that is only indented otherwise is no new one, and no byte
makes a file one without lines."""


def added_lines(patch: bytes) -> dict[str, set[int]]:
    """By path, of a patch in FORM."""
    found: dict[str, set[int]] = {}
    lines, at, path = patch.split(b"\n"), 0, None
    while at < len(lines):
        hunk = HUNK.match(lines[at])
        if hunk is None:
            path = _path(lines[at]) if lines[at].startswith(NEW) else path
            at += 1
            continue
        gone, first, come = (int(hunk[name] if hunk[name] is not None else 1) for name in ("gone", "first", "come"))
        if path is not None:
            found.setdefault(path, set()).update(range(first, first + come))
        at = _behind(lines, at + 1, gone + come)
    return found


def _behind(lines: list[bytes], at: int, count: int) -> int:
    """The hunk's lines are text and nothing else; git's word about a missing newline is none of them."""
    while count > 0 and at < len(lines):
        count -= not lines[at].startswith(b"\\")
        at += 1
    return at


def _path(line: bytes) -> str | None:
    name = line.removeprefix(NEW).removesuffix(b"\t")
    if name.startswith(b'"'):
        name = ast.literal_eval("b" + name.decode("ascii"))
    return os.fsdecode(name.removeprefix(b"b/")) if name.startswith(b"b/") else None
