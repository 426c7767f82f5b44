"""Conditions of Go tests that name the value they expect: `if got := F(1); got != 2 { t.Fatal(got) }`."""

import re
from collections.abc import Iterator

from damascus.stacks.expectations import ExpectedValue, may_end_early, one_of_two, only_once
from damascus.stacks.trees import Node, nodes, parse, text

FAILS = re.compile(r"\w+\.(?:Fatalf?|Errorf?|Fail|FailNow)\(")
FUNCTIONS = ("function_declaration", "func_literal", "method_declaration")
LITERALS = ("int_literal", "float_literal", "interpreted_string_literal")


def places(source: str) -> Iterator[ExpectedValue]:
    found = [node for node in nodes(parse(source.encode(), "go")) if node.type == "function_declaration"]
    once = only_once(_name(node) for node in found)
    for node in found:
        body = node.child_by_field_name("body")
        if body is not None and _name(node) in once and not may_end_early(body, FUNCTIONS):
            for statement in _statements(body):
                yield from _expected(_name(node), statement)


def _name(node: Node) -> str:
    named = node.child_by_field_name("name")
    return text(named) if named is not None else ""


def _statements(body: Node) -> list[Node]:
    inner = [child for child in body.named_children if child.type == "statement_list"]
    return inner[0].named_children if inner else body.named_children


def _expected(test: str, statement: Node) -> Iterator[ExpectedValue]:
    """Each of several conditions, joined by `||`, is enough."""
    condition, then = statement.child_by_field_name("condition"), statement.child_by_field_name("consequence")
    if statement.type != "if_statement" or condition is None or then is None:
        return
    if any(FAILS.match(text(inner)) for inner in _statements(then)):
        yield from _differing(test, condition)


def _differing(test: str, condition: Node) -> Iterator[ExpectedValue]:
    sides = [condition.child_by_field_name("left"), condition.child_by_field_name("right")]
    sign = condition.child_by_field_name("operator")
    if sign is None or condition.type != "binary_expression":
        return
    known = [side for side in sides if side is not None]
    if text(sign) == "!=":
        yield from one_of_two(test, known, LITERALS)
    elif text(sign) == "||":
        for side in known:
            yield from _differing(test, side)
