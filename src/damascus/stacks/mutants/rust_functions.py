"""The functions of a Rust source and their mutants, by the text of the return type. Test modules are no code."""

import re
from collections.abc import Collection, Iterator, Mapping

from damascus.stacks.mutants.braces import Found, Shape, make, parts, statements
from damascus.stacks.mutants.function import Function
from damascus.stacks.mutants.outside import Part
from damascus.stacks.trees import Node, parse, text

SAY = Shape(
    blow_up=lambda condition: f'if {condition} {{ panic!("damascus") }}',
    answer=lambda condition, answer: f"if {condition} {{ return {answer} }}".replace("return  }", "return }"),
    throws="panic",
)
NUMBERS = re.compile(r"[iu](?:8|16|32|64|128|size)")
GENERIC = re.compile(r"(?:[\w:]+::)?(\w+)<(.*)>", re.DOTALL)
TESTS = re.compile(r"#\[\s*(?:cfg\s*\(\s*(?:all\s*\(\s*)?test\b|(?:\w+::)*test\b)")
SOFT = ("main", "fmt", "drop", "hash")
OTHERS = {
    "integer_literal": "79",
    "float_literal": "79.5",
    "string_literal": '"damascus"',
    "boolean_literal": "false",
}
SKIPPED = (
    *("use_declaration", "mod_item", "struct_item", "enum_item", "impl_item", "trait_item", "function_item"),
    *("attribute_item", "inner_attribute_item", "extern_crate_declaration", "type_item"),
)


def functions(source: bytes, path: str, _: object, __: Mapping[int, Collection[str]]) -> list[Function]:
    found = []
    for node, prefix in _outermost(parse(source, "rust"), ""):
        made = _function(node, prefix, path)
        if made is not None:
            found.append(made)
    return found


def outside(source: bytes) -> list[Part]:
    return parts(parse(source, "rust"), SKIPPED, ("function_item", "closure_expression"), OTHERS)


def _outermost(node: Node, prefix: str) -> Iterator[tuple[Node, str]]:
    """Functions of modules, impls and traits, but nothing that is marked as test."""
    marked = False
    for one in node.named_children:
        if one.type == "attribute_item":
            marked = marked or TESTS.match(text(one)) is not None
            continue
        if one.type in ("mod_item", "impl_item", "trait_item") and not marked:
            inner, name = (
                one.child_by_field_name("body"),
                one.child_by_field_name("type") or one.child_by_field_name("name"),
            )
            if inner is not None:
                yield from _outermost(inner, f"{prefix}{text(name) if name is not None else ''}::")
        elif one.type == "function_item" and not marked:
            yield one, prefix
        marked = marked and one.type in ("line_comment", "block_comment")


def _function(node: Node, prefix: str, path: str) -> Function | None:
    body, name = node.child_by_field_name("body"), node.child_by_field_name("name")
    if body is None or name is None or not statements(body):
        return None
    kind = node.child_by_field_name("return_type")
    wanted = text(kind).strip() if kind is not None else "()"
    if wanted == "!":
        return None
    single = _single(body)
    if single in ("todo", "unimplemented"):
        return None
    found = [one for one in answers(wanted) if one != single] if wanted != "()" else [""]
    soft = text(name) in SOFT or single != ""
    known = Found(prefix + text(name), node, body, "void" if wanted == "()" else "value", soft, found)
    return make(path, known, SAY)


def answers(kind: str) -> list[str]:
    """None for a type that has no constant that we know: `Default` may still do."""
    kind = re.sub(r"^&\s*(?:'\w+\s+)?", "&", kind)
    if NUMBERS.fullmatch(kind):
        return ["0", "1"]
    plain = {
        "bool": ["true", "false"],
        "f32": ["0.0", "1.0"],
        "f64": ["0.0", "1.0"],
        "char": ["'d'", "'m'"],
        "String": ["String::new()", 'String::from("damascus")'],
        "&str": ['""', '"damascus"'],
        "()": ["()"],
    }
    if kind in plain:
        return plain[kind]
    generic = GENERIC.fullmatch(kind)
    return _wrapped(generic[1], generic[2]) if generic else ["Default::default()"]


def _wrapped(outer: str, inner: str) -> list[str]:
    first = answers(_first(inner))
    match outer:
        case "Option":
            return ["None", *(f"Some({one})" for one in first[-1:])]
        case "Result":
            return [f"Ok({one})" for one in first]
        case "Box" | "Rc" | "Arc" | "Cow":
            return [f"{outer}::from({one})" for one in first]
        case "Vec":
            return ["Vec::new()"]
    return ["Default::default()"]


def _first(inner: str) -> str:
    depth = 0
    for at, char in enumerate(inner):
        depth += (char in "<([") - (char in ">)]")
        if char == "," and depth == 0:
            return inner[:at].strip()
    return inner.strip()


def _single(body: Node) -> str:
    """The constant that is all it gives back, the macro that says there is nothing yet, or ''."""
    inside = statements(body)
    if len(inside) != 1:
        return ""
    only = inside[0].named_children[0] if inside[0].type == "expression_statement" else inside[0]
    if only.type == "macro_invocation":
        return text(only).partition("!")[0] if text(only).startswith(("todo!", "unimplemented!")) else ""
    if only.type == "return_expression" and only.named_child_count == 1:
        only = only.named_children[0]
    return text(only) if only.type.endswith("_literal") else ""
