"""gremlins: finds where a Go source can have a mutant. What each operator puts there is told by its own table."""

import shlex
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict

from damascus.stacks.mutants.lines import MutationTool, Told, ToolReport, Wanted, in_words

HERE = Path(__file__).with_name("maker")
MODULES = 20
FLAGS = "--dry-run --silent " + " ".join(
    f"--{name}"
    for name in (
        "arithmetic-base",
        "conditionals-boundary",
        "conditionals-negation",
        "increment-decrement",
        "invert-assignments",
        "invert-bitwise",
        "invert-bwassign",
        "invert-logical",
        "invert-loopctrl",
        "invert-negatives",
    )
)
INSTEAD = {
    "ARITHMETIC_BASE": {"+": "-", "*": "/", "/": "*", "%": "*", "-": "+"},
    "CONDITIONALS_BOUNDARY": {">=": ">", ">": ">=", "<=": "<", "<": "<="},
    "CONDITIONALS_NEGATION": {"==": "!=", "!=": "==", ">=": "<", ">": "<=", "<=": ">", "<": ">="},
    "INCREMENT_DECREMENT": {"--": "++", "++": "--"},
    "INVERT_ASSIGNMENTS": {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="},
    "INVERT_BITWISE": {"&^": "&", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "&"},
    "INVERT_BWASSIGN": {"&^=": "&=", "<<=": ">>=", ">>=": "<<=", "&=": "|=", "|=": "&=", "^=": "&="},
    "INVERT_LOGICAL": {"&&": "||", "||": "&&"},
    "INVERT_LOOPCTRL": {"break": "continue", "continue": "break"},
    "INVERT_NEGATIVES": {"-": "+"},
}
"""By operator and token, as gremlins 0.6 has it (its report names the operator and the place)."""


class _Place(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    type: str
    line: int
    column: int


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    file_name: str
    mutations: list[_Place]


class _Report(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    files: list[_File] | None = None


def command(tracked: Collection[str]) -> str:
    """Once in each module, with a `go` of ours that runs nothing: one line of the report for each."""
    folders = sorted({str(PurePosixPath(path).parent) for path in tracked if PurePosixPath(path).name == "go.mod"})
    each = (
        f'(cd {{0}} && gremlins unleash --config "$DAMASCUS_TOOL/gremlins.yaml" {FLAGS} '
        '--output "$DAMASCUS_TOOL/one.json" . && printf \'%s\\t\' {0} && cat "$DAMASCUS_TOOL/one.json" && echo) '
        '>> "$DAMASCUS_TOOL/report.json" || exit 1'
    )
    steps = [each.replace("{0}", shlex.quote(folder)) for folder in folders[:MODULES]]
    return "; ".join(
        [
            "command -v gremlins >/dev/null || exit 127",
            'chmod +x "$DAMASCUS_TOOL/go"; PATH="$DAMASCUS_TOOL:$PATH"; export PATH',
            *steps,
        ]
    )


def read(report: bytes, wanted: Wanted) -> ToolReport:
    if not report.strip():
        raise LookupError("it is empty")
    told = []
    for line in report.decode().splitlines():
        folder, _, found = line.partition("\t")
        for file in _Report.model_validate_json(found).files or []:
            path = str(PurePosixPath(folder) / file.file_name)
            told += list(_mutants(path, file.mutations, wanted.sources.get(path)))
    return ToolReport(mutants=told)


def _mutants(path: str, places: list[_Place], source: bytes | None) -> Iterator[Told]:
    lines = source.split(b"\n") if source is not None else []
    for one in places:
        if not 1 <= one.line <= len(lines):
            continue
        start = sum(len(line) + 1 for line in lines[: one.line - 1]) + one.column - 1
        for old, new in INSTEAD.get(one.type, {}).items():
            if _token(source or b"", start) == old:
                said = f"{one.type}: {in_words(old, new)}"
                yield Told(path=path, start=start, end=start + len(old), text=new, operator=said)


TOKENS = sorted({old for table in INSTEAD.values() for old in table}, key=len, reverse=True)


def _token(source: bytes, at: int) -> str:
    """The longest one that stands there."""
    return next((one for one in TOKENS if source.startswith(one.encode(), at)), "")


GREMLINS = MutationTool(
    name="gremlins",
    install="go install github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0",
    program="gremlins",
    command=command,
    read=read,
    files=(HERE / "go", HERE / "gremlins.yaml"),
    without=lambda path: path.endswith("_test.go"),
)
