"""Lines of Rust: what the compiler's own instruments counted, as LCOV (runners/cargo_lines.py has them read)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from damascus.stacks.coverage import LineCoverage, Ran, Read, Statement
from damascus.stacks.lcov import below_root, lines_in_lcov
from damascus.stacks.left_files import texts_in
from damascus.stacks.runners.record import LINES
from damascus.stacks.rust.inner_tests import OF_TESTS, TEST
from damascus.stacks.statements import Placed, statements_in_tree
from damascus.stacks.trees import parse, text

NO_STATEMENTS = frozenset(
    {"line_comment", "block_comment", "attribute_item", "inner_attribute_item", "use_declaration", "const_item"}
    | {"struct_item", "enum_item", "type_item", "macro_definition", "static_item", "extern_crate_declaration"}
)
ITEMS = re.compile(r"\w+_item|empty_statement")


def statements(source: bytes, _: str) -> list[Statement]:
    return statements_in_tree(parse(source, "rust"), _is_one, _left_out)


def _is_one(placed: Placed) -> bool:
    node, around = placed.node, placed.around
    if around is None or not node.is_named or node.type == "block":
        return False
    if around.type == "match_arm":
        return node == around.child_by_field_name("value")
    return around.type == "block" and not ITEMS.fullmatch(node.type)


def _left_out(placed: Placed) -> bool:
    """Tests that stand inside the code are tests."""
    said = [text(mark) for mark in placed.marks] if placed.type in ("mod_item", "function_item", "impl_item") else []
    return placed.type in NO_STATEMENTS or any(OF_TESTS.match(mark) or TEST.match(mark) for mark in said)


@dataclass
class RustProbe:
    """ports.Probe."""

    root: str = ""
    reports: list[str] = field(default_factory=list)
    why: str = ""

    def begin(self, folder: Path, root: str, env: Mapping[str, str]) -> Mapping[str, str]:
        self.root = root
        return {LINES: str(folder.parent)}

    def end(self, folder: Path) -> None:
        self.reports = texts_in(folder, ".info")
        self.why = next(iter(texts_in(folder, ".why")), "")[:300]

    def ran(self, read: Read) -> Ran:
        found: dict[str, dict[int, set[str]]] = {}
        for report in self.reports:
            for path, counted in lines_in_lcov(report, below_root(self.root)).items():
                found.setdefault(path, {}).update((line, {""}) for line in counted.ran)
        return found

    @property
    def blind(self) -> bool:
        return False

    @property
    def why_not(self) -> str:
        return self.why or ("" if any(self.reports) else "no `cargo test` of the command told what it ran")


COVERAGE = LineCoverage(statements, RustProbe)
