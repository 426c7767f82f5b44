"""The functions of a Go source and their mutants: `var` gives every type its zero value, whatever it is."""

from collections.abc import Collection, Iterator, Mapping

from damascus.stacks.mutants.braces import FoundFunction, Shape, make, parts, real, signed, statements
from damascus.stacks.mutants.function import Function, Mutants, OutsidePart
from damascus.stacks.mutants.values import MutantAnswer, Values
from damascus.stacks.trees import Node, nodes, parse, text

KINDS = ("function_declaration", "method_declaration")
FUNCTIONS = (*KINDS, "func_literal")
SAY = Shape(
    blow_up=lambda condition, word: f'if {condition} {{ panic("{word}") }}',
    answer=lambda condition, answer: f"if {condition} {{ {answer} }}",
    throws="panic",
)
SIGNED = {f"int{size}" for size in ("", "8", "16", "32", "64")} | {"rune"}
UNSIGNED = {f"uint{size}" for size in ("", "8", "16", "32", "64", "ptr")} | {"byte"}
SMALL = ("int8", "uint8", "byte")
SKIPPED = ("package_clause", "import_declaration", "type_declaration", *KINDS)


def functions(source: bytes, path: str, values: Values, _: Mapping[int, Collection[str]]) -> list[Function]:
    """Declared ones, and those that a variable of the package holds."""
    root = parse(source, "go")
    declared = [_function(node, path, values) for node in root.named_children if node.type in KINDS]
    held = [_literal(name, node, path, values) for name, node in _held(root)]
    return [one for one in (*declared, *held) if one is not None]


def outside(source: bytes, path: str, values: Values) -> list[OutsidePart]:
    others = {
        "int_literal": str(values.number),
        "float_literal": str(values.real),
        "interpreted_string_literal": f'"{values.word}"',
        "true": "false",
        "false": "true",
    }
    return parts(parse(source, "go"), SKIPPED, FUNCTIONS, others, _hides)


def _hides(node: Node, mutable: bool) -> bool:
    """A variable may hold a function that stands elsewhere."""
    return node.type == "var_declaration" and not mutable


def _held(root: Node) -> Iterator[tuple[str, Node]]:
    for node in root.named_children:
        for spec in nodes(node) if node.type == "var_declaration" else ():
            given = spec.child_by_field_name("value") if spec.type == "var_spec" else None
            names = spec.children_by_field_name("name")
            for name, value in zip(names, given.named_children if given is not None else (), strict=False):
                if value.type == "func_literal":
                    yield text(name), value


def _function(node: Node, path: str, values: Values) -> Function | None:
    name = node.child_by_field_name("name")
    if name is None:
        return None
    soft = text(name) in ("main", "init", "String", "GoString")
    return _made(node, _full_name(node, text(name)), soft, path, values)


def _literal(name: str, node: Node, path: str, values: Values) -> Function | None:
    return _made(node, name, False, path, values)


def _made(node: Node, name: str, soft: bool, path: str, values: Values) -> Function | None:
    body = node.child_by_field_name("body")
    if body is None or not statements(body):
        return None
    types = _types(node.child_by_field_name("result"))
    single = _single(body)
    answers = _answers(types, single, values)
    return make(
        path,
        FoundFunction(name, node, body, "value" if types else "void", soft or single != "", answers),
        SAY,
        values.word,
    )


def _full_name(node: Node, name: str) -> str:
    receiver = node.child_by_field_name("receiver")
    return f"{text(receiver).strip('()').split()[-1].lstrip('*')}.{name}" if receiver is not None else name


def _types(result: Node | None) -> list[str]:
    if result is None:
        return []
    if result.type != "parameter_list":
        return [text(result)]
    found = []
    for one in result.named_children:
        kind = one.child_by_field_name("type")
        found += [text(kind)] * max(1, len(one.children_by_field_name("name"))) if kind is not None else []
    return found


def _answers(types: list[str], single: str, values: Values) -> list[MutantAnswer]:
    """Made-up values in the first place where its type is a plain one, zero values in all others."""
    if not types:
        return [MutantAnswer("return")]
    names = [f"dm{number}" for number in range(len(types))]
    declared = "; ".join(f"var {name} {kind}" for name, kind in zip(names, types, strict=True))
    zero = f"{declared}; return {', '.join(names)}"
    found = [one for one in _plain(types[0], values) if one.text != single]
    return [MutantAnswer(f"{declared}; dm0 = {one.text}; return {', '.join(names)}", one.half) for one in found] or [
        MutantAnswer(zero)
    ]


def _plain(kind: str, values: Values) -> list[MutantAnswer]:
    small = kind in SMALL
    if kind in SIGNED:
        return signed(values, small)
    if kind in UNSIGNED:
        return [MutantAnswer(str(values.small if small else values.number)), MutantAnswer("0")]
    if kind in ("float64", "float32"):
        return real(values)
    return {"string": [MutantAnswer(f'"{values.word}"')], "bool": [MutantAnswer("true"), MutantAnswer("false")]}.get(
        kind, []
    )


def _single(body: Node) -> str:
    """The constant that is all it returns, else ''."""
    inside = statements(body)
    if len(inside) == 1 and inside[0].type == "statement_list":
        inside = statements(inside[0])
    if len(inside) != 1 or inside[0].type != "return_statement" or len(inside[0].named_children) != 1:
        return ""
    given = inside[0].named_children[0]
    plain = given.named_children[0] if given.type == "expression_list" and given.named_child_count == 1 else given
    return text(plain) if plain.type.endswith("_literal") or plain.type in ("true", "false", "nil") else ""


MUTANTS = Mutants(functions, outside)
