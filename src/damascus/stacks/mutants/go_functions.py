"""The functions of a Go source and their mutants: `var` gives every type its zero value, whatever it is."""

from collections.abc import Collection, Mapping

from damascus.stacks.mutants.braces import Found, Shape, make, parts, statements
from damascus.stacks.mutants.function import Function
from damascus.stacks.mutants.outside import Part
from damascus.stacks.trees import Node, parse, text

KINDS = ("function_declaration", "method_declaration")
FUNCTIONS = (*KINDS, "func_literal")
SAY = Shape(
    blow_up=lambda condition: f'if {condition} {{ panic("damascus") }}',
    answer=lambda condition, answer: f"if {condition} {{ {answer} }}",
    throws="panic",
)
INTEGERS = {f"{sign}int{size}" for sign in ("", "u") for size in ("", "8", "16", "32", "64")} | {
    "byte",
    "rune",
    "uintptr",
}
OTHERS = {"int_literal": "7919", "float_literal": "7919.5", "interpreted_string_literal": '"damascus"', "true": "false"}
SKIPPED = ("package_clause", "import_declaration", "type_declaration", *KINDS)


def functions(source: bytes, path: str, _: object, __: Mapping[int, Collection[str]]) -> list[Function]:
    root = parse(source, "go")
    return [made for node in root.named_children if node.type in KINDS and (made := _function(node, path)) is not None]


def outside(source: bytes) -> list[Part]:
    return parts(parse(source, "go"), SKIPPED, FUNCTIONS, {**OTHERS, "false": "true"})


def _function(node: Node, path: str) -> Function | None:
    body, name = node.child_by_field_name("body"), node.child_by_field_name("name")
    if body is None or name is None or not statements(body):
        return None
    types = _types(node.child_by_field_name("result"))
    answers = _answers(types, _single(body))
    soft = text(name) in ("main", "init", "String", "GoString") or _single(body) != ""
    known = Found(_full_name(node, text(name)), node, body, "value" if types else "void", soft, answers)
    return make(path, known, SAY)


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


def _answers(types: list[str], single: str) -> list[str]:
    """Zero values, and another constant in the first place where its type is a plain one."""
    if not types:
        return ["return"]
    names = [f"dm{number}" for number in range(len(types))]
    declared = "; ".join(f"var {name} {kind}" for name, kind in zip(names, types, strict=True))
    zero = f"{declared}; return {', '.join(names)}"
    other = _other(types[0])
    found = [zero] if single not in ("0", '""', "false", "nil", "0.0") else []
    if other and other != single:
        found.append(f"{declared}; dm0 = {other}; return {', '.join(names)}")
    return found or [zero]


def _other(kind: str) -> str:
    if kind in INTEGERS:
        return "1"
    return {"string": '"damascus"', "bool": "true", "float64": "1.5", "float32": "1.5"}.get(kind, "")


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
