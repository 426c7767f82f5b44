"""Stryker: its instrumenter makes the mutants of JavaScript and TypeScript. Runner and plug-ins are not used."""

from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

from damascus.stacks.mutants.braces import condition
from damascus.stacks.mutants.function import Edit
from damascus.stacks.mutants.lines import MutationTool, Told, ToolReport, Wanted, in_words
from damascus.stacks.node.functions import language
from damascus.stacks.trees import Node, nodes, parse, text

MAKER = Path(__file__).with_name("maker") / "stryker_maker.mjs"
READ = frozenset(
    {"binary_expression", "unary_expression", "string", "template_string", "true", "false", "call_expression"}
    | {"array", "object", "arrow_function", "new_expression", "regex", "identifier", "member_expression"}
)
"""Expressions that another may stand beside."""
BEFORE = frozenset({"import_statement", "export_statement", "property_signature", "literal_type", "pair"})
"""Where a text is a name, not an expression."""


def command(tracked: Collection[str]) -> str:
    """What the tree itself has in node_modules is no tool."""
    own = "" if any(path.startswith("node_modules/") for path in tracked) else " own"
    return f'node "$DAMASCUS_TOOL/{MAKER.name}"{own}'


def read(report: bytes, wanted: Wanted) -> ToolReport:
    """Stryker's name of the operator, and what it put for what."""
    found = ToolReport.model_validate_json(report)
    return found.model_copy(update={"mutants": [_in_words(one, wanted) for one in found.mutants]})


def _in_words(one: Told, wanted: Wanted) -> Told:
    old = wanted.sources.get(one.path, b"")[one.start : one.end].decode("utf-8", "replace")
    return one.model_copy(update={"operator": f"{one.operator}: {in_words(old, one.text)}"})


@lru_cache(maxsize=16)
def _places(source: bytes, path: str) -> tuple[frozenset[tuple[int, int]], tuple[tuple[int, int], ...]]:
    """Expressions that are read, and what only tells somebody something: errors and console lines."""
    found = list(nodes(parse(source, language(path))))
    read_there = [one for one in found if one.type in READ and not (one.parent and one.parent.type in BEFORE)]
    told = [one for one in found if one.type == "throw_statement" or _talks(one)]
    return frozenset(map(_span, read_there)), tuple(map(_span, told))


def _talks(node: Node) -> bool:
    return node.type == "call_expression" and text(node).startswith("console.")


def _span(node: Node) -> tuple[int, int]:
    return node.start_byte, node.end_byte


def switched(source: bytes, path: str, edit: Edit) -> Edit:
    """`(1234 == 1234 ? new : old)`, where an expression stands."""
    if (edit.start, edit.end) not in _places(source, path)[0]:
        return edit
    old = source[edit.start : edit.end].decode("utf-8", "replace")
    both = f"({condition(True)} ? ({edit.text}) : ({old}))"
    made = parse(source[: edit.start] + both.encode() + source[edit.end :], language(path))
    return edit if made.has_error else Edit(edit.start, edit.end, both)


def worth_it(source: bytes, path: str, edit: Edit) -> bool:
    return not any(start <= edit.start and edit.end <= end for start, end in _places(source, path)[1])


STRYKER = MutationTool(
    name="Stryker",
    install="npm install --save-dev @stryker-mutator/core@9.6.1",
    program="stryker",
    command=command,
    read=read,
    files=(MAKER,),
    worth_it=worth_it,
    switched=switched,
)
