"""What should have been reported and was not: a known runner without single results, a test that did not run.

A runner that we know tells each of its tests to us (stacks/runners). So silence is no pass: a process that ends itself,
a file that a suffix or a build tag hides, a test that nobody collects. What has an explanation that is not the story's
doing (the command selects others, the project has such files already) is listed as not verified.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from damascus.domain.ports import Candidate, RunnerCall, TestRun
from damascus.evidence.diff_paths import is_test
from damascus.evidence.reading import tests_in
from damascus.stacks import (
    REGISTRY,
    Stack,
    WrittenFile,
    WrittenTest,
    runner_called,
    stack_of,
    stack_of_runner,
    written_name,
)
from damascus.stacks.reports import hides_its_runner, named_stacks
from damascus.stacks.selection import covers, selects_by_name


@dataclass(frozen=True)
class OwnTests:
    """One test file of the story, as the candidate has it."""

    path: str
    stack: Stack
    source: bytes
    written: WrittenFile


def own_tests(candidate: Candidate) -> Iterator[OwnTests]:
    """The files that the story changed and that hold tests; some stacks have them inside of the code."""
    for file in candidate.changed:
        stack = stack_of(file.path)
        if file.status == "D" or stack is None or not (is_test(candidate, file.path) or stack.tests_in_code):
            continue
        source = candidate.read(candidate.commit, file.path) or b""
        yield OwnTests(file.path, stack, source, tests_in(source, file.path))


def silent_runner(candidate: Candidate, run: TestRun) -> str | None:
    """A known runner that reported none of its tests has not passed, whatever it printed and how it ended."""
    reported = {stack.name for call in run.calls if (stack := stack_of_runner(call.runner)) and _reports(call.runner)}
    expected = named_stacks(run.command) | (_behind(candidate) if hides_its_runner(run.command) else set())
    for stack in (REGISTRY[name] for name in sorted(expected - reported)):
        return (
            f"the Test Command exited 0 but its runner left no report of single tests ({stack.name}): "
            f"it was ended before its end, or can't be read. To be read: {stack.how}"
        )
    return None


def _behind(candidate: Candidate) -> set[str]:
    """Which runners a make or npm target must start, by the story's own tests: those that only these can run."""
    return {
        own.stack.name
        for own in own_tests(candidate)
        if own.written.tests and own.stack.named is not None and own.stack.habits.own_runner(own.source)
    }


def _reports(runner: str) -> bool:
    known = runner_called(runner)
    return known is not None and known.reports


def unread(candidate: Candidate) -> list[str]:
    return [own.path for own in own_tests(candidate) if own.written.unread]


def not_run(candidate: Candidate, run: TestRun) -> tuple[list[str], list[str]]:
    """Tests of the story that were not reported: those without an explanation, and those with one."""
    missing: list[str] = []
    explained: list[str] = []
    reported = _reported(run)
    for own in own_tests(candidate):
        calls = [call for call in run.calls if stack_of_runner(call.runner) is own.stack and _reports(call.runner)]
        names = [test.name for test in own.written.tests.values() if _is_owed(own, test)]
        absent = [name for name in names if name not in reported.get(own.path, ())]
        if not calls or not absent or "" in reported.get(own.path, ()):
            continue
        reason = _why(candidate, run, own, calls, bool(reported.get(own.path)))
        if reason:
            explained.append(f"{own.path}: not run: {', '.join(absent[:20])} ({reason})")
        else:
            missing += [f"{own.path}::{name}" for name in absent]
    return missing, explained


def _is_owed(own: OwnTests, test: WrittenTest) -> bool:
    """Most runners report what they skip, too."""
    return test.certain and (own.stack.habits.owes_skipped or not test.skips)


def _reported(run: TestRun) -> dict[str, set[str]]:
    """The names in each file that some result was told of. "" is the file itself: it could not be run at all."""
    found: dict[str, set[str]] = {}
    for case in run.cases:
        for told in (case.id, *([case.written] if case.written else [])):
            path, name = written_name(told)
            found.setdefault(path, set()).add(name)
    return found


def _why(candidate: Candidate, run: TestRun, own: OwnTests, calls: Iterable[RunnerCall], others_ran: bool) -> str:
    """Why a test of this file need not be there; "" if nothing says so."""
    calls = list(calls)
    if any(selects_by_name(call, run) for call in calls):
        return "the command selects tests by name"
    if not others_ran and not any(covers(call, own.path, run.command) for call in calls):
        return "the command does not select this file"
    explains = own.stack.habits.explains
    return explains()(candidate, own.path, own.source) if explains is not None and not others_ran else ""
