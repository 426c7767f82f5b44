"""The readers of this folder for another process: JSON in, JSON out. Nothing here keeps anything."""

import base64
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from damascus.contracts.breaking import compared, operations
from damascus.contracts.compared_schemas import ComparedSchemas, Direction
from damascus.contracts.documents import read_document
from damascus.contracts.openapi import problems
from damascus.contracts.references import bundled, files_named
from damascus.contracts.schemas import Schemas
from damascus.domain.strict_json import Unreadable

Packed = Mapping[str, str]


def contract_files(path: str, source: str) -> dict[str, Any]:
    """The other files that a document refers to, or why it can't be read."""
    try:
        return {"files": files_named(read_document(path, base64.b64decode(source)), path)}
    except Unreadable as err:
        return {"problem": str(err)}


def look_at_description(path: str, files: Packed, old_files: Packed | None) -> dict[str, Any]:
    """`old_files`: as they are on the base; None where it has no such description."""
    try:
        document = _whole(path, files)
    except Unreadable as err:
        return {"problems": [str(err)]}
    wrong = problems(document)
    if wrong:
        return {"problems": wrong}
    found: dict[str, Any] = {"problems": [], "operations": operations(document), "document": document}
    if old_files is not None:
        found |= _against(path, document, old_files)
    return found


def operations_of(path: str, files: Packed) -> dict[str, Any]:
    """All that a description offers: what is lost when it is deleted."""
    try:
        return {"operations": operations(_whole(path, files))}
    except Unreadable:
        return {"operations": []}


def _against(path: str, document: Any, old_files: Packed) -> dict[str, Any]:
    try:
        old = _whole(path, old_files)
    except Unreadable as err:
        return {"old_problem": str(err)}
    if not isinstance(old, dict) or problems(old):
        return {"old_problem": "is not valid"}
    against = compared(old, document)
    changes = [asdict(change) for change in against.changes]
    return {"old": old, "changes": changes, "unjudged": list(dict.fromkeys(against.unjudged))}


def _whole(path: str, files: Packed) -> Any:
    read = {name: read_document(name, base64.b64decode(data)) for name, data in files.items()}
    return bundled(read, path)


def schema_files(path: str, source: str) -> dict[str, Any]:
    """As contract_files; an address may be another schema's `$id`, so it is none of the files."""
    try:
        document = read_document(path, base64.b64decode(source))
        return {"files": files_named(document, path, addresses=True)}
    except Unreadable as err:
        return {"problem": str(err)}


def look_at_schema(path: str, now: dict[str, Packed], before: dict[str, Packed] | None) -> dict[str, Any]:
    """`now` and `before` have `files`, `samples` and `bad` each; `before` None: the base has no such schema."""
    try:
        schemas = _schemas(now["files"])
        wrong = schemas.problems(path)
    except Unreadable as err:
        return {"problems": [str(err)]}
    if wrong:
        return {"problems": wrong}
    found: dict[str, Any] = {
        "problems": [],
        "wrong": {name: said for name, data in now["samples"].items() if (said := _wrong(schemas, path, name, data))},
        "taken": [name for name, data in now["bad"].items() if not _wrong(schemas, path, name, data)],
    }
    return found | (_against_schema(path, schemas, now, before) if before is not None else {})


def _against_schema(path: str, schemas: Schemas, now: dict[str, Packed], before: dict[str, Packed]) -> dict[str, Any]:
    """What main's samples say of the new schema, and what main's schema took that this one does not."""
    try:
        old = _schemas(before["files"])
        if old.problems(path):
            return {"old_problem": "is not valid"}
    except Unreadable as err:
        return {"old_problem": str(err)}
    lost = {
        name: said
        for name, data in before["samples"].items()
        if not _wrong(old, path, name, data) and (said := _wrong(schemas, path, name, data))
    }
    changes, unjudged = _narrowed(path, now["files"], before["files"])
    return {"lost": lost, "changes": changes, "unjudged": unjudged}


def _narrowed(path: str, now: Packed, before: Packed) -> tuple[list[str], list[str]]:
    try:
        was, is_now = _whole(path, _referred(path, before)), _whole(path, _referred(path, now))
    except Unreadable as err:
        return [], [f"it {err}"]
    both = ComparedSchemas(was if isinstance(was, dict) else {}, is_now if isinstance(is_now, dict) else {})
    changes = list(dict.fromkeys(both.compare(was, is_now, Direction.REQUEST, "it")))
    return changes, list(dict.fromkeys(both.unjudged))


def _referred(path: str, files: Packed) -> Packed:
    """Of all files those that the document refers to: the others may be anything."""
    found, rest = {path: files[path]}, [path]
    while rest:
        here = rest.pop()
        for name in files_named(read_document(here, base64.b64decode(files[here])), here):
            if name in files and name not in found:
                found[name] = files[name]
                rest.append(name)
    return found


def _schemas(files: Packed) -> Schemas:
    return Schemas({name: read_document(name, base64.b64decode(data)) for name, data in files.items()})


def _wrong(schemas: Schemas, path: str, name: str, data: str) -> str:
    try:
        return schemas.wrong(path, read_document(name, base64.b64decode(data)))
    except Unreadable as err:
        return str(err)
