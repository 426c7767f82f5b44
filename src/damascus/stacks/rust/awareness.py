"""Rust that looks whether it is tested. What is only there for tests (`#[cfg(test)] mod tests`) is honest."""

import re
from collections.abc import Iterator

from damascus.stacks.reference import OUR_PLACE, Reference
from damascus.stacks.trees import Node, nodes, parse, text

ASKED = re.compile(r"\bcfg!\s*[(\[{][^)]*\b(?:test|debug_assertions)\b")
NOT_TEST = re.compile(r"^#!?\[\s*cfg\s*\([^\]]*\bnot\s*\(\s*(?:any\s*\(\s*)?test\b")
ONLY_TEST = re.compile(r"^#!?\[\s*cfg\s*\(\s*test\s*\)")
VARIABLES = re.compile(
    r"RUST_TEST_|NEXTEST|CARGO_TARGET_TMPDIR|CARGO_BIN_EXE|^DAMASCUS_|^RUNNER_(?:REPORTS|ROOT|LINES)$|LLVM_PROFILE_FILE|--test-threads|"
    + OUR_PLACE
)
HOLDERS = ("source_file", "declaration_list", "use_declaration", "field_declaration_list", "enum_variant_list")


def references(source: bytes, _path: str) -> list[Reference]:
    root = parse(source, "rust")
    tests = _test_modules(root)
    every = [node for node in nodes(root) if not any(start <= node.start_byte < end for start, end in tests)]
    names = {text(node) for node in every if node.type in ("identifier", "field_identifier")}
    looks = "current_exe" in names or {"thread", "current", "name"} <= names
    return sorted({found for node in every for found in _of(node, looks)})


def _test_modules(root: Node) -> list[tuple[int, int]]:
    """Where `#[cfg(test)] mod …` lie: tests, whatever they say."""
    found, marked = [], False
    for node in root.children:
        if node.type == "mod_item" and marked:
            found.append((node.start_byte, node.end_byte))
        if node.type not in ("attribute_item", "line_comment", "block_comment"):
            marked = False
        elif node.type == "attribute_item" and ONLY_TEST.search(text(node)):
            marked = True
    return found


def _of(node: Node, looks: bool) -> Iterator[Reference]:
    line, said = node.start_point[0] + 1, text(node) if node.type in KINDS else ""
    inside = node.parent is not None and node.parent.type not in HOLDERS
    match node.type:
        case "macro_invocation" if ASKED.search(said):
            yield Reference(line, said[:40])
        case "attribute_item" | "inner_attribute_item" if NOT_TEST.search(said) or (inside and ONLY_TEST.search(said)):
            yield Reference(line, said[:40])
        case "string_literal" | "raw_string_literal":
            if VARIABLES.search(said.strip('"')) or (looks and re.search(r"\btests?\b|/deps/|target/debug", said)):
                yield Reference(line, said[:40])


KINDS = ("macro_invocation", "attribute_item", "inner_attribute_item", "string_literal", "raw_string_literal")
