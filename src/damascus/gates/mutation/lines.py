"""The mutants of a candidate's changed lines: made by each stack's tool, in a cage, in a throw-away checkout.

The tool is asked what to put where, and no more (stacks/mutants/lines.py). What it was not asked of, could not make or
is not there for is named.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace

from damascus.domain.ports import Candidate, EvidenceRunner
from damascus.evidence.diff_paths import code_paths
from damascus.gates.mutation.changed import functions_of
from damascus.gates.runs import job
from damascus.git.lines import added_lines
from damascus.stacks import REGISTRY, stack_of
from damascus.stacks.mutants import Function, functions_in, reads
from damascus.stacks.mutants.lines import LineMutant, MutationTool, ToolRun, Wanted, mutants_told
from damascus.stacks.stack import Stack

NOT_THERE = 127
LEAST_SECONDS = 5.0


@dataclass
class MadeMutants:
    """`by` are those who made mutants, `unverified` what has none, by name."""

    mutants: list[LineMutant] = field(default_factory=list)
    by: list[str] = field(default_factory=list)
    unverified: list[str] = field(default_factory=list)
    sources: dict[str, bytes] = field(default_factory=dict)

    def add(self, mutants: list[LineMutant]) -> None:
        self.mutants += mutants
        self.by = list(dict.fromkeys([*self.by, *(one.by for one in mutants)]))


@dataclass(frozen=True)
class Maker:
    runner: EvidenceRunner
    candidate: Candidate
    seconds_left: Callable[[], float]

    def make(self) -> MadeMutants:
        made = MadeMutants()
        for stack in REGISTRY.values():
            wanted = self._wanted(stack)
            if wanted.sources:
                made.sources |= wanted.sources
                self._of_stack(stack, wanted, made)
        made.mutants.sort(key=lambda one: (one.path, one.line, one.edit.start))
        return made

    def _wanted(self, stack: Stack) -> Wanted:
        sources, lines = {}, {}
        for path in code_paths(self.candidate):
            source = self.candidate.read(self.candidate.commit, path) if stack_of(path) is stack else None
            if source is not None and (changed := changed_lines(self.candidate, path, source)):
                sources[path], lines[path] = source, changed
        return Wanted(sources, lines)

    def _of_stack(self, stack: Stack, wanted: Wanted, made: MadeMutants) -> None:
        tool = stack.mutation_tool() if stack.mutation_tool else None
        if tool is None:
            made.unverified.append(f"mutation: full: no tool is known for {stack.name}: {', '.join(wanted.sources)}")
            return
        found, trouble = self._by_tool(tool, wanted)
        made.add(found)
        ours = list(self._ours(stack, wanted, {(one.path, one.line) for one in found}))
        made.add(ours)
        if trouble:
            instead = f"; {ours[0].by} looked" if ours else ""
            made.unverified.append(f"mutation: full: {trouble}: {', '.join(wanted.sources)}{instead}")
        elif not found and not ours:
            made.unverified.append(
                f"mutation: full: {tool.name} makes no mutant of the changed lines of {', '.join(wanted.sources)}"
            )

    def _by_tool(self, tool: MutationTool, wanted: Wanted) -> tuple[list[LineMutant], str]:
        """The mutants, or why there are none."""
        left = self.seconds_left()
        if left <= 0:
            return [], f"there was no time to ask {tool.name}"
        tree = self.candidate.tree
        tracked = self.candidate.files(tree)
        asked = ToolRun(tool, wanted)
        try:
            laid: dict[str, bytes | None] = {path: tool.neutral(source) for path, source in wanted.sources.items()}
        except ValueError as err:
            return [], f"{tool.name} can't be asked ({err})"
        laid |= {path: None for path in tracked if tool.without(path)}
        plain = job(self.candidate, tree, tool.command(tracked), f"mutants-by-{tool.name}")
        limit = min(plain.timeout, max(left, LEAST_SECONDS))
        run = self.runner.run(replace(plain, timeout=limit, files=laid, fresh=True, probe=asked))
        if run.timed_out:
            return [], f"{tool.name} came to no end in {limit:.0f} s"
        if run.exit_code == NOT_THERE:
            return [], f"{tool.name} is not installed ({tool.install})"
        try:
            return mutants_told(tool, wanted, asked.report)[0], ""
        except ValueError as err:
            return [], f"{tool.name} ended with exit code {run.exit_code} and {err} (log {run.log})"

    def _ours(self, stack: Stack, wanted: Wanted, known: Collection[tuple[str, int]]) -> Iterator[LineMutant]:
        """On lines of which the tool made none: decorated functions, and what lies outside of functions."""
        if stack.line_mutants is None:
            return
        for path, source in wanted.sources.items():
            try:
                found = stack.line_mutants()(source, path, wanted.lines[path])
            except (ValueError, RecursionError):
                continue
            yield from (one for one in found if (path, one.line) not in known)


def changed_lines(candidate: Candidate, path: str, source: bytes) -> set[int]:
    """What the story brought, without functions that are as they were, elsewhere."""
    lines = added_lines(candidate.read(candidate.base, path) or b"", source)
    if not lines or not reads(path):
        return lines
    known = {(_last(one), one.body) for one in functions_of(candidate, candidate.base)}
    try:
        kept = [one for one in functions_in(source, path) if (_last(one), one.body) in known]
    except ValueError:
        return set()
    return lines - {line for one in kept for line in range(one.first_line, one.last_line + 1)}


def _last(function: Function) -> str:
    return function.name.rpartition(".")[2]
