"""Which statements a source has, and which of them a run's tests ran: asked of the stack (`Stack.coverage`).

Statements are read from the text, by rules of ours: no comment, setting or report of the tree takes one away. What ran
is told from inside the judged process, so it may refuse and never prove.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from damascus.domain.ports import Probe
from damascus.domain.requirement_lines import spans, written
from damascus.stacks import REGISTRY, stack_of
from damascus.stacks.written import READ_LIMIT


@dataclass(frozen=True)
class Statement:
    """Its own lines: of one that holds others (`if`, `def`) the head alone."""

    line: int
    last: int

    @property
    def lines(self) -> range:
        return range(self.line, self.last + 1)


@dataclass
class LinesRun:
    """By path and line the tests that ran it; '' is a test of which no more is known, or none."""

    files: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    why_not: dict[str, str] = field(default_factory=dict)
    """By stack, why nothing could be told."""
    stacks: frozenset[str] = frozenset()
    """Those that were looked for."""
    blind: frozenset[str] = frozenset()
    """Those that were looked at and of which not one line was seen: somebody may stand in the way."""

    def ran(self, path: str, statement: Statement) -> bool:
        seen = self.files.get(path, {})
        return any(line in seen for line in statement.lines)

    def tests(self, path: str, statement: Statement) -> set[str]:
        seen = self.files.get(path, {})
        return {test for line in statement.lines for test in seen.get(line, ())}


Read = Callable[[str], bytes | None]
"""A file of the tree that was run, by its path: as it was before the run."""
Ran = Mapping[str, Mapping[int, Collection[str]]]


class LineProbe(Probe, Protocol):
    """Of one stack: a probe that tells what ran."""

    def ran(self, read: Read) -> Ran: ...

    @property
    def why_not(self) -> str:
        """Why it can't tell what ran; '' where it can."""

    @property
    def blind(self) -> bool:
        """Does seeing nothing not yet mean that nothing ran?"""


@dataclass(frozen=True)
class LineCoverage:
    """How one stack does it. `statements` raises ValueError for a source that can't be read."""

    statements: Callable[[bytes, str], list[Statement]]
    probe: Callable[[], LineProbe]


def measured(path: str) -> bool:
    stack = stack_of(path)
    return stack is not None and stack.coverage is not None


def statements_in(source: bytes, path: str) -> list[Statement]:
    """One for each line that begins one. Raises ValueError for what can't be read, or is too long."""
    stack = stack_of(path)
    if stack is None or stack.coverage is None:
        raise ValueError("its lines can't be told")
    if len(source) > READ_LIMIT:
        raise ValueError("too long")
    try:
        found = stack.coverage().statements(source, path)
    except RecursionError as err:
        raise ValueError(str(err)) from err
    return sorted({one.line: one for one in reversed(found)}.values(), key=lambda one: one.line)


@dataclass
class Measuring:
    """ports.Probe: those of several stacks at once, each in a folder of its own."""

    probes: dict[str, LineProbe]

    @classmethod
    def of(cls, paths: Iterable[str]) -> "Measuring":
        names = dict.fromkeys(stack.name for path in paths if (stack := stack_of(path)) is not None)
        return cls({name: made().probe() for name in names if (made := REGISTRY[name].coverage) is not None})

    def begin(self, folder: Path, root: str, env: Mapping[str, str]) -> Mapping[str, str]:
        added: dict[str, str] = {}
        for name, probe in self.probes.items():
            (folder / name).mkdir(parents=True)
            added |= probe.begin(folder / name, root, {**env, **added})
        return added

    def end(self, folder: Path) -> None:
        for name, probe in self.probes.items():
            probe.end(folder / name)

    def lines(self, read: Read) -> LinesRun:
        why_not = {name: probe.why_not for name, probe in self.probes.items() if probe.why_not}
        blind = frozenset(name for name, probe in self.probes.items() if probe.blind)
        found = LinesRun(why_not=why_not, stacks=frozenset(self.probes), blind=blind)
        for probe in self.probes.values():
            for path, lines in probe.ran(read).items():
                found.files[path] = {line: set(tests) for line, tests in lines.items()}
        return found


def ranges(lines: Iterable[int]) -> str:
    """`3-5, 9`."""
    return written(spans(lines))
