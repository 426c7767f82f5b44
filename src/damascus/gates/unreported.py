"""What should have been reported and was not: a known runner without single results, a test that did not run.

A runner that we know tells each of its tests to us (stacks/runners). So silence is no pass: a process that ends itself,
a file that a suffix or a build tag hides, a test that nobody collects. What has an explanation that is not the story's
doing (the command selects others, the project has such files already) is listed as not verified.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from damascus.domain.ports import Candidate, RunnerCall, TestRun
from damascus.gates.diff_paths import is_test
from damascus.reading import tests_in
from damascus.stacks import WrittenFile, WrittenTest, stack_of, written_name
from damascus.stacks.go import CONSTRAINT
from damascus.stacks.reports import STACK_OF_RUNNER, hides_its_runner, named_stacks
from damascus.stacks.selection import covers, selects_by_name

HOW = {
    "go": "start it as `go test`, not by an absolute path",
    "rust": "start it as `cargo test`, not by an absolute path",
    "node": "start it as `node --test`, vitest, jest or mocha, without another NODE_OPTIONS",
}
SUFFIX = re.compile(r"_(?:aix|android|darwin|dragonfly|freebsd|illumos|ios|js|linux|netbsd|openbsd|plan9|solaris|wasip1"
                    r"|windows|386|amd64|arm|arm64|loong64|mips|mips64|mips64le|mipsle|ppc64|ppc64le|riscv64|s390x|wasm)"
                    r"(?=_test\.go$|\.go$|_)")  # fmt: skip
OWN_RUNNER = re.compile(rb"""['"](?:node:test|vitest|@jest/globals|mocha)['"]""")
OTHER_RUNNER = re.compile(
    rb"""(?:import\s{1,9}(?:test|it)\b|import\s{0,9}\{[^}\n]{0,200}\b(?:test|it)\b[^}\n]{0,200}\}|\b(?:test|it)\s{0,9}=\s{0,9}require\b)"""
)


@dataclass(frozen=True)
class OwnTests:
    """One test file of the story, as the candidate has it."""

    path: str
    stack: str
    source: bytes
    written: WrittenFile


def own_tests(candidate: Candidate) -> Iterator[OwnTests]:
    """The files that the story changed and that hold tests; in Rust these may be inside of the code."""
    for file in candidate.changed:
        stack = stack_of(file.path)
        if file.status == "D" or stack is None or not (is_test(candidate, file.path) or stack.name == "rust"):
            continue
        source = candidate.read(candidate.commit, file.path) or b""
        yield OwnTests(file.path, stack.name, source, tests_in(source, file.path))


def silent_runner(candidate: Candidate, run: TestRun) -> str | None:
    """A known runner that reported none of its tests has not passed, whatever it printed and how it ended."""
    reported = {STACK_OF_RUNNER.get(call.runner) for call in run.calls}
    expected = named_stacks(run.command) | (_behind(candidate) if hides_its_runner(run.command) else set())
    for stack in sorted(expected - reported):
        return (
            f"the Test Command exited 0 but its runner left no report of single tests ({stack}): "
            f"it was ended before its end, or can't be read. To be read: {HOW[stack]}"
        )
    return None


def _behind(candidate: Candidate) -> set[str]:
    """Which runners a make or npm target must start, by the story's own tests: those that only these can run."""
    return {own.stack for own in own_tests(candidate) if own.written.tests and _has_known_runner(own)}


def _has_known_runner(own: OwnTests) -> bool:
    if own.stack == "node":
        return OWN_RUNNER.search(own.source) is not None or OTHER_RUNNER.search(own.source) is None
    return own.stack in HOW


def unread(candidate: Candidate) -> list[str]:
    return [own.path for own in own_tests(candidate) if own.written.unread]


def not_run(candidate: Candidate, run: TestRun) -> tuple[list[str], list[str]]:
    """Tests of the story that were not reported: those without an explanation, and those with one."""
    missing: list[str] = []
    explained: list[str] = []
    reported = _reported(run)
    for own in own_tests(candidate):
        calls = [call for call in run.calls if STACK_OF_RUNNER.get(call.runner) == own.stack]
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
    """Runners report what they skip, too; but a Python test inside a condition may not even be there."""
    return test.certain and (own.stack != "python" or not test.skips)


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
    if own.stack == "go" and not others_ran and _as_others_are(candidate, own):
        return "a build constraint that the project uses elsewhere"
    return ""


def _as_others_are(candidate: Candidate, own: OwnTests) -> bool:
    """Is it hidden in a way that its package or the base knows: code of the same suffix, files of the same tag?"""
    suffixes = set(SUFFIX.findall(own.path))
    constraint = CONSTRAINT.search(own.source.decode("utf-8", "replace"))
    folder = PurePosixPath(own.path).parent
    old = [path for path in candidate.files(candidate.base) if path.endswith(".go")][:5000]
    if suffixes and any(SUFFIX.search(path) and set(SUFFIX.findall(path)) >= suffixes for path in old):
        return True
    now = [path for path in candidate.files(candidate.commit) if path.endswith(".go") and not path.endswith("_test.go")]
    if suffixes and any(PurePosixPath(path).parent == folder and set(SUFFIX.findall(path)) >= suffixes for path in now):
        return True
    return constraint is not None and any(
        constraint[0].encode() in (candidate.read(candidate.base, path) or b"")[:5000] for path in old[:500]
    )
