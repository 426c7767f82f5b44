"""Assertions of Rust tests that name the value they expect: `assert_eq!(f(1), 2)`."""

import re
from collections.abc import Iterator

from damascus.stacks.expectations import NUMBER, STRING, ExpectedValue, may_end_early, only_once
from damascus.stacks.trees import Node, nodes, parse, text

TEST = re.compile(r"#\[\s*(?:\w+\s*::\s*)*test\b")
FUNCTIONS = ("function_item", "closure_expression")


def places(source: str) -> Iterator[ExpectedValue]:
    found = [node for node in nodes(parse(source.encode(), "rust")) if node.type == "function_item" and _is_test(node)]
    once = only_once(_name(node) for node in found)
    for node in found:
        body = node.child_by_field_name("body")
        if body is not None and _name(node) in once and not may_end_early(body, FUNCTIONS):
            for statement in body.named_children:
                yield from _expected(_name(node), statement)


def _name(node: Node) -> str:
    named = node.child_by_field_name("name")
    return text(named) if named is not None else ""


def _is_test(node: Node) -> bool:
    marks, before = [], node.prev_named_sibling
    while before is not None and before.type in ("attribute_item", "line_comment"):
        marks.append(text(before))
        before = before.prev_named_sibling
    return any(TEST.match(mark) for mark in marks) and not any("should_panic" in mark for mark in marks)


def _expected(test: str, statement: Node) -> Iterator[ExpectedValue]:
    call = statement.named_children[0] if statement.type == "expression_statement" else statement
    word = call.child_by_field_name("macro") if call.type == "macro_invocation" else None
    if word is None or text(word) != "assert_eq":
        return
    given = call.named_children[-1]
    sides = _sides(given)
    said = [side for side in sides[:2] if NUMBER.fullmatch(side.says) or STRING.fullmatch(side.says)]
    if len(sides) >= 2 and len(said) == 1:
        yield ExpectedValue(test, said[0].start, said[0].end, said[0].says)


def _sides(tokens: Node) -> list[ExpectedValue]:
    """What stands between the commas of a macro's tokens."""
    found, first = [], tokens.start_byte + 1
    data = tokens.text or b""
    for child in tokens.children[1:]:
        if child.type == "," or child.end_byte == tokens.end_byte:
            says = data[first - tokens.start_byte : child.start_byte - tokens.start_byte]
            start = first + len(says) - len(says.lstrip())
            found.append(ExpectedValue("", start, start + len(says.strip()), says.strip().decode("utf-8", "replace")))
            first = child.end_byte
    return found
