"""What a client of the old OpenAPI description can't do any more with the new one: the common ways, by ours.

What is compared here, and what is not: docs/contracts.md.
Both descriptions are one document each (references.bundled).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from damascus.contracts.compared_schemas import ComparedSchemas, Direction
from damascus.contracts.references import found_at

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
VARIABLE = re.compile(r"\{[^{}/]{1,200}\}")
FOLLOWED = 30
Document = Mapping[str, Any]


@dataclass(frozen=True)
class BreakingChange:
    """One thing that breaks a client. `names` are the words by which a spec or a config can mean it."""

    operation: str
    text: str
    names: tuple[str, ...] = ()


@dataclass
class ComparedDescriptions:
    changes: list[BreakingChange] = field(default_factory=list)
    unjudged: list[str] = field(default_factory=list)
    """What differs and is not judged, by name."""


def compared(old: Document, new: Document) -> ComparedDescriptions:
    found = ComparedDescriptions()
    if old.get("basePath", "/") != new.get("basePath", "/"):
        found.changes.append(BreakingChange("", f"basePath was {old.get('basePath')!r} and is {new.get('basePath')!r}"))
    there = {_template(path): (path, item) for path, item in _mapping(new.get("paths")).items()}
    for path, item in _mapping(old.get("paths")).items():
        was = Operations(old, path, item)
        now = Operations(new, *there[_template(path)]) if _template(path) in there else None
        for method in was.methods():
            _compare(was, now, method, found)
    return found


def operations(document: Document) -> list[str]:
    """`GET /users` of every operation that a description has."""
    items = _mapping(document.get("paths")).items()
    return [f"{method.upper()} {path}" for path, item in items for method in Operations(document, path, item).methods()]


def _template(path: str) -> str:
    """The same whatever its variables are called."""
    return VARIABLE.sub("{}", path)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def followed(document: Document, value: Any) -> Any:
    """What a chain of `$ref` leads to."""
    for _ in range(FOLLOWED):
        if not (isinstance(value, dict) and isinstance(value.get("$ref"), str)):
            return value
        value = found_at(document, value["$ref"])
    return None


class Operations:
    """One path of one description."""

    def __init__(self, document: Document, path: str, item: Any) -> None:
        self.document, self.path = document, path
        self.item = _mapping(followed(document, item))

    def methods(self) -> list[str]:
        return [method for method in METHODS if isinstance(self.item.get(method), dict)]

    def names(self, method: str) -> tuple[str, ...]:
        ident = self.item[method].get("operationId")
        return (f"{method.upper()} {self.path}", self.path, *([ident] if isinstance(ident, str) else []))

    def parameters(self, method: str) -> dict[tuple[str, str], dict[str, Any]]:
        """By place and name; a path's variables by their position, since a client never writes their names."""
        found: dict[tuple[str, str], dict[str, Any]] = {}
        variables = [name.strip("{}") for name in VARIABLE.findall(self.path)]
        for each in (*_list(self.item.get("parameters")), *_list(self.item[method].get("parameters"))):
            one = _mapping(followed(self.document, each))
            place, name = str(one.get("in")), str(one.get("name"))
            if place == "path" and name in variables:
                name = str(variables.index(name) + 1)
            found[place, name.lower() if place == "header" else name] = one
        return found

    def body(self, method: str) -> tuple[bool, dict[str, Any]] | None:
        """Is a body required, and its schema by media type? None: there is none."""
        for (place, _), one in self.parameters(method).items():
            if place == "body":
                return one.get("required") is True, {"*/*": one.get("schema", {})}
        body = followed(self.document, self.item[method].get("requestBody"))
        if not isinstance(body, dict):
            return None
        return body.get("required") is True, self._content(body)

    def responses(self, method: str) -> dict[str, dict[str, Any]]:
        given = _mapping(self.item[method].get("responses"))
        return {str(status): _mapping(followed(self.document, each)) for status, each in given.items()}

    def answers(self, response: dict[str, Any]) -> dict[str, Any]:
        """The schemas of a response by media type."""
        if "schema" in response:
            return {"*/*": response["schema"]}
        return self._content(response)

    def _content(self, holder: dict[str, Any]) -> dict[str, Any]:
        found = _mapping(holder.get("content")).items()
        return {name.partition(";")[0].strip().lower(): _mapping(each).get("schema", {}) for name, each in found}

    def open_to_all(self, method: str) -> bool:
        """May it be called without any credential?"""
        needs = self.item[method].get("security", self.document.get("security"))
        return not needs or any(each == {} for each in _list(needs))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _compare(was: Operations, now: Operations | None, method: str, found: ComparedDescriptions) -> None:
    operation, names = f"{method.upper()} {was.path}", was.names(method)
    if now is None or method not in now.methods():
        what = "the path was removed" if now is None else "the operation was removed"
        found.changes.append(BreakingChange(operation, what, names))
        return
    schemas = ComparedSchemas(was.document, now.document)
    for text in (
        *_parameters(was, now, method, schemas),
        *_body(was, now, method, schemas),
        *_responses(was, now, method, schemas),
    ):
        found.changes.append(BreakingChange(operation, text, names))
    if was.open_to_all(method) and not now.open_to_all(method):
        found.changes.append(BreakingChange(operation, "it needs a credential now", names))
    found.unjudged += [f"{operation}: {text}" for text in schemas.unjudged]


def _parameters(was: Operations, now: Operations, method: str, schemas: ComparedSchemas) -> Iterator[str]:
    old, new = was.parameters(method), now.parameters(method)
    for (place, name), one in old.items():
        if place == "body":
            continue
        told = f"{place} parameter {name!r}"
        other = new.get((place, name))
        if other is None:
            yield f"{told} was removed"
            continue
        if other.get("required") is True and one.get("required") is not True:
            yield f"{told} is required now"
        yield from schemas.compare(_schema(one), _schema(other), Direction.REQUEST, told)
    for (place, name), one in new.items():
        if (place, name) not in old and one.get("required") is True and place not in ("body", "path"):
            yield f"{place} parameter {name!r} is new and required"


def _schema(parameter: dict[str, Any]) -> Any:
    """OpenAPI 2 writes the type beside the name."""
    if "schema" in parameter:
        return parameter["schema"]
    for each in _mapping(parameter.get("content")).values():
        return _mapping(each).get("schema", {})
    return {key: value for key, value in parameter.items() if key not in ("required", "description", "in", "name")}


def _body(was: Operations, now: Operations, method: str, schemas: ComparedSchemas) -> Iterator[str]:
    old, new = was.body(method), now.body(method)
    if new is None:
        if old is not None:
            yield "the request body was removed"
        return
    if new[0] and (old is None or not old[0]):
        yield "the request body is required now"
    for media, schema in (old[1] if old else {}).items():
        if media not in new[1]:
            yield f"the request body's {media} was removed"
        else:
            yield from schemas.compare(schema, new[1][media], Direction.REQUEST, "request")


def _responses(was: Operations, now: Operations, method: str, schemas: ComparedSchemas) -> Iterator[str]:
    new = now.responses(method)
    for status, response in was.responses(method).items():
        other = next((new[each] for each in (status, f"{status[:1]}XX", "default") if each in new), None)
        if other is None:
            yield f"response {status} was removed"
            continue
        old_answers, new_answers = was.answers(response), now.answers(other)
        for media, schema in old_answers.items():
            if media not in new_answers:
                yield f"response {status}: {media} was removed"
            else:
                yield from schemas.compare(schema, new_answers[media], Direction.RESPONSE, f"response {status}")
        kept = {name.lower() for name in _mapping(other.get("headers"))}
        for name in _mapping(response.get("headers")):
            if name.lower() not in kept:
                yield f"response {status}: the header {name} was removed"
