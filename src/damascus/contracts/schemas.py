"""JSON Schemas: valid, every `$ref` in the repository, their samples conform. By jsonschema, of the extra `contracts`.

A schema is known by its file and by its `$id`; nothing else is looked up, so an address is never asked.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any
from urllib.parse import quote, urldefrag, urljoin

from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from jsonschema_specifications import REGISTRY
from referencing import Registry, Resource
from referencing.exceptions import NoSuchResource, Unresolvable
from referencing.jsonschema import DRAFT202012

TOLD = 5
SENTENCE = 300
VALUES = ("const", "enum", "default", "examples")
"""What lies below these is data."""


class Schemas:
    """All schemas of a commit that a look needs, read already, by their paths."""

    def __init__(self, files: Mapping[str, Any]) -> None:
        self._files = files
        known = [(_place(path), document) for path, document in files.items()]
        known += [(_address(path, document), document) for path, document in files.items()]
        found = [(address, Resource.from_contents(each, DRAFT202012)) for address, each in known if _is_schema(each)]
        self._registry: Registry[Any] = REGISTRY.with_resources(found)

    def problems(self, path: str) -> list[str]:
        document = self._files[path]
        if not _is_schema(document):
            return ["is no JSON Schema: it is neither an object nor true or false"]
        kind = validator_for(document, default=None) if _named(document) else Draft202012Validator
        if kind is None:
            return [f"names the $schema {document['$schema']!r}, which is not known"]
        errors = kind(kind.META_SCHEMA, registry=self._registry).iter_errors(document)
        wrong = [_where_and_why(error) for error in islice(errors, TOLD)]
        return wrong or list(islice(self._lost(document, _address(path, document)), TOLD))

    def _lost(self, value: Any, base: str) -> Iterator[str]:
        """Every `$ref` that leads to nothing."""
        if isinstance(value, list):
            for each in value:
                yield from self._lost(each, base)
        if not isinstance(value, dict):
            return
        base = urljoin(base, value["$id"]) if _has_id(value) else base
        resolver = self._registry.resolver(base)
        for key in ("$ref", "$dynamicRef"):
            if isinstance(value.get(key), str) and not _leads(resolver, value[key]):
                yield f"has the {key} {value[key]!r}, which leads to nothing in the repository; no address is asked"
        for key, each in value.items():
            if key not in VALUES:
                yield from self._lost(each, base)

    def wrong(self, path: str, value: Any) -> str:
        """Why a value does not conform to a schema; "" where it does."""
        document = self._files[path]
        kind: Any = validator_for(document, default=Draft202012Validator)
        validator: Validator = kind({"$ref": _address(path, document)}, registry=self._registry)
        try:
            return "; ".join(_where_and_why(error) for error in islice(validator.iter_errors(value), TOLD))
        except (RecursionError, MemoryError):
            raise
        except Exception as err:
            # A sample that can't be judged does not conform, whatever the library stumbled over.
            return f"it can't be judged: {type(err).__name__}: {str(err)[:SENTENCE]}"


def _place(path: str) -> str:
    """A file's address in the registry; that nobody opens it is the registry's promise, which looks nothing up."""
    return f"file:///{quote(path)}"


def _address(path: str, document: Any) -> str:
    """What its own relative references start from."""
    return urldefrag(urljoin(_place(path), document["$id"])).url if _has_id(document) else _place(path)


def _is_schema(document: Any) -> bool:
    return isinstance(document, dict | bool)


def _named(document: Any) -> bool:
    return isinstance(document, dict) and isinstance(document.get("$schema"), str)


def _has_id(document: Any) -> bool:
    return isinstance(document, dict) and isinstance(document.get("$id"), str)


def _leads(resolver: Any, ref: str) -> bool:
    try:
        resolver.lookup(ref)
    except (Unresolvable, NoSuchResource, ValueError, KeyError, TypeError):
        return False
    return True


def _where_and_why(error: Any) -> str:
    where = "/".join(str(part) for part in error.absolute_path)
    said = " ".join(str(error.message).split())[:SENTENCE]
    return f"at /{where}: {said}" if where else said
