"""`$ref`: to a place in the same document or to another file of the repository, nowhere else.

An address is never asked and a file outside of the repository never opened: both are refused by what they say.
"""

import copy
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from damascus.domain.strict_json import Unreadable

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}:")
FILES = "x-damascus-files"
"""Where the other files of a description lie in the one that is made of all."""


def references(document: Any) -> Iterator[dict[str, Any]]:
    """Every object of a document that holds a `$ref`."""
    rest = [document]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                yield value
            rest += value.values()
        elif isinstance(value, list):
            rest += value


def target(ref: str, path: str) -> tuple[str, str]:
    """The file and the place in it that a `$ref` of `path` leads to."""
    try:
        parts = urlsplit(ref)
    except ValueError:
        raise Unreadable(f"has the $ref {ref!r}, which is none") from None
    if parts.scheme or parts.netloc:
        raise Unreadable(f"has the $ref {ref!r}: an address is never asked. Put the file into the repository")
    if not parts.path:
        return path, parts.fragment
    named = unquote(parts.path)
    found = posixpath.normpath(posixpath.join(posixpath.dirname(path), named))
    if named.startswith("/") or found.startswith("../") or found == ".." or "\\" in named or "\x00" in named:
        raise Unreadable(f"has the $ref {ref!r}, which leads out of the repository")
    return found, parts.fragment


def files_named(document: Any, path: str, *, addresses: bool = False) -> list[str]:
    """The other files that a document refers to. `addresses`: they may be names, and are passed over."""
    named = [holder["$ref"] for holder in references(document)]
    found = {target(ref, path)[0] for ref in named if not (addresses and SCHEME.match(ref))}
    return sorted(found - {path})


def bundled(files: Mapping[str, Any], root: str) -> Any:
    """One document of all: the root's own, the others inside it, every `$ref` leading to a place in it."""
    whole = copy.deepcopy(files[root])
    others = {path: copy.deepcopy(document) for path, document in files.items() if path != root}
    for path, document in {root: whole, **others}.items():
        for holder in references(document):
            holder["$ref"] = _place(holder["$ref"], path, root, files)
    if others and isinstance(whole, dict):
        whole[FILES] = others
    return whole


def _place(ref: str, path: str, root: str, files: Mapping[str, Any]) -> str:
    file, fragment = target(ref, path)
    if file not in files:
        raise Unreadable(f"has the $ref {ref!r}, and there is no file {file}")
    if file == root:
        return f"#{fragment}"
    if fragment and not fragment.startswith("/"):
        raise Unreadable(f"has the $ref {ref!r}: an anchor of another file is not followed. Name the place by a path")
    return f"#/{FILES}/{_escaped(file)}{fragment}"


def _escaped(text: str) -> str:
    return text.replace("~", "~0").replace("/", "~1").replace("%", "%25")


def found_at(document: Any, ref: str) -> Any:
    """What lies at `#/a/b` of a document; None where nothing does."""
    value = document
    for part in unquote(ref.removeprefix("#")).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value
