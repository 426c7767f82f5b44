"""The functions of JavaScript and TypeScript sources and their mutants, by annotation or the shape of the returns."""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath

from damascus.stacks.mutants.braces import FoundFunction, Shape, condition, make, own, parts, signed, statements, tokens
from damascus.stacks.mutants.function import Edit, Function, Gives, Mutant, Mutants, OutsidePart
from damascus.stacks.mutants.values import MutantAnswer, Values
from damascus.stacks.trees import Node, parse, text

FUNCTIONS = (
    *("function_declaration", "generator_function_declaration", "function_expression", "generator_function"),
    *("arrow_function", "method_definition", "function"),
)
SAY = Shape(
    blow_up=lambda condition, word: f'if ({condition}) throw new Error("{word}")',
    answer=lambda condition, answer: f"if ({condition}) return {answer}".rstrip(),
    throws="throw",
)
KINDS = ("number", "string", "boolean", "array", "object")
SHAPES = {
    "number": "number",
    "string": "string",
    "template_string": "string",
    "true": "boolean",
    "false": "boolean",
    "array": "array",
    "object": "object",
}
COMPARES = ("===", "!==", "==", "!=", "<", ">", "<=", ">=", "instanceof", "in")
SKIPPED = (
    *("import_statement", "interface_declaration", "type_alias_declaration", "class_declaration", "empty_statement"),
    *("function_declaration", "generator_function_declaration", "ambient_declaration", "abstract_class_declaration"),
)
AT_RUN_TIME = re.compile(r"\bnew\s+Function\b|\bFunction\s*\(|\beval\s*\(|\bvm\s*\.|\bnew\s+Proxy\b|\.bind\s*\(")
GLUE = re.compile(r"(?:module\.)?exports\b|export\b")


def language(path: str) -> str:
    suffix = PurePosixPath(path).suffix
    return "tsx" if suffix == ".tsx" else "ts" if suffix in (".ts", ".mts", ".cts") else "js"


def functions(source: bytes, path: str, values: Values, _: Mapping[int, Collection[str]]) -> list[Function]:
    return [
        made
        for node, name in _outermost(parse(source, language(path)))
        if (made := _function(node, name, path, values)) is not None
    ]


def outside(source: bytes, path: str, values: Values) -> list[OutsidePart]:
    others = {"number": str(values.number), "string": f'"{values.word}"', "true": "false", "false": "true"}
    found = parts(parse(source, language(path)), SKIPPED, FUNCTIONS, others, _hides)
    return [part for part in found if part.edits or not GLUE.match(part.text)]


def _hides(node: Node, _: bool) -> bool:
    return AT_RUN_TIME.search(text(node)) is not None


def _constants(kind: str, values: Values) -> list[MutantAnswer]:
    word = f'"{values.word}"'
    return {
        "number": signed(values),
        "string": [MutantAnswer(word)],
        "boolean": [MutantAnswer("true"), MutantAnswer("false")],
        "array": [MutantAnswer("[]"), MutantAnswer(f"[{word}]")],
        "object": [MutantAnswer("{}"), MutantAnswer(f"{{ {values.word}: {word} }}")],
    }[kind]


def _outermost(root: Node) -> Iterator[tuple[Node, str]]:
    """Each function that lies in no other, with the name it is known by."""
    stack: list[tuple[Node, str]] = [(root, "")]
    while stack:
        node, name = stack.pop()
        if node.type in FUNCTIONS:
            yield node, _named(node) or name
            continue
        given = _named(node) if node.type in ("variable_declarator", "pair", "assignment_expression") else ""
        given = given or (_named(node) if node.type in ("public_field_definition", "field_definition") else "")
        stack.extend((child, given or name) for child in reversed(node.children))


def _named(node: Node) -> str:
    for field in ("name", "key", "left", "property"):
        found = node.child_by_field_name(field)
        if found is not None:
            return text(found)
    return ""


def _function(node: Node, name: str, path: str, values: Values) -> Function | None:
    body = node.child_by_field_name("body")
    if body is None:
        return None
    if body.type != "statement_block":
        return _expression(node, name, body, path, values)
    inside = statements(body)
    if not inside:
        return None
    gives, answers = _gives(node, body, values)
    return make(
        path, FoundFunction(name or "anonymous", node, body, gives, _soft(name, inside), answers), SAY, values.word
    )


def _gives(node: Node, body: Node, drawn: Values) -> tuple[Gives, list[MutantAnswer]]:
    if node.type.startswith("generator") or any(one.type == "*" for one in node.children):
        return "generator", [MutantAnswer("")]
    values = [
        one.named_children[0]
        for one in own(body, FUNCTIONS)
        if one.type == "return_statement" and one.named_child_count
    ]
    values = [one for one in values if text(one) not in ("undefined", "null", "void 0")]
    if not values:
        return "void", [MutantAnswer("")]
    return "value", _answers(node, values, drawn)


def _answers(node: Node, values: list[Node], drawn: Values) -> list[MutantAnswer]:
    kinds = _annotated(node) or [kind for one in values if (kind := _shape(one))]
    found = [constant for kind in dict.fromkeys(kinds) for constant in _constants(kind, drawn)]
    only = {text(one) for one in values}
    if len(only) == 1:
        found = [one for one in found if one.text not in only]
    return found or [MutantAnswer("null")]


def _annotated(node: Node) -> list[str]:
    said = node.child_by_field_name("return_type")
    if said is None:
        return []
    kind = re.sub(r"^:\s*", "", text(said)).strip()
    kind = re.sub(r"^Promise<(.*)>$", r"\1", kind, flags=re.DOTALL)
    kinds = ["array" if one.endswith("[]") or one.startswith("Array<") else one for one in re.split(r"\s*\|\s*", kind)]
    return [one for one in kinds if one in KINDS]


def _shape(node: Node) -> str:
    while node.type in ("parenthesized_expression", "await_expression") and node.named_child_count:
        node = node.named_children[0]
    if node.type == "unary_expression":
        return "boolean" if text(node).startswith("!") else "number"
    if node.type == "ternary_expression":
        return _shape(node.named_children[1]) or _shape(node.named_children[2])
    if node.type == "binary_expression":
        return _of_operator(node)
    return SHAPES.get(node.type, "")


def _of_operator(node: Node) -> str:
    operator = text(node.children[1]) if node.child_count == 3 else ""
    if operator in COMPARES:
        return "boolean"
    if operator == "+":
        sides = {_shape(node.children[0]), _shape(node.children[2])}
        return "string" if "string" in sides else "number"
    return "number" if operator in ("-", "*", "/", "%", "**", "|", "&", "^", "<<", ">>") else ""


def _soft(name: str, inside: list[Node]) -> bool:
    if name in ("", "constructor", "toString", "toJSON", "main") or all(
        text(one).startswith("console.") for one in inside
    ):
        return True
    only = inside[0]
    return (
        len(inside) == 1
        and only.type == "return_statement"
        and (
            only.named_child_count == 0 or only.named_children[0].type in ("number", "string", "true", "false", "null")
        )
    )


def _expression(node: Node, name: str, body: Node, path: str, values: Values) -> Function:
    """`(a, b) => a + b`: its expression is the body, and stays in the text."""
    answers = _answers(node, [body], values)

    def instead(words: str, holds: bool = True) -> Edit:
        return Edit(body.start_byte, body.end_byte, f"({condition(holds)} ? ({words}) : ({text(body)}))")

    return Function(
        path=path,
        name=name or "anonymous",
        line=node.start_point[0] + 1,
        last_line=node.end_point[0] + 1,
        first_line=node.start_point[0] + 1,
        gives="value",
        soft=not name or body.type in ("number", "string", "true", "false", "null"),
        body=tokens(node),
        mutants=(
            *(Mutant(f"return {one.text}", instead(one.text), one.half) for one in answers),
            Mutant("throw", instead(f'(() => {{ throw new Error("{values.word}") }})()')),
        ),
        control=instead(answers[0].text, False),
    )


MUTANTS = Mutants(functions, outside)
