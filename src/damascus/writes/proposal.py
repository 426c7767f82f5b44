"""What a tool call would make of a file: Write, Edit, MultiEdit and NotebookEdit, computed before they run."""

import json
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from damascus.writes.bounds import inside
from damascus.writes.refusal import RefusedWrite

SIZE_LIMIT = 10_000_000
Given = Mapping[str, object]


@dataclass(frozen=True)
class Proposal:
    """One file before and after. `before` is None for a new file."""

    path: str
    before: bytes | None
    after: bytes


@dataclass(frozen=True)
class ProposedChange:
    """One file as it was and as it is; None where there is none."""

    path: str
    before: bytes | None
    after: bytes | None


def proposed(root: Path, tool: str, given: Given) -> Proposal:
    """Raises RefusedWrite for what can't be understood: nothing is waved through."""
    path = target(root, tool, given)
    before = content(root / path)
    return Proposal(path, before, _after(tool, given, before))


def target(root: Path, tool: str, given: Given) -> str:
    if tool not in TOOLS:
        raise RefusedWrite("pipeline", f"the write pipeline does not know the tool {tool}. Use {', '.join(TOOLS)}.")
    return inside(root, given.get("notebook_path") if tool == "NotebookEdit" else given.get("file_path"))


def content(path: Path) -> bytes | None:
    """What a file holds, None where there is none; a link, a device and a folder are no files."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as err:
        raise RefusedWrite("path", f"{path.name} can't be read: {err.strerror}. Write a plain file.") from None
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            raise RefusedWrite("path", f"{path.name} is there and no plain file. Choose another name.")
        if info.st_size > SIZE_LIMIT:
            raise RefusedWrite("path", f"{path.name} is over {SIZE_LIMIT // 1_000_000} MB. Write smaller files.")
        with open(handle, "rb", closefd=False) as file:
            return file.read(SIZE_LIMIT + 1)
    finally:
        os.close(handle)


def instead(tool: str, given: Given, proposal: Proposal, wanted: bytes) -> dict[str, object]:
    """The tool's input that leads to what a person made of the write."""
    text = _utf8(wanted)
    if tool == "Write":
        return {**given, "content": text}
    if tool == "NotebookEdit":
        return {**given, "new_source": _source_of_cell(wanted, proposal.after, given)}
    whole: dict[str, object] = {"old_string": _utf8(proposal.before or b""), "new_string": text, "replace_all": False}
    if tool == "MultiEdit":
        return {**given, "edits": [whole]}
    return {**given, **whole}


# ── one tool each ─────────────────────────────────────────────────────────────────────────────────────


def _after(tool: str, given: Given, before: bytes | None) -> bytes:
    after = TOOLS[tool](given, before)
    if len(after) > SIZE_LIMIT:
        raise RefusedWrite("path", f"the file would be over {SIZE_LIMIT // 1_000_000} MB. Write smaller files.")
    return after


def _write(given: Given, before: bytes | None) -> bytes:
    return _bytes(_said(given, "content"))


def _edit(given: Given, before: bytes | None) -> bytes:
    return _bytes(_edited(_utf8(before or b""), given, new=before is None))


def _multi_edit(given: Given, before: bytes | None) -> bytes:
    edits = given.get("edits")
    if not isinstance(edits, list) or not edits or not all(isinstance(edit, dict) for edit in edits):
        raise RefusedWrite("path", "MultiEdit has no edits.")
    text = _utf8(before or b"")
    for n, edit in enumerate(edits):
        text = _edited(text, edit, new=before is None and n == 0)
    return _bytes(text)


def _edited(text: str, edit: Given, *, new: bool) -> str:
    old, wanted = _said(edit, "old_string"), _said(edit, "new_string")
    if old == "":
        if new or not text:
            return wanted
        raise RefusedWrite("path", "old_string is empty and the file is not. Say which text to replace.")
    if old not in text and "\r\n" in text:  # tools show a file with LF and write back what it had
        return _edited(text.replace("\r\n", "\n"), edit, new=new).replace("\n", "\r\n")
    found = text.count(old)
    if found == 0:
        raise RefusedWrite("path", "old_string is not in the file as it is now. Read it again.")
    if found > 1 and not edit.get("replace_all"):
        raise RefusedWrite("path", f"old_string is {found} times in the file. Say more of it, or replace_all.")
    return text.replace(old, wanted)


def _notebook_edit(given: Given, before: bytes | None) -> bytes:
    notebook = _notebook(before or b"")
    cells, mode = notebook["cells"], given.get("edit_mode") or "replace"
    at = _cell_index(cells, given)
    if mode == "delete":
        del cells[at]
    elif mode == "insert":
        kind = given.get("cell_type") or "code"
        cells.insert(at, {"cell_type": kind, "metadata": {}, "source": _said(given, "new_source")})
    elif mode == "replace" and at < len(cells):
        cells[at] = {**cells[at], "source": _said(given, "new_source")}
    else:
        raise RefusedWrite("path", f"NotebookEdit can't {mode} cell {given.get('cell_id')!r}.")
    return _bytes(json.dumps(notebook, indent=1, ensure_ascii=False))


def _cell_index(cells: list[dict[str, Any]], given: Given) -> int:
    """Where the edit applies; an insertion comes after the named cell, or first."""
    wanted, inserts = given.get("cell_id"), given.get("edit_mode") == "insert"
    if wanted in (None, ""):
        number = given.get("cell_number")
        return number if isinstance(number, int) and 0 <= number < len(cells) + inserts else 0
    names = [cell.get("id") or f"cell-{n}" for n, cell in enumerate(cells)]
    if wanted not in names:
        raise RefusedWrite("path", f"the notebook has no cell {wanted!r}. Read it again.")
    return names.index(str(wanted)) + inserts


def _source_of_cell(wanted: bytes, proposed_content: bytes, given: Given) -> str:
    """A notebook tool writes one cell: a person's edit can change that one only."""
    edited, before = _notebook(wanted)["cells"], _notebook(proposed_content)["cells"]
    differ = [n for n, (one, other) in enumerate(zip(edited, before, strict=False)) if one != other]
    if len(edited) != len(before) or len(differ) > 1:
        raise RefusedWrite("person", "a person's edit of a notebook may change only the cell that was written.")
    if not differ:
        return _said(given, "new_source")
    return "".join(edited[differ[0]].get("source", ""))


def _notebook(data: bytes) -> dict[str, Any]:
    try:
        notebook = json.loads(data)
        if all(isinstance(cell, dict) for cell in notebook["cells"]):
            return dict(notebook)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise RefusedWrite("path", "the file is not a notebook (JSON with cells). Write it whole.")


def _said(given: Given, key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str):
        raise RefusedWrite("path", f"the tool's {key} is missing or no text.")
    return value


def _utf8(data: bytes) -> str:
    return data.decode("utf-8", errors="surrogateescape")


def _bytes(text: str) -> bytes:
    """Bytes that were no UTF-8 come back as they were; a lone surrogate of a tool's JSON is kept somehow."""
    try:
        return text.encode("utf-8", errors="surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", errors="surrogatepass")


TOOLS: dict[str, Callable[[Given, bytes | None], bytes]] = {
    "Write": _write,
    "Edit": _edit,
    "MultiEdit": _multi_edit,
    "NotebookEdit": _notebook_edit,
}
