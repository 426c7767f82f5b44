"""Go that looks whether it is tested."""

import re
from collections.abc import Iterator

from damascus.stacks.reference import OUR_PLACE, Reference
from damascus.stacks.trees import Node, nodes, parse, text

FLAGS = re.compile(
    r"^-?-?test\.|_test\.go|^DAMASCUS_|^RUNNER_(?:REPORTS|ROOT|LINES)$|^GO_TEST|GOCOVERDIR|testing\.tRunner|"
    + OUR_PLACE
)
NAMES = re.compile(r"\.test\b|_test\b|\btesting\.|go-build")
LOOKS = ("os.Args", "os.Executable", "runtime.Caller", "runtime.Callers", "debug.Stack", "runtime.Stack", "flag.Lookup")
LITERALS = ("interpreted_string_literal", "raw_string_literal")


def references(source: bytes, _path: str) -> list[Reference]:
    every = list(nodes(parse(source, "go")))
    looks = any(node.type == "selector_expression" and text(node) in LOOKS for node in every)
    return sorted({found for node in every for found in _of(node, looks)})


def _of(node: Node, looks: bool) -> Iterator[Reference]:
    line = node.start_point[0] + 1
    said = literal(node)
    if said is not None:
        imported = node.parent is not None and node.parent.type == "import_spec"
        if imported and (said == "testing" or said.startswith("testing/")):
            yield Reference(line, f"import {said}")
        elif not imported and (FLAGS.search(said) or (looks and NAMES.search(said))):
            yield Reference(line, said[:40])


def literal(node: Node) -> str | None:
    if node.type in LITERALS:
        return text(node).strip('"`')
    if node.type == "binary_expression" and node.child_count == 3 and text(node.children[1]) == "+":
        left, right = literal(node.children[0]), literal(node.children[2])
        return left + right if left is not None and right is not None else None
    return None
