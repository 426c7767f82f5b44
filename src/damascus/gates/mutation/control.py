"""The control: every changed function with all words of its mutants, none of which does a thing: nothing may change.

A test that is red then looks at the source, not at what it does; such a test would kill every mutant. The same run
carries the probe, and is one more look at the story's tests: what is red once only is flaky.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from damascus.domain.ports import TestRun
from damascus.gates.coverage_run import LineLook
from damascus.gates.mutation.changed import Changed
from damascus.gates.mutation.trials import Bench
from damascus.gates.runs import failed_tests, passed_tests
from damascus.stacks.coverage import LinesRun, Measuring
from damascus.stacks.mutants import Edit, functions_in
from damascus.stacks.probes import ProbeReport, probe_of
from damascus.stacks.python.text import LINE_END, decoded


@dataclass
class Control:
    run: TestRun
    seen: ProbeReport | None = None
    """None: nothing was measured."""
    look: LineLook | None = None
    """What the run showed, for whoever wants to know which lines ran; only of one that ended as usual."""
    readers: list[str] = field(default_factory=list)
    flaky: list[str] = field(default_factory=list)
    red: bool = False
    """Red each time, and by no test that has a name."""


def control(bench: Bench, changed: Changed) -> Control:
    files = changed.controls()
    probe = Measuring.of(files)
    run = bench.laid_over(files, "control", probe=probe)
    told = probe_of(probe)
    seen = relocated(told.seen, changed) if told and told.seen.processes else None
    first = newly_red(bench.green, run)
    if not first and run.exit_code == bench.green.exit_code:
        return Control(run, seen, LineLook(run, lines_at_home(probe.lines(_as_laid(bench, files)), changed)))
    again = bench.laid_over(files, "control-again")
    second = newly_red(bench.green, again)
    red = not (first or second) and again.exit_code != bench.green.exit_code
    odd = first ^ second
    if first and not second and probe.probes:
        seen = None  # what the probe disturbs, it can't measure
        odd -= newly_red(bench.green, bench.laid_over(files, "control-probe", probe=Measuring.of(files)))
    return Control(again, seen, None, sorted(first & second), sorted(odd), red)


def _as_laid(bench: Bench, files: Mapping[str, bytes]) -> Callable[[str], bytes | None]:
    return lambda path: files[path] if path in files else bench.candidate.read(bench.candidate.tree, path)


def newly_red(green: TestRun, run: TestRun) -> set[str]:
    """Tests that were green and are not: failed, or, where a report is there, gone from it."""
    before = set(passed_tests(green))
    failed = set(failed_tests(run))
    files = tuple(f"{one}::" for one in failed if "::" not in one)
    inside = {test for test in before if files and test.startswith(files)}
    return (failed & before) | inside | ({one for one in failed if one not in before} if not inside else set())


def relocated(seen: ProbeReport, changed: Changed) -> ProbeReport:
    """What was seen of the control's files, at the lines of the candidate's: a statement in front may add a line."""
    moved = ProbeReport(seen.processes, dict(seen.calls), seen.lines, dict(seen.types))
    for path, content in changed.controls().items():
        was, now = (functions_in(source, path) for source in (changed.sources[path], content))
        lines = {later.first_line: one.first_line for one, later in zip(was, now, strict=True)}
        for of in (moved.calls, moved.types):
            of[path] = {lines.get(line, -line): found for line, found in of.get(path, {}).items()}
    return moved


def lines_at_home(lines: LinesRun, changed: Changed) -> LinesRun:
    """The lines that ran, as the candidate's own files count them."""
    moved = replace(lines, files=dict(lines.files))
    for path in changed.controls():
        if path in moved.files and path.endswith(".py"):
            edits = [one.control for one in changed.functions if one.path == path]
            moved.files[path] = _without_edits(moved.files[path], changed.sources[path], edits)
    return moved


def _without_edits(lines: dict[int, set[str]], source: bytes, edits: list[Edit]) -> dict[int, set[str]]:
    """An edit adds its lines behind the one where it stands; they count as that one."""
    text = decoded(source)[0].encode()
    added = []
    for edit in sorted(edits, key=lambda one: one.start):
        more = len(LINE_END.findall(edit.text.encode())) - len(LINE_END.findall(text[edit.start : edit.end]))
        added.append((1 + len(LINE_END.findall(text[: edit.start])), more))
    found: dict[int, set[str]] = {}
    for line, tests in lines.items():
        found.setdefault(_before_edits(line, added), set()).update(tests)
    return found


def _before_edits(line: int, added: list[tuple[int, int]]) -> int:
    shift = 0
    for at, more in added:
        if line <= at + shift:
            break
        if line <= at + shift + more:
            return at
        shift += more
    return line - shift


def judges_the_text(bench: Bench, changed: Changed) -> bool:
    """Does the command itself look at sources (a linter before the tests)? Asked on the base, where no story has a say:
    a new file that nobody imports, with the same kind of statement in it, changes how it ends."""
    folder = PurePosixPath(next(iter(changed.controls()))).parent
    name = str(folder / "unused_by_everybody.py")
    base = bench.on_base()
    plain = base.laid_over({}, "base-plain")
    laid = base.laid_over(
        {name: b"def nothing():\n    if [7919] == [7920]: return 1\n    return None\n"}, "base-control"
    )
    return laid.exit_code != plain.exit_code
