"""Beads: an export (`bd export -o x.jsonl`) or `.beads/issues.jsonl`, one issue a line. The truth is in its database
(Dolt), so nothing is ever written here: whoever imported is told the `bd close`.

Messages, gates, molecules, events, templates and what is ephemeral are no work. An epic is its parts: they wait for
what it waits for, and who waits for it waits for all of them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from damascus.domain.errors import UsageError
from damascus.domain.strict_json import Unreadable, read_json
from damascus.tasks.importers.paths import paths_in
from damascus.tasks.importers.record import Box, Files, Imported, Ticked, line, prose, unique

NO_WORK = {"message", "gate", "molecule", "event", "agent", "role", "convoy", "slot"}
EPHEMERAL = ("is_template", "ephemeral", "wisp")
BLOCKING = {"blocks", "conditional-blocks", "waits-for"}
HOLDING = {"epic", "milestone"}
LEFT = {"deferred": "deferred in the source", "pinned": "pinned in the source", "tombstone": "deleted in the source"}
ITEM = re.compile(r"[ \t]{0,20}(?:[-*+]|\d{1,4}[.)])[ \t]+(?:\[.\][ \t]+)?(\S.*)")
FILES = ("files", "paths", "scope")
Row = Mapping[str, Any]


def read(files: Files) -> list[Imported]:
    return unique([one for name, raw in files.items() for one in _issues(name, _rows(raw, name))])


def ticked(raw: bytes, wanted: Sequence[Box]) -> Ticked:
    return Ticked(raw, tuple(f"run: bd close {box.id}" for box in wanted))


def _rows(raw: bytes, name: str) -> list[Row]:
    """Lines of JSON, a list, or either in the wrapping that `bd … --json` puts around."""
    try:
        if raw.lstrip()[:1] == b"[" or b"schema_version" in raw[:200]:
            told = read_json(raw)
            rows = told.get("data") if isinstance(told, dict) else told
            rows = rows.get("issues") if isinstance(rows, dict) else rows
        else:
            rows = [read_json(each) for each in raw.splitlines() if each.strip()]
    except Unreadable as err:
        raise UsageError(f"{name} {err}. Nothing was imported.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{name} is not UTF-8. Save it as UTF-8. Nothing was imported.") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and isinstance(row.get("id"), str) for row in rows):
        raise UsageError(f"{name} is no export of Beads: each line must be an issue with an id. Nothing was imported.")
    return rows


def _issues(name: str, rows: list[Row]) -> Iterator[Imported]:
    known = {str(row["id"]): row for row in rows if _is_work(row)}
    parts = _parts(known)
    held = {ident for ident, row in known.items() if parts.get(ident) and row.get("issue_type") in HOLDING}
    for ident, row in known.items():
        if ident not in held:
            yield _issue(name, row, _needs(ident, known, parts, held))


def _is_work(row: Row) -> bool:
    return row.get("issue_type") not in NO_WORK and not any(row.get(key) for key in EPHEMERAL)


def _edges(row: Row, kinds: set[str]) -> list[str]:
    told = row.get("dependencies")
    edges = [each for each in told if isinstance(each, dict)] if isinstance(told, list) else []
    return [str(each.get("depends_on_id", "")) for each in edges if each.get("type", "blocks") in kinds]


def _parts(known: Mapping[str, Row]) -> dict[str, list[str]]:
    """By their epic, or whatever else they are parts of."""
    parts: dict[str, list[str]] = {}
    for ident, row in known.items():
        for parent in _edges(row, {"parent-child"}):
            if parent in known and parent != ident:
                parts.setdefault(parent, []).append(ident)
    return parts


def _needs(ident: str, known: Mapping[str, Row], parts: Mapping[str, list[str]], held: set[str]) -> list[str]:
    """What blocks it and whatever it is a part of; an epic stands for all its parts."""
    wholes = _reached([ident], lambda each: _edges(known[each], {"parent-child"}) if each in known else [])
    blocking = [need for each in wholes if each in known for need in _edges(known[each], BLOCKING)]
    opened = _reached(blocking, lambda each: parts.get(each, []) if each in held else [])
    return [need for need in opened if need not in held and need != ident and need not in wholes]


def _reached(start: Sequence[str], further: Any) -> list[str]:
    """Everything that can be reached from there, each once; circles end."""
    found: dict[str, None] = dict.fromkeys(start)
    waiting = list(found)
    while waiting:
        for each in further(waiting.pop()):
            if each not in found:
                found[each] = None
                waiting.append(each)
    return list(found)


def _issue(name: str, row: Row, needs: list[str]) -> Imported:
    ident, title = line(row["id"], 80), line(row.get("title"), 200)
    if not ident or not title:
        raise UsageError(f"{name} has an issue without {'title' if ident else 'id'}. Add it. Nothing was imported.")
    texts = [prose(row.get(key)) for key in ("description", "design", "notes")]
    status = str(row.get("status", "open"))
    return Imported(
        file=name,
        key=ident,
        name=ident,
        title=title,
        body="\n\n".join(text for text in texts if text),
        criteria=tuple(_criteria(prose(row.get("acceptance_criteria")))),
        scope=_scope(row, texts),
        depends_on=tuple(f"{name}#{need}" for need in needs),
        done=status == "closed",
        skipped=LEFT.get(status, ""),
        boxes=(Box(ident, title),),
        priority=min(row["priority"], 3) if isinstance(row.get("priority"), int) and row["priority"] >= 0 else 2,
    )


def _criteria(text: str) -> list[str]:
    """A list's entries; text without a list is one promise by paragraph."""
    items = [line(found[1]) for each in text.split("\n") if (found := ITEM.fullmatch(each))]
    return items or [line(part) for part in text.split("\n\n") if line(part)]


def _scope(row: Row, texts: list[str]) -> tuple[str, ...]:
    told = row.get("metadata")
    lists = [told[key] for key in FILES if isinstance(told.get(key), list)] if isinstance(told, dict) else []
    named = [line(path, 300) for paths in lists for path in paths if isinstance(path, str) and path.strip()]
    return tuple(dict.fromkeys(named) or paths_in("\n".join(texts)[:20_000]))
