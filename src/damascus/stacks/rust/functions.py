"""The functions of a Rust source and their mutants, by the text of the return type. Test modules are no code."""

import re
from collections.abc import Collection, Iterator, Mapping

from damascus.stacks.mutants.braces import FoundFunction, Shape, make, parts, real, signed, statements
from damascus.stacks.mutants.function import Function, Mutants, OutsidePart
from damascus.stacks.mutants.values import MutantAnswer, Values
from damascus.stacks.trees import Node, parse, text

SAY = Shape(
    blow_up=lambda condition, word: f'if {condition} {{ panic!("{word}") }}',
    answer=lambda condition, answer: f"if {condition} {{ return {answer} }}".replace("return  }", "return }"),
    throws="panic",
)
NUMBERS = re.compile(r"([iu])(8|16|32|64|128|size)")
GENERIC = re.compile(r"(?:[\w:]+::)?(\w+)<(.*)>", re.DOTALL)
TESTS = re.compile(r"#\[\s*(?:cfg\s*\(\s*(?:all\s*\(\s*)?test\b|(?:\w+::)*test\b)")
SOFT = ("main", "fmt", "drop", "hash")
SKIPPED = (
    *("use_declaration", "mod_item", "struct_item", "enum_item", "impl_item", "trait_item", "function_item"),
    *("attribute_item", "inner_attribute_item", "extern_crate_declaration", "type_item"),
)


def functions(source: bytes, path: str, values: Values, _: Mapping[int, Collection[str]]) -> list[Function]:
    found = []
    for node, prefix in _outermost(parse(source, "rust"), ""):
        made = _function(node, prefix, path, values)
        if made is not None:
            found.append(made)
    return found


def outside(source: bytes, path: str, values: Values) -> list[OutsidePart]:
    others = {
        "integer_literal": str(values.small),
        "float_literal": str(values.real),
        "string_literal": f'"{values.word}"',
        "boolean_literal": "false",
    }
    return parts(parse(source, "rust"), SKIPPED, ("function_item", "closure_expression"), others, _hides)


def _hides(node: Node, _: bool) -> bool:
    """A macro makes functions that no tree shows."""
    return node.type in ("macro_definition", "macro_invocation") or (
        node.type == "expression_statement" and any(one.type == "macro_invocation" for one in node.named_children)
    )


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


def _function(node: Node, prefix: str, path: str, values: Values) -> Function | None:
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
    found = [one for one in answers(wanted, values) if one.text != single] if wanted != "()" else [MutantAnswer("")]
    soft = text(name) in SOFT or single != ""
    known = FoundFunction(prefix + text(name), node, body, "void" if wanted == "()" else "value", soft, found)
    return make(path, known, SAY, values.word)


def answers(kind: str, values: Values) -> list[MutantAnswer]:
    """`Default` for a type that has no constant that we know: it may still do."""
    kind = re.sub(r"^&\s*(?:'\w+\s+)?", "&", kind)
    number = NUMBERS.fullmatch(kind)
    if number is not None:
        small = number[2] == "8"
        unsigned = [MutantAnswer(str(values.small if small else values.number)), MutantAnswer("0")]
        return signed(values, small) if number[1] == "i" else unsigned
    plain = {
        "bool": [MutantAnswer("true"), MutantAnswer("false")],
        "f32": real(values),
        "f64": real(values),
        "char": [MutantAnswer(f"'{letter}'") for letter in values.letters],
        "String": [MutantAnswer(f'String::from("{values.word}")')],
        "&str": [MutantAnswer(f'"{values.word}"')],
        "()": [MutantAnswer("()")],
    }
    if kind in plain:
        return plain[kind]
    generic = GENERIC.fullmatch(kind)
    return _wrapped(generic[1], generic[2], values) if generic else [MutantAnswer("Default::default()")]


def _wrapped(outer: str, inner: str, values: Values) -> list[MutantAnswer]:
    first = answers(_first(inner), values)
    match outer:
        case "Option":
            return [MutantAnswer("None"), MutantAnswer(f"Some({first[0].text})")]
        case "Result":
            return [MutantAnswer(f"Ok({one.text})", one.half) for one in first]
        case "Box" | "Rc" | "Arc" | "Cow":
            return [MutantAnswer(f"{outer}::from({one.text})", one.half) for one in first]
        case "Vec":
            return [MutantAnswer("Vec::new()"), MutantAnswer(f"vec![{first[0].text}]")]
    return [MutantAnswer("Default::default()")]


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


MUTANTS = Mutants(functions, outside)
