"""Lines of Go: the profiles that `go test` writes (runner/go_test.py asks for them), as blocks with a count."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from damascus.stacks.coverage import LineCoverage, Ran, Read, Statement
from damascus.stacks.left_files import texts_in
from damascus.stacks.runners.record import LINES
from damascus.stacks.statements import Placed, statements_in_tree
from damascus.stacks.trees import parse

KINDS = frozenset(
    {"short_var_declaration", "assignment_statement", "return_statement", "if_statement", "for_statement"}
    | {"expression_statement", "go_statement", "defer_statement", "send_statement", "inc_statement", "dec_statement"}
    | {"expression_switch_statement", "type_switch_statement", "select_statement"}
)
BLOCK = re.compile(
    r"(?P<file>[^\n]{1,1000}\.go):(?P<first>\d{1,7})\.\d+,(?P<last>\d{1,7})\.\d+ \d+ (?P<count>\d{1,20})"
)
MODULE = re.compile(r"#module (?P<module>\S{1,1000}) (?P<folder>.{1,4000})")
LONGEST = 20_000
"""Lines of one block: what is longer was not written by Go."""


def statements(source: bytes, _: str) -> list[Statement]:
    root = parse(source, "go")
    return statements_in_tree(root, lambda node: node.type in KINDS, _outside)


def _outside(node: Placed) -> bool:
    """Declarations of a package without a function in them hold nothing that runs by a test."""
    return node.type in ("import_declaration", "type_declaration", "const_declaration", "comment")


@dataclass
class GoProbe:
    """ports.Probe. Nothing is told where `go` is not found by PATH, or no test binary came to its end."""

    profiles: list[str] = field(default_factory=list)

    def begin(self, folder: Path, root: str, env: Mapping[str, str]) -> Mapping[str, str]:
        return {LINES: str(folder.parent)}

    def end(self, folder: Path) -> None:
        self.profiles = texts_in(folder, ".out")

    def ran(self, read: Read) -> Ran:
        found: dict[str, dict[int, set[str]]] = {}
        for text in self.profiles:
            for path, lines in _lines(text).items():
                found.setdefault(path, {}).update((line, {""}) for line in lines)
        return found

    @property
    def blind(self) -> bool:
        return False

    @property
    def why_not(self) -> str:
        return "" if any("\n" in text for text in self.profiles) else "no `go test` of the command left a profile"


def _lines(text: str) -> dict[str, set[int]]:
    """Blocks repeat, one for each package that was tested: what ran once did run."""
    head = MODULE.match(text)
    module, folder = (head["module"], head["folder"]) if head else ("", ".")
    found: dict[str, set[int]] = {}
    for block in BLOCK.finditer(text):
        first, last = int(block["first"]), int(block["last"])
        if int(block["count"]) and block["file"].startswith(f"{module}/") and 0 <= last - first <= LONGEST:
            path = os.path.normpath(os.path.join(folder, block["file"][len(module) + 1 :]))
            found.setdefault(path, set()).update(range(first, last + 1))
    return found


COVERAGE = LineCoverage(statements, GoProbe)
