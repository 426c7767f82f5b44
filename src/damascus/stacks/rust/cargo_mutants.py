"""cargo-mutants: lists the mutants of Rust. Nothing is built by it: its list alone is asked for."""

import shlex
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

from pydantic import BaseModel, ConfigDict, TypeAdapter

from damascus.stacks.mutants.lines import MutationTool, Told, ToolReport, Wanted, in_words

WORKSPACES = 20
SKIP, HARMLESS = b"mutants::skip", b"allow(unused)"
"""Of one length, so that every place stays where it is."""


class _Point(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    line: int
    column: int


class _Span(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    start: _Point
    end: _Point


class _Listed(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    file: str
    span: _Span
    replacement: str
    genre: str


LIST = TypeAdapter(list[_Listed])


def command(tracked: Collection[str]) -> str:
    """Once in each outermost package or workspace: one line of the report for each."""
    found = {str(PurePosixPath(path).parent) for path in tracked if PurePosixPath(path).name == "Cargo.toml"}
    outermost = [one for one in sorted(found) if not any(_inside(one, other) for other in found)]
    each = (
        "(cd {0} && printf '%s\\t' {0} && cargo mutants --list --json --no-config --workspace --colors never > "
        '"$DAMASCUS_TOOL/one.json" && tr -d "\\n" < "$DAMASCUS_TOOL/one.json" && echo) >> '
        '"$DAMASCUS_TOOL/report.json" || exit 1'
    )
    steps = [each.replace("{0}", shlex.quote(folder)) for folder in outermost[:WORKSPACES]]
    return "; ".join(["command -v cargo-mutants >/dev/null || exit 127", *steps])


def _inside(folder: str, other: str) -> bool:
    return folder != other and (other == "." or folder.startswith(f"{other}/"))


def read(report: bytes, wanted: Wanted) -> ToolReport:
    if not report.strip():
        raise LookupError("it is empty")
    told: list[Told] = []
    for line in report.decode().splitlines():
        folder, _, found = line.partition("\t")
        for one in LIST.validate_json(found):
            path = str(PurePosixPath(folder) / one.file)
            if path in wanted.sources:
                told += _mutant(path, one, wanted.sources[path].decode("utf-8", "replace"))
    return ToolReport(mutants=told)


def _mutant(path: str, one: _Listed, text: str) -> Iterator[Told]:
    """It counts lines and characters from 1; a carriage return is none."""
    lines = text.split("\n")
    if not 1 <= one.span.start.line <= one.span.end.line <= len(lines):
        return
    start, end = (_offset(lines, point) for point in (one.span.start, one.span.end))
    old = text.encode()[start:end].decode("utf-8", "replace")
    said = f"{one.genre}: {in_words(old, one.replacement)}"
    yield Told(path=path, start=start, end=end, text=one.replacement, operator=said)


def _offset(lines: list[str], point: _Point) -> int:
    before = sum(len(line.encode()) + 1 for line in lines[: point.line - 1])
    return before + len(lines[point.line - 1][: point.column - 1].encode())


def _misleads(path: str) -> bool:
    """Settings by which cargo would start a compiler of the tree's choice, to ask for its version."""
    return ".cargo" in PurePosixPath(path).parts or PurePosixPath(path).name.startswith("rust-toolchain")


CARGO_MUTANTS = MutationTool(
    name="cargo-mutants",
    install="cargo install --locked cargo-mutants@27.1.0",
    program="cargo-mutants",
    command=command,
    read=read,
    neutral=lambda source: source.replace(SKIP, HARMLESS),
    without=_misleads,
)
