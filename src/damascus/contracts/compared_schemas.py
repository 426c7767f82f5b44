"""Two schemas of one place: does the new one still take what the old one took, and give no more than it gave?

A request may only be widened, a response only be narrowed. Keywords that differ and are not judged are named.
"""

import json
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from damascus.contracts.references import found_at

EVERY = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
AT_MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
AT_LEAST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
LENGTHS = ("minLength", "minItems", "minProperties")
WIDER_FORMATS = {("int32", "int64"), ("float", "double")}
NOT_JUDGED = (
    "not", "if", "then", "else", "patternProperties", "propertyNames", "contains", "prefixItems", "dependentRequired",
    "dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "multipleOf", "uniqueItems",
)  # fmt: skip
DEEPEST = 60
Schema = dict[str, Any]


class Direction(Enum):
    REQUEST = "request"
    RESPONSE = "response"


class ComparedSchemas:
    """Of one operation: each pair of named schemas is looked at once in each direction."""

    def __init__(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        self._old, self._new = old, new
        self._seen: set[tuple[Direction, str, str]] = set()
        self.unjudged: list[str] = []

    def compare(self, old: Any, new: Any, direction: Direction, where: str, depth: int = 0) -> Iterator[str]:
        if old == new and "$ref" not in json.dumps(old):
            return
        pair = (direction, _name(old), _name(new))
        if pair in self._seen or depth > DEEPEST:
            return
        if all(pair[1:]):
            self._seen.add(pair)
        was, now = _flat(self._old, old), _flat(self._new, new)
        yield from _types(was, now, direction, where)
        if direction is Direction.REQUEST:
            yield from _bounds(was, now, where)
            yield from _words(was, now, where)
        yield from self._properties(was, now, direction, where, depth)
        for key in ("items", "additionalProperties"):
            if isinstance(was.get(key), dict) and isinstance(now.get(key), dict):
                inside = f"{where}, {'each item' if key == 'items' else 'any other property'}"
                yield from self.compare(was[key], now[key], direction, inside, depth + 1)
        for key in ("oneOf", "anyOf"):
            yield from self._alternatives(was, now, key, (direction, where, depth))
        self.unjudged += [f"{where}: `{key}` differs" for key in NOT_JUDGED if was.get(key) != now.get(key)]

    def _properties(self, was: Schema, now: Schema, direction: Direction, where: str, depth: int) -> Iterator[str]:
        request = direction is Direction.REQUEST
        unseen = "readOnly" if request else "writeOnly"
        old, new = _known(self._old, was, unseen), _known(self._new, now, unseen)
        needed, needs = _required(was), _required(now)
        for name, schema in old.items():
            if name not in new:
                yield f"{where}: property {name!r} was removed"
            else:
                yield from self.compare(schema, new[name], direction, f"{where}: property {name!r}", depth + 1)
                if not request and name in needed and name not in needs:
                    yield f"{where}: property {name!r} may be missing now"
        if request:
            for name in sorted(needs - needed):
                if name in new or name not in _mapping(now.get("properties")):
                    told = "is required now" if name in old else "is new and required"
                    yield f"{where}: property {name!r} {told}"
            if now.get("additionalProperties") is False and was.get("additionalProperties", True) is not False:
                yield f"{where}: other properties are refused now"

    def _alternatives(
        self, was: Schema, now: Schema, key: str, at: tuple[Direction, str, int]
    ) -> Iterator[str]:  # fmt: skip
        direction, where, depth = at
        old, new = _list(was.get(key)), _list(now.get(key))
        if not old and not new:
            return
        if not old or not new:
            self.unjudged.append(f"{where}: `{key}` is {'new' if new else 'gone'}")
            return
        request = direction is Direction.REQUEST
        (mine, others) = (old, new) if request else (new, old)
        gone = [n for n, each in enumerate(mine) if _name(each) not in {_name(one) for one in others}]
        for number in gone:
            told = _name(mine[number])[-80:]
            yield f"{where}: `{key}` {'no longer takes' if request else 'now also gives'} {told}"
        for each in old:
            same = next((one for one in new if _name(one) == _name(each)), None)
            if same is not None:
                yield from self.compare(each, same, direction, where, depth + 1)


def _name(schema: Any) -> str:
    """What a schema is known by: its `$ref`, else all of it."""
    if isinstance(schema, dict) and isinstance(schema.get("$ref"), str):
        return str(schema["$ref"])
    return json.dumps(schema, sort_keys=True)


def _flat(document: Mapping[str, Any], schema: Any, depth: int = 0) -> Schema:
    """With `$ref` followed and `allOf` put together."""
    if not isinstance(schema, dict) or depth > DEEPEST:
        return {}
    found = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
    parts = [found_at(document, schema["$ref"])] if isinstance(schema.get("$ref"), str) else []
    for part in (*parts, *_list(schema.get("allOf"))):
        other = _flat(document, part, depth + 1)
        properties = _mapping(other.get("properties")) | _mapping(found.get("properties"))
        required = [*_list(other.get("required")), *_list(found.get("required"))]
        found = other | found
        found |= ({"properties": properties} if properties else {}) | ({"required": required} if required else {})
    return found


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _required(schema: Schema) -> set[str]:
    return {name for name in _list(schema.get("required")) if isinstance(name, str)}


def _known(document: Mapping[str, Any], schema: Schema, unseen: str) -> dict[str, Any]:
    """The properties that this direction has: a request has none that is readOnly."""
    found = _mapping(schema.get("properties")).items()
    return {name: each for name, each in found if _flat(document, each).get(unseen) is not True}


def _types_of(schema: Schema) -> frozenset[str]:
    told = schema.get("type")
    if told is None:
        told = "object" if "properties" in schema else "array" if "items" in schema else None
        if told is None:
            return EVERY
    found = {each for each in (told if isinstance(told, list) else [told]) if isinstance(each, str)}
    found |= {"null"} if schema.get("nullable") is True else set()
    return frozenset(found | ({"integer"} if "number" in found else set()))


def _types(was: Schema, now: Schema, direction: Direction, where: str) -> Iterator[str]:
    old, new = _types_of(was), _types_of(now)
    lost = old - new if direction is Direction.REQUEST else new - old
    if lost:
        told = "takes" if direction is Direction.REQUEST else "gives"
        yield f"{where}: {told} {_types_named(new)} now, it was {_types_named(old)}"


def _types_named(types: frozenset[str]) -> str:
    shown = types - {"integer"} if "number" in types else types
    return "anything" if types == EVERY else " or ".join(sorted(shown))


def _bounds(was: Schema, now: Schema, where: str) -> Iterator[str]:
    for key in (*AT_MOST, *AT_LEAST):
        old, new = was.get(key), now.get(key)
        if not _number(new):
            continue
        if _tighter(key, old, new):
            yield f"{where}: `{key}` is {new} now{f', it was {old}' if _number(old) else ''}"


def _tighter(key: str, old: Any, new: Any) -> bool:
    """A bound that is new is one, unless it is a length of at least 0."""
    if not _number(old):
        return key not in LENGTHS or new > 0
    return bool(new < old if key in AT_MOST else new > old)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _words(was: Schema, now: Schema, where: str) -> Iterator[str]:
    """Values that are taken by list, pattern or format."""
    old, new = _values(was), _values(now)
    if new is not None:
        gone = sorted(old - new) if old is not None else []
        if old is None:
            yield f"{where}: takes only {', '.join(sorted(new)[:10])} now"
        elif gone:
            yield f"{where}: no longer takes {', '.join(gone[:10])}"
    if now.get("pattern") not in (None, was.get("pattern")):
        yield f"{where}: the pattern is {now['pattern']!r} now"
    pair = (was.get("format"), now.get("format"))
    if pair[1] not in (None, pair[0]) and pair not in WIDER_FORMATS:
        yield f"{where}: the format is {pair[1]!r} now"


def _values(schema: Schema) -> set[str] | None:
    if "const" in schema:
        return {json.dumps(schema["const"], sort_keys=True)}
    if not isinstance(schema.get("enum"), list):
        return None
    return {json.dumps(each, sort_keys=True) for each in schema["enum"]}
