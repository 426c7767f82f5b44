"""Syntax trees of languages that Python can't parse."""

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module

from tree_sitter import Language, Node, Parser

__all__ = ["Node", "nodes", "parse", "text"]


GRAMMARS = {
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "js": ("tree_sitter_javascript", "language"),
    "ts": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
}
"""Each is loaded when a source of its language is read: a project has one or two of them."""


@cache
def _language(name: str) -> Language:
    module, function = GRAMMARS[name]
    grammar: Callable[[], object] = getattr(import_module(module), function)
    return Language(grammar())


def parse(source: bytes, language: str) -> Node:
    return Parser(_language(language)).parse(source).root_node


def nodes(root: Node) -> Iterator[Node]:
    """All of them, in the order of the text, without recursion: a hostile source may be nested deeply."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", errors="replace")
