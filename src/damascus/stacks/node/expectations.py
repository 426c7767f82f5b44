"""Assertions of JavaScript tests that name the value they expect: `assert.equal(f(1), 2)`, `expect(f(1)).toBe(2)`."""

import re
from collections.abc import Iterator

from damascus.stacks.expectations import ExpectedValue, may_end_early, one_of_two, only_once
from damascus.stacks.trees import Node, nodes, parse, text

TEST = re.compile(r"(?:it|test)(?:\.only)?")
EQUAL = re.compile(r"(?:[\w$]+\.)*(?:strictEqual|equal|deepEqual|deepStrictEqual)")
EXPECT = re.compile(r"toBe|toEqual|toStrictEqual")
CALLBACKS = ("arrow_function", "function_expression", "function")
FUNCTIONS = (*CALLBACKS, "function_declaration", "method_definition", "generator_function")
LITERALS = ("number", "string")


def places(source: str) -> Iterator[ExpectedValue]:
    found = list(_tests(parse(source.encode(), "tsx")))
    once = only_once(name for name, _ in found)
    for name, body in found:
        if name in once and not may_end_early(body, FUNCTIONS):
            for statement in body.named_children:
                yield from _expected(name, statement)


def _tests(root: Node) -> Iterator[tuple[str, Node]]:
    for node in nodes(root):
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if node.type != "call_expression" or called is None or given is None or not TEST.fullmatch(text(called)):
            continue
        name, last = given.named_children[:1], given.named_children[-1:]
        body = last[0].child_by_field_name("body") if last and last[0].type in CALLBACKS else None
        if body is not None and body.type == "statement_block" and name[0].type == "string":
            yield text(name[0])[1:-1], body


def _expected(test: str, statement: Node) -> Iterator[ExpectedValue]:
    call = statement.named_children[0] if statement.type == "expression_statement" else None
    called = call.child_by_field_name("function") if call is not None else None
    given = call.child_by_field_name("arguments") if call is not None else None
    if called is None or given is None:
        return
    if EQUAL.fullmatch(text(called)):
        yield from one_of_two(test, given.named_children[:2], LITERALS)
    owner, word = called.child_by_field_name("object"), called.child_by_field_name("property")
    asks = owner is not None and owner.type == "call_expression" and text(owner).startswith("expect(")
    if asks and owner is not None and word is not None and EXPECT.fullmatch(text(word)):
        asked = owner.child_by_field_name("arguments")
        sides = [*(asked.named_children[:1] if asked is not None else []), *given.named_children[:1]]
        yield from one_of_two(test, sides, LITERALS)
