"""Lines of JavaScript and TypeScript: V8's own count where code is run as it is written, else the runner's LCOV.

V8 counts ranges of characters, the inner ones more exactly than the outer. node --test, mocha and plain scripts tell
them by NODE_V8_COVERAGE; jest and vitest transform what they run, so runner/preload.cjs asks them for a report.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from damascus.stacks.coverage import LineCoverage, Ran, Read, Statement
from damascus.stacks.lcov import below_root, lines_in_lcov
from damascus.stacks.left_files import entries, plain_file, texts_in
from damascus.stacks.node.functions import language
from damascus.stacks.node.mapped import mapped_lines
from damascus.stacks.node.ranges import named_functions, ran_lines, ranges_of
from damascus.stacks.runners.record import LINES
from damascus.stacks.statements import Placed, statements_in_tree
from damascus.stacks.trees import parse

KINDS = frozenset(
    {"expression_statement", "return_statement", "if_statement", "for_statement", "for_in_statement"}
    | {"while_statement", "do_statement", "switch_statement", "throw_statement"}
)
DECLARATIONS = ("lexical_declaration", "variable_declaration")
LEFT_OUT = frozenset(
    {"import_statement", "type_alias_declaration", "interface_declaration", "ambient_declaration", "comment"}
)
REPORT = "lcov.info"
REPORT_LIMIT = 20_000_000


def statements(source: bytes, path: str) -> list[Statement]:
    return statements_in_tree(parse(source, language(path)), _is_one, lambda node: node.type in LEFT_OUT)


def _is_one(placed: Placed) -> bool:
    node, around = placed.node, placed.around
    if node.type in DECLARATIONS:
        return any(one.child_by_field_name("value") is not None for one in node.named_children)
    if node.type == "expression_statement":
        return [one.type for one in node.named_children] != ["string"]  # "use strict"
    if around is not None and around.type == "arrow_function" and node.type != "statement_block":
        return node == around.child_by_field_name("body")
    return node.type in KINDS


@dataclass
class NodeProbe:
    """ports.Probe."""

    root: str = ""
    told: list[dict[str, Any]] = field(default_factory=list)
    reports: list[tuple[str, str]] = field(default_factory=list)
    why: str = ""

    def begin(self, folder: Path, root: str, env: Mapping[str, str]) -> Mapping[str, str]:
        self.root = root
        (folder / "v8").mkdir()
        return {"NODE_V8_COVERAGE": str(folder / "v8"), LINES: str(folder.parent)}

    def end(self, folder: Path) -> None:
        self.told = [found for text in texts_in(folder / "v8", ".json") if (found := _parsed(text))]
        self.reports = list(_reports(folder))
        self.why = next(iter(texts_in(folder, ".why")), "")[:300]

    def ran(self, read: Read) -> Ran:
        found: dict[str, dict[int, set[str]]] = {}
        for path, lines in (*self._by_v8(read), *self._by_reports(read)):
            found.setdefault(path, {}).update((line, {""}) for line in lines)
        return found

    @property
    def blind(self) -> bool:
        return False

    @property
    def why_not(self) -> str:
        return self.why or ("" if self.told or self.reports else "no node that the command starts told what it ran")

    def _by_reports(self, read: Read) -> Iterator[tuple[str, set[int]]]:
        below = below_root(self.root)
        for folder, text in self.reports:
            for path, counted in lines_in_lcov(text, lambda name, at=folder: below(os.path.join(at, name))).items():  # type: ignore[misc]
                source = (read(path) or b"").decode("utf-8", errors="replace").split("\n")
                yield path, counted.ran - named_functions(source, counted.uncalled)

    def _by_v8(self, read: Read) -> Iterator[tuple[str, set[int]]]:
        below, sources = below_root(self.root), dict[str, str | None]()
        for told in self.told:
            maps = told.get("source-map-cache")
            for url, ranges in ranges_of(told):
                path = below(_file(url))
                if path is None or "node_modules" in path:
                    continue
                known = maps.get(url) if isinstance(maps, dict) else None
                if isinstance(known, dict) and isinstance(known.get("data"), dict):
                    yield from mapped_lines(known, ranges, lambda name, at=url: below(_source(at, name)))  # type: ignore[misc]
                    continue
                if path not in sources:
                    source = read(path)
                    sources[path] = source.decode("utf-8", errors="replace") if source is not None else None
                text = sources[path]
                if text is not None:
                    yield path, ran_lines(text.removeprefix("\ufeff"), ranges)


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _reports(folder: Path) -> Iterator[tuple[str, str]]:
    """The folder that a runner was started in, and what it wrote."""
    for entry in entries(folder):
        if entry.endswith(".cwd"):
            started = plain_file(folder / entry, 4096).decode("utf-8", errors="replace")
            place = folder / entry.removesuffix(".cwd")
            if place.is_dir() and not place.is_symlink() and (place / REPORT).is_file():
                yield started, plain_file(place / REPORT, REPORT_LIMIT).decode("utf-8", errors="replace")


def _file(url: str) -> str:
    return unquote(urlsplit(url).path) if url.startswith("file://") else url


def _source(url: str, name: str) -> str:
    return _file(name) if name.startswith("file://") else os.path.join(os.path.dirname(_file(url)), name)


COVERAGE = LineCoverage(statements, NodeProbe)
