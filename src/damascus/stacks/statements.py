"""Statements of languages with braces, by their syntax tree."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from damascus.stacks.coverage import Statement
from damascus.stacks.trees import Node

BESIDE = ("attribute_item", "line_comment", "block_comment")


@dataclass(frozen=True)
class Placed:
    """A node, what it stands in, and the attributes right in front of it. A node's own `parent` is looked up from the
    root on, which is slow in a deep tree."""

    node: Node
    around: Node | None = None
    marks: tuple[Node, ...] = ()

    @property
    def type(self) -> str:
        return self.node.type


Asked = Callable[[Placed], bool]


def statements_in_tree(root: Node, is_one: Asked, left_out: Asked) -> list[Statement]:
    """Each as far as the first one inside of it that begins on a later line. Nothing below what is left out."""
    spans: list[list[int]] = []
    stack: list[tuple[Placed, int]] = [(Placed(root), -1)]
    while stack:
        placed, around = stack.pop()
        if left_out(placed):
            continue
        if is_one(placed):
            line = placed.node.start_point[0] + 1
            if around >= 0 and line > spans[around][0]:
                spans[around][1] = min(spans[around][1], line - 1)
            spans.append([line, placed.node.end_point[0] + 1])
            around = len(spans) - 1
        stack.extend((child, around) for child in reversed(list(_children(placed.node))))
    return [Statement(first, max(first, last)) for first, last in spans]


def _children(node: Node) -> Iterator[Placed]:
    marks: list[Node] = []
    for child in node.children:
        if child.type in BESIDE:
            marks.append(child)
            yield Placed(child, node)
        else:
            yield Placed(child, node, tuple(marks))
            marks = []
