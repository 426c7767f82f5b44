"""JavaScript and TypeScript that looks whether it is tested."""

import re
from collections.abc import Iterator

from damascus.stacks.node.functions import language
from damascus.stacks.reference import OUR_PLACE, Reference
from damascus.stacks.trees import Node, nodes, parse, text

VARIABLES = re.compile(
    r"^(?:JEST_\w+|VITEST\w*|NODE_TEST_CONTEXT|NODE_V8_COVERAGE|MOCHA_\w+|DAMASCUS_\w+|RUNNER_(?:REPORTS|ROOT|LINES))$|"
    + OUR_PLACE
)
MODULES = frozenset({"node:test", "vitest", "jest", "mocha", "chai", "@jest/globals", "ava", "tap", "sinon", "test"})
GLOBALS = frozenset({"jest", "vi", "vitest", "describe", "it", "test", "expect", "beforeEach", "afterEach", "suite"})
RUNNERS = re.compile(
    r"(?:^|[._-])test\.[cm]?[jt]sx?$|--test|jest|vitest|mocha|\.test\.|\.spec\.|__tests__|node:internal/test|[/\\]tests?[/\\]"
)
LOOKS = frozenset({"argv", "execArgv", "argv0", "stack", "prepareStackTrace", "mainModule", "_getActiveHandles"})
ASKING = ("binary_expression", "switch_statement", "lexical_declaration")
LITERALS = ("string", "template_string", "regex")


def references(source: bytes, path: str) -> list[Reference]:
    return _references(parse(source, language(path)))


def _references(root: Node) -> list[Reference]:
    every = list(nodes(root))
    looks = {text(node) for node in every if node.type in ("property_identifier", "identifier")} & LOOKS
    looks |= {said for node in every if (said := literal(node)) in LOOKS}
    return sorted({found for node in every for found in _of(node, looks)})


def _of(node: Node, looks: set[str]) -> Iterator[Reference]:
    line = node.start_point[0] + 1
    said = literal(node)
    if said is not None:
        if VARIABLES.match(said) or (looks and RUNNERS.search(said)):
            yield Reference(line, said[:40])
        if said in MODULES and _loads(node):
            yield Reference(line, f"import {said}")
        if said == "NODE_ENV" or (said == "test" and "NODE_ENV" in text(node.parent) if node.parent else False):
            yield from _mode(node, line)
    elif node.type in ("property_identifier", "identifier", "shorthand_property_identifier_pattern"):
        name = text(node)
        if VARIABLES.match(name) or (name == "vitest" and node.type == "property_identifier"):
            yield Reference(line, name)
    elif node.type == "unary_expression" and text(node).startswith("typeof") and text(node).split()[-1] in GLOBALS:
        yield Reference(line, text(node))
    elif node.type in ("member_expression", "subscript_expression") and _global(node):
        yield Reference(line, text(node)[:40])


def literal(node: Node) -> str | None:
    """A text, put together where it is a sum of texts; None for all else, and for a part of such a sum."""
    if node.type in LITERALS:
        return text(node).strip("'\"`/").replace("\\", "")
    if node.type == "binary_expression" and node.child_count == 3 and text(node.children[1]) == "+":
        left, right = literal(node.children[0]), literal(node.children[2])
        return left + right if left is not None and right is not None else None
    return None


def _mode(node: Node, line: int) -> Iterator[Reference]:
    """NODE_ENV is asked for all sorts of things; asked for `test` it is asked whether this is one."""
    around = node
    while around.parent is not None and around.type not in (
        "binary_expression",
        "switch_statement",
        "lexical_declaration",
    ):
        around = around.parent
    if re.search(r"""['"`]test['"`]""", text(around)):
        yield Reference(line, "NODE_ENV test")


def _loads(node: Node) -> bool:
    parent = node.parent
    if parent is None:
        return False
    return parent.type in ("import_statement", "export_statement") or (
        parent.type == "arguments" and text(parent.parent)[:7] in ("require", "import(") if parent.parent else False
    )


def _global(node: Node) -> bool:
    words = re.split(r"[.?\[\]'\"`]+", text(node))
    return len(words) >= 2 and words[0] in ("globalThis", "global", "window", "self") and words[1] in GLOBALS
