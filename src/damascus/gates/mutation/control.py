"""The control: every changed function with a statement in front that does nothing. It must change nothing.

A test that is red then looks at the source, not at what it does; such a test would kill every mutant. The same run
carries the probe, and is one more look at the story's tests: what is red once only is flaky.
"""

from dataclasses import dataclass, field
from pathlib import PurePosixPath

from damascus.domain.ports import TestRun
from damascus.gates.mutation.changed import Changed
from damascus.gates.mutation.trials import Bench
from damascus.gates.runs import failed_tests, passed_tests
from damascus.stacks.mutants import functions_in
from damascus.stacks.probes.reading import PythonProbe, Seen


@dataclass
class Control:
    run: TestRun
    seen: Seen | None = None
    """None: nothing was measured."""
    readers: list[str] = field(default_factory=list)
    flaky: list[str] = field(default_factory=list)
    red: bool = False
    """Red each time, and by no test that has a name."""


def control(bench: Bench, changed: Changed) -> Control:
    files = changed.controls()
    probe = PythonProbe() if any(path.endswith(".py") for path in files) else None
    run = bench.laid_over(files, "control", probe=probe)
    seen = relocated(probe.seen, changed) if probe and probe.seen.processes else None
    first = newly_red(bench.green, run)
    if not first and run.exit_code == bench.green.exit_code:
        return Control(run, seen)
    again = bench.laid_over(files, "control-again")
    second = newly_red(bench.green, again)
    red = not (first or second) and again.exit_code != bench.green.exit_code
    odd = first ^ second
    if first and not second and probe is not None:
        seen = None  # what the probe disturbs, it can't measure
        odd -= newly_red(bench.green, bench.laid_over(files, "control-probe", probe=PythonProbe()))
    return Control(again, seen, sorted(first & second), sorted(odd), red)


def newly_red(green: TestRun, run: TestRun) -> set[str]:
    """Tests that were green and are not: failed, or, where a report is there, gone from it."""
    before = set(passed_tests(green))
    failed = set(failed_tests(run))
    files = tuple(f"{one}::" for one in failed if "::" not in one)
    inside = {test for test in before if files and test.startswith(files)}
    return (failed & before) | inside | ({one for one in failed if one not in before} if not inside else set())


def relocated(seen: Seen, changed: Changed) -> Seen:
    """What was seen of the control's files, at the lines of the candidate's: a statement in front may add a line."""
    moved = Seen(seen.processes, dict(seen.calls), seen.lines, dict(seen.types))
    for path, content in changed.controls().items():
        was, now = (functions_in(source, path) for source in (changed.sources[path], content))
        lines = {later.first_line: one.first_line for one, later in zip(was, now, strict=True)}
        for of in (moved.calls, moved.types):
            of[path] = {lines.get(line, -line): found for line, found in of.get(path, {}).items()}
    return moved


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
