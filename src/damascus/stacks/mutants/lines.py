"""Mutants of lines: one expression or statement is another. Made by a stack's tool, or by operators of ours.

A tool only says what to put where. It never runs a test here: what it would report is written by processes that the
code under test runs in. The mutants that it makes are run one by one as all others are (gates/mutation).
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from damascus.stacks.left_files import plain_file
from damascus.stacks.mutants.function import Edit

REPORT = "report.json"
REQUEST = "request.json"
REPORT_LIMIT = 20_000_000
WORDS = 60
FOLDER = "DAMASCUS_TOOL"
"""Variable that names the folder with the tool's request, where its report goes."""


@dataclass(frozen=True)
class LineMutant:
    """`edit` is what changes, `run` the edit that is run: the same, with the original beside it where that can be."""

    path: str
    line: int
    operator: str
    by: str
    edit: Edit
    run: Edit


@dataclass(frozen=True)
class Wanted:
    """The sources of one stack as the candidate has them, and the lines of each that the story changed."""

    sources: Mapping[str, bytes]
    lines: Mapping[str, Collection[int]]


class Told(BaseModel):
    """One mutant in a tool's report: bytes `start` to `end` of the source are `text` instead."""

    model_config = ConfigDict(extra="ignore", strict=True)

    path: str
    start: int
    end: int
    text: str
    operator: str


class ToolReport(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    version: str = ""
    mutants: list[Told]


@dataclass(frozen=True)
class MutationTool:
    """A stack's mutation tool. `command` is a shell's, in a clean checkout with the neutral sources laid over it; it
    exits 127 where the tool is not there. It is given every path of the tree: what the tree brings along is no tool."""

    name: str
    install: str
    """For people: the command that installs it."""
    program: str
    """As it is called on PATH."""
    command: Callable[[Collection[str]], str]
    read: Callable[[bytes, Wanted], ToolReport]
    files: tuple[Path, ...] = ()
    """Laid into its folder."""
    neutral: Callable[[bytes], bytes] = bytes
    """The source without words that would keep the tool away; edits count in it. Of the same length, or what the
    stack's own `edited` counts in."""
    worth_it: Callable[[bytes, str, Edit], bool] = lambda source, path, edit: True
    """Would an honest test notice it?"""
    without: Callable[[str], bool] = lambda path: False
    """Paths that it must not find."""
    switched: "Callable[[bytes, str, Edit], Edit] | None" = None
    """The edit with the original beside it, behind a condition that only running works out."""


@dataclass
class ToolRun:
    """ports.Probe: what a tool is asked, and what it wrote."""

    tool: MutationTool
    wanted: Wanted
    report: bytes = b""
    request: Mapping[str, Any] = field(default_factory=dict)

    def begin(self, folder: Path, root: str, env: Mapping[str, str]) -> Mapping[str, str]:
        folder.mkdir(parents=True, exist_ok=True)
        for file in self.tool.files:
            (folder / file.name).write_bytes(file.read_bytes())
        lines = {path: sorted(self.wanted.lines[path]) for path in self.wanted.sources}
        asked = TypeAdapter(dict[str, Any]).dump_json({"root": root, "lines": lines})
        (folder / REQUEST).write_bytes(asked)
        return {FOLDER: str(folder)}

    def end(self, folder: Path) -> None:
        self.report = plain_file(folder / REPORT, REPORT_LIMIT)


def mutants_told(tool: MutationTool, wanted: Wanted, report: bytes) -> tuple[list[LineMutant], str]:
    """The mutants of the changed lines, each once, and the tool's version. Raises ValueError for a report that is
    none."""
    try:
        told = tool.read(report, wanted)
    except (ValidationError, LookupError, TypeError) as err:
        raise ValueError(f"its report can't be read: {str(err).splitlines()[0]}") from err
    by, found = f"{tool.name} {told.version}".strip(), {}
    texts = {path: tool.neutral(source) for path, source in wanted.sources.items()}
    for one in told.mutants:
        source = texts.get(one.path)
        if source is None or not 0 <= one.start <= one.end <= len(source):
            raise ValueError(f"its report names a place that is not there: {one.path} {one.start}")
        edit = Edit(one.start, one.end, one.text)
        first = 1 + source.count(b"\n", 0, one.start)
        touched = range(first, first + 1 + source.count(b"\n", one.start, one.end))
        here = [line for line in touched if line in wanted.lines[one.path]]
        if (
            here
            and source[one.start : one.end] != one.text.encode()
            and tool.worth_it(wanted.sources[one.path], one.path, edit)
        ):
            run = tool.switched(wanted.sources[one.path], one.path, edit) if tool.switched else edit
            found[one.path, edit] = LineMutant(one.path, here[0], one.operator, by, edit, run)
    return list(found.values()), by


def in_words(old: str, new: str) -> str:
    """`a + b` → `a - b`, in one line."""
    return f"`{_short(old)}` → `{_short(new)}`" if new.strip() else f"`{_short(old)}` removed"


def _short(text: str) -> str:
    one = " ".join(text.split())
    return one if len(one) <= WORDS else f"{one[: WORDS - 1]}…"
