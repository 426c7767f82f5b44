"""Taskmaster: `.taskmaster/tasks/tasks.json`. A task is one story, its subtasks are its steps; each tag is a list
of its own. Ticking changes the bytes of a status and no others: other tags stay as they are (task-master #1636).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from damascus.domain.errors import UsageError
from damascus.domain.strict_json import Unreadable, read_json
from damascus.tasks.importers.json_spans import JsonSpan, member, value_at
from damascus.tasks.importers.paths import paths_in
from damascus.tasks.importers.record import Box, Files, Imported, Ticked, line, prose, unique

DONE = ("done", "completed")
LEFT = {"cancelled": "cancelled in the source", "deferred": "deferred in the source"}
PRIORITIES = {"critical": 0, "high": 1, "medium": 2, "low": 3}
WRITTEN = ("create", "modify")
Rows = Sequence[Mapping[str, Any]]


def read(files: Files) -> list[Imported]:
    return unique(
        [one for name, raw in files.items() for tag, rows in _tags(raw, name) for one in _tag(name, tag, rows)]
    )


def _tags(raw: bytes, name: str) -> Iterator[tuple[str, Rows]]:
    """Each list of tasks with its tag; "" for the older shape, which has one list."""
    try:
        told = read_json(raw)
    except Unreadable as err:
        raise UsageError(f"{name} {err}. Nothing was imported.") from None
    if isinstance(told, dict) and isinstance(told.get("tasks"), list):
        told = {"": told}
    if not isinstance(told, dict) or not any(isinstance(_list(each), list) for each in told.values()):
        raise UsageError(f'{name} has no "tasks", so it is none of Taskmaster\'s. Nothing was imported.')
    for tag, each in told.items():
        rows = _list(each)
        if rows is not None:
            yield tag, [row for row in rows if isinstance(row, dict)]


def _list(told: Any) -> Any:
    return told.get("tasks") if isinstance(told, dict) and isinstance(told.get("tasks"), list) else None


def _tag(name: str, tag: str, rows: Rows) -> Iterator[Imported]:
    dropped = {_id(row) for row in rows if _status(row) == "cancelled"}
    for row in rows:
        yield _task(name, tag, row, dropped)


def _task(name: str, tag: str, row: Mapping[str, Any], dropped: set[str]) -> Imported:
    subtasks = [each for each in row.get("subtasks") or [] if isinstance(each, dict)]
    key, told, ident = _key(tag, _id(row)), line(row.get("title"), 200), _id(row)
    if not ident or not told:
        raise UsageError(f"{name} has a task without {'id' if told else 'title'}. Add it. Nothing was imported.")
    shown = "" if tag in ("", "master") else f"{tag}-"
    return Imported(
        file=name,
        key=key,
        name=f"tm-{shown}{ident}",
        title=told,
        body="\n\n".join(
            part for part in (prose(row.get("description")), prose(row.get("details")), _steps(subtasks)) if part
        ),
        criteria=tuple(line(each) for each in _texts(row.get("acceptanceCriteria"))),
        scope=_scope(row, subtasks),
        depends_on=tuple(
            f"{name}#{_key(tag, need)}" for need in _needs(row, subtasks) if need not in {*dropped, ident}
        ),
        done=_status(row) in DONE,
        skipped=LEFT.get(_status(row), ""),
        plan=line(row.get("testStrategy")),
        boxes=(Box(key, told), *(Box(f"{key}.{_sub(each)}", line(each.get("title"), 200)) for each in subtasks)),
        priority=PRIORITIES.get(str(row.get("priority", "")).lower(), 2),
    )


def _key(tag: str, ident: str) -> str:
    return f"{tag}/{ident}" if tag else ident


def _id(row: Mapping[str, Any]) -> str:
    return _word(row.get("id"))


def _sub(row: Mapping[str, Any]) -> str:
    """A subtask calls itself 2, or 15.2."""
    return _id(row).rpartition(".")[2]


def _word(told: Any) -> str:
    return line(told, 60) if isinstance(told, str | int) and not isinstance(told, bool) else ""


def _status(row: Mapping[str, Any]) -> str:
    return str(row.get("status", "")).strip().lower()


def _needs(row: Mapping[str, Any], subtasks: Rows) -> list[str]:
    """By whole tasks: 15.2 is a part of 15. A subtask's plain number is one of its siblings."""
    own = [_word(each).partition(".")[0] for each in row.get("dependencies") or []]
    theirs = [_word(each) for sub in subtasks for each in sub.get("dependencies") or []]
    return list(dict.fromkeys([*own, *(each.partition(".")[0] for each in theirs if "." in each)]))


def _steps(subtasks: Rows) -> str:
    return "\n".join(
        f"- {_sub(each)}. {line(each.get('title'), 200)}: {line(each.get('description'))}" for each in subtasks
    )


def _texts(told: Any) -> list[str]:
    return [each for each in told if isinstance(each, str) and each.strip()] if isinstance(told, list) else []


def _scope(row: Mapping[str, Any], subtasks: Rows) -> tuple[str, ...]:
    """The files that it says it writes; where it names none, the paths of its words."""
    named = [each for part in (row, *subtasks) for each in part.get("relevantFiles") or [] if isinstance(each, dict)]
    files = [line(each.get("path"), 300) for each in named if str(each.get("action", "modify")).lower() in WRITTEN]
    words = "\n".join(
        str(part.get(key) or "")[:20_000]
        for part in (row, *subtasks)
        for key in ("description", "details", "testStrategy")
    )
    return tuple(dict.fromkeys(path for path in files if path) or paths_in(words))


# ── ticked ────────────────────────────────────────────────────────────────────────────────────────────


def ticked(raw: bytes, wanted: Sequence[Box]) -> Ticked:
    left: list[str] = []
    for box in wanted:
        found = _status_of(raw, box)
        if found is None:
            left.append(f"{box.id} ({box.text}) is not there any more")
        elif found.value not in DONE:
            raw = raw[: found.start] + b'"done"' + raw[found.end :]
    return Ticked(raw, tuple(left))


def _status_of(raw: bytes, box: Box) -> JsonSpan | None:
    """Where the status of this task stands, if the task has still the title that was imported."""
    tag, _, ident = box.id.rpartition("/")
    first, _, second = ident.partition(".")
    whole = value_at(raw)
    held = member(raw, whole, tag) if tag else whole
    task = _with_id(raw, member(raw, held, "tasks"), first, _id)
    if second:
        task = _with_id(raw, member(raw, task, "subtasks"), second, _sub)
    if task is None or line(task.value.get("title"), 200) != box.text:
        return None
    return member(raw, task, "status")


def _with_id(
    raw: bytes, rows: JsonSpan | None, ident: str, name: Callable[[Mapping[str, Any]], str]
) -> JsonSpan | None:
    found = [n for n, each in enumerate(rows.value if rows else []) if isinstance(each, dict) and name(each) == ident]
    return member(raw, rows, found[0]) if len(found) == 1 else None
