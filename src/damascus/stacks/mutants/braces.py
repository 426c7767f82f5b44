"""What functions in braces share (Go, JavaScript, TypeScript, Rust): an edit goes right behind the opening brace."""

import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from damascus.stacks.mutants.function import Edit, Function, Gives, Mutant, OutsidePart
from damascus.stacks.mutants.values import MutantAnswer, Values
from damascus.stacks.trees import Node, nodes, text

COMMENTS = ("comment", "line_comment", "block_comment")
LITERALS = 3
SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Shape:
    """How a language says it; the condition that it is given holds, or doesn't. A blow-up says a word."""

    blow_up: Callable[[str, str], str]
    answer: Callable[[str, str], str]
    throws: str


@dataclass(frozen=True)
class FoundFunction:
    """A function in a tree. `answers` are what may be returned instead: '' for a bare return."""

    name: str
    node: Node
    body: Node
    gives: Gives
    soft: bool
    answers: list[MutantAnswer]


def condition(holds: bool) -> str:
    """Other numbers each time, so that whoever wants to know a control from a mutant has to work it out."""
    number = 1000 + secrets.randbelow(9000)
    return f"{number} == {number if holds else number + 1}"


def make(path: str, found: FoundFunction, say: Shape, word: str) -> Function:
    node, at = found.node, found.body.start_byte + 1

    def behind(words: str) -> Edit:
        return Edit(at, at, f" {words}; ")

    return Function(
        path=path,
        name=found.name,
        line=node.start_point[0] + 1,
        last_line=node.end_point[0] + 1,
        first_line=node.start_point[0] + 1,
        gives=found.gives,
        soft=found.soft,
        body=tokens(node),
        mutants=(
            *(
                Mutant(f"return {one.text}".strip(), behind(say.answer(condition(True), one.text)), one.half)
                for one in found.answers
            ),
            Mutant(say.throws, behind(say.blow_up(condition(True), word))),
        ),
        control=behind(say.blow_up(condition(False), word)),
    )


def tokens(node: Node) -> str:
    """What it says, without comments and layout."""
    leaves = (one for one in nodes(node) if not one.children and one.type not in COMMENTS)
    inside = [SPACE.sub(" ", text(one)) for one in leaves if not _in_comment(one)]
    return " ".join(inside)


def _in_comment(node: Node) -> bool:
    return node.parent is not None and node.parent.type in COMMENTS


def own(node: Node, functions: tuple[str, ...]) -> Iterator[Node]:
    """All nodes of a body but those of functions inside."""
    stack = list(reversed(node.children))
    while stack:
        one = stack.pop()
        yield one
        if one.type not in functions:
            stack.extend(reversed(one.children))


def statements(body: Node) -> list[Node]:
    return [one for one in body.named_children if one.type not in COMMENTS]


def parts(
    root: Node,
    skipped: tuple[str, ...],
    functions: tuple[str, ...],
    others: dict[str, str],
    hides: Callable[[Node, bool], bool],
) -> list[OutsidePart]:
    """Statements outside of functions, each with mutants of its literals (`others`: node type → another value). `hides`
    is asked of each, and told whether it has a mutant."""
    found = []
    for node in root.named_children:
        if node.type in skipped or node.type in COMMENTS:
            continue
        inside = list(own(node, functions))
        literals = [one for one in inside if one.type in others][:LITERALS]
        if not literals and any(one.type in functions for one in (node, *inside)):
            continue
        edits = tuple(Edit(one.start_byte, one.end_byte, others[one.type]) for one in literals)
        name, line = SPACE.sub(" ", text(node))[:60], node.start_point[0] + 1
        found.append(OutsidePart(tokens(node), name, edits, line, hides(node, bool(edits))))
    return found


def signed(values: Values, small: bool = False) -> list[MutantAnswer]:
    """Of a number that may be below nothing: see values.Answer."""
    return [
        MutantAnswer(str(values.small if small else values.number)),
        MutantAnswer(str(-(values.small if small else values.below)), True),
        MutantAnswer("0", True),
    ]


def real(values: Values) -> list[MutantAnswer]:
    return [MutantAnswer(str(values.real)), MutantAnswer(f"-{values.real + 1}", True), MutantAnswer("0.0", True)]
