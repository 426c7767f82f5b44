"""YAML and JSON as contracts use them, read strictly: one meaning, a bounded size, no tag, no key twice.

YAML is read by the rules of its version 1.2, which OpenAPI asks for: `no` is a word, `2026-01-01` a text. What two
parsers could read in two ways would be judged by one and served by the other.
"""

import re
from typing import Any

import yaml

from damascus.domain.strict_json import Unreadable, read_json

LARGEST = 4_000_000
MOST_VALUES = 400_000
DEEPEST = 100
TAG = "tag:yaml.org,2002:"
PLAIN = {
    "null": (re.compile(r"~|null|Null|NULL|"), ["~", "n", "N", ""]),
    "bool": (re.compile(r"true|True|TRUE|false|False|FALSE"), list("tTfF")),
    "int": (re.compile(r"[-+]?[0-9]{1,400}"), list("-+0123456789")),
    "float": (re.compile(r"[-+]?(\.[0-9]{1,400}|[0-9]{1,400}(\.[0-9]{0,400})?)([eE][-+]?[0-9]{1,9})?"),
              list("-+.0123456789")),
    "merge": (re.compile(r"<<"), ["<"]),
}  # fmt: skip


def read_document(path: str, data: bytes) -> Any:
    if len(data) > LARGEST:
        raise Unreadable(f"is larger than {LARGEST:,} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("is not UTF-8") from None
    return read_json(text, _no_number) if path.lower().endswith(".json") else _yaml(text)


def _no_number(word: str) -> Any:
    raise Unreadable(f"holds {word}, which is no JSON")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012


for _name, (_shape, _first) in PLAIN.items():
    _Loader.add_implicit_resolver(TAG + _name, re.compile(f"(?:{_shape.pattern})\\Z"), _first)


def _yaml(text: str) -> Any:
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
    except yaml.YAMLError as err:
        mark = getattr(err, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise Unreadable(f"is not valid YAML{where}: {getattr(err, 'problem', None) or 'it can not be read'}") from None
    except (RecursionError, ValueError):
        raise Unreadable("is not valid YAML") from None
    return None if node is None else _Values().of(node, 0)


class _Values:
    """The values of a YAML tree, each alias written out: a small file that means a huge one is refused on the way."""

    def __init__(self) -> None:
        self._left = MOST_VALUES

    def of(self, node: yaml.Node, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise Unreadable(f"holds more than {MOST_VALUES:,} values, its aliases written out")
        if depth > DEEPEST:
            raise Unreadable(f"is nested deeper than {DEEPEST} levels, or refers to itself by an alias")
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if node.tag not in (f"{TAG}seq", f"{TAG}map"):
            raise Unreadable(f"uses the tag {node.tag!r}, line {node.start_mark.line + 1}")
        if isinstance(node, yaml.SequenceNode):
            return [self.of(each, depth + 1) for each in node.value]
        return self._mapping(node, depth)

    def _mapping(self, node: yaml.Node, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise Unreadable(f"has a key that is no text, line {key.start_mark.line + 1}")
            if key.tag == f"{TAG}merge":
                merged = _merged(self.of(value, depth + 1)) | merged
                continue
            if key.value in found:
                raise Unreadable(f"has the key {key.value!r} twice, line {key.start_mark.line + 1}")
            found[str(key.value)] = self.of(value, depth + 1)
        return merged | found


def _merged(value: Any) -> dict[str, Any]:
    """What `<<` brings: of several mappings the first one that has a key wins."""
    found: dict[str, Any] = {}
    for each in value if isinstance(value, list) else [value]:
        if not isinstance(each, dict):
            raise Unreadable("merges something that is no mapping by `<<`")
        found = each | found
    return found


def _scalar(node: yaml.ScalarNode) -> Any:
    match node.tag.removeprefix(TAG):
        case "null":
            return None
        case "bool":
            return node.value.lower() == "true"
        case "int" if PLAIN["int"][0].fullmatch(node.value):
            return int(node.value)
        case "float" if PLAIN["float"][0].fullmatch(node.value):
            return float(node.value)
        case "str":
            return node.value
    raise Unreadable(f"uses the tag {node.tag!r}, line {node.start_mark.line + 1}")
