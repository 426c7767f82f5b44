"""Where failing tests of ours are laid: behind the story's own tests and beside them, or into these tests themselves.

What is laid into the base, as the control, has the same places: its own version of the file where it has one, else a
file that holds our tests alone.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, TestRun
from damascus.evidence.diff_paths import is_test, named_paths
from damascus.gates.runs import passed_tests, tells_single_tests
from damascus.stacks import REGISTRY, canaries, stack_of, tests_in
from damascus.stacks.layer import Laid, Style
from damascus.stacks.made_up import MadeUp
from damascus.stacks.selection import command_selects_by_name
from damascus.stacks.selection import selects_by_name as selected

Change = Callable[[str, bytes, Collection[str], MadeUp], Laid | None]
MOST_FILES = 20
PROSE = (".md", ".rst", ".txt", ".adoc")


@dataclass(frozen=True)
class Laying:
    """Files for one run. `names` is what the report must call failed, by the file where each lies."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.files)


def to_the_end(command: str) -> str:
    """The command so that one failure does not hide what comes after it, as far as its text says how."""
    for stack in REGISTRY.values():
        command = stack.habits.to_the_end(command)
    return command


def stops_early(candidate: Candidate, command: str) -> bool:
    """Does the runner end at the first failure, by a flag or by the base's settings?"""
    return any(stack.habits.stops(command, lambda name: _text(candidate, name)) for stack in REGISTRY.values())


def _text(candidate: Candidate, path: str) -> str:
    return (candidate.read(candidate.base, path) or b"")[:200_000].decode("utf-8", errors="replace")


def only_documents(candidate: Candidate, green: TestRun) -> bool:
    """Prose alone changed and no test lies in it: no runner is another than before."""
    ran = {case.file or case.id.partition("::")[0] for case in green.cases}
    changed = [file.path for file in candidate.changed]
    return all(path.endswith(PROSE) and path not in ran for path in changed) and tells_single_tests(green)


# ── which files ───────────────────────────────────────────────────────────────────────────────────────


def own_files(candidate: Candidate) -> list[str]:
    """The story's test files, and what else of its diff the Test Command names, that hold tests or could."""
    named = set(named_paths(candidate.spec.test_command))
    found = [
        file.path
        for file in candidate.changed
        if file.status != "D" and file.mode.startswith("100") and _holds_tests(candidate, file.path, named)
    ]
    return sorted(found)[-MOST_FILES:]


def _holds_tests(candidate: Candidate, path: str, named: Collection[str]) -> bool:
    stack = stack_of(path)
    if stack is None or canaries.layer_of(path) is None or stack.judges.fullmatch(path):
        return False
    if stack.tests.fullmatch(path) or path in named:
        return True
    source = candidate.read(candidate.commit, path)
    looks = is_test(candidate, path) or stack.tests_in_code
    return source is not None and looks and bool(tests_in(source, path).tests)


def any_files(candidate: Candidate, green: TestRun) -> list[str]:
    """For a story without tests of its own: the last file of those that its Test Command ran."""
    listing = candidate.files(candidate.commit)
    ran = sorted({case.file or case.id.partition("::")[0] for case in green.cases}.intersection(listing))
    ran = [path for path in ran if canaries.layer_of(path)]
    if ran:
        return ran[-1:]
    named = [path.rstrip("/") for path in named_paths(candidate.spec.test_command)]
    asked = [path for path in named if path in listing or any(other.startswith(f"{path}/") for other in listing)]
    found = [path for path in sorted(listing) if _may_run(candidate, path, asked)]
    return next(([path] for path in reversed(found) if tests_in(_source(candidate, path), path).tests), [])


def _may_run(candidate: Candidate, path: str, asked: list[str]) -> bool:
    below = not asked or any(path == one or path.startswith(f"{one}/") for one in asked)
    return below and canaries.layer_of(path) is not None and is_test(candidate, path)


def _source(candidate: Candidate, path: str, at: Sha | None = None) -> bytes:
    return candidate.read(at or candidate.commit, path) or b""


# ── how a project writes its tests ────────────────────────────────────────────────────────────────────


def style_of(path: str, source: bytes, command: str, green: TestRun, only_one: bool) -> Style:
    stack = stack_of(path)
    known = stack.habits.style if stack is not None else None
    style = known()(path, source, command, green) if known is not None else Style()
    return replace(style, only_one=only_one)


# ── laying ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class LayingGround:
    """What is laid into: a candidate's files, the command that runs them and its green run."""

    candidate: Candidate
    command: str
    green: TestRun
    stops: bool

    @property
    def selects_by_name(self) -> bool:
        """unittest's words say what they name only by what lies in the tree: its own report tells that."""
        own = [call for call in self.green.calls if call.runner == "unittest"]
        return any(selected(call, self.green) for call in own) if own else command_selects_by_name(self.command)

    @property
    def asked(self) -> set[str]:
        """The files that the command names."""
        told = [place for call in self.green.calls if call.runner == "unittest" for place in call.places]
        return {*named_paths(self.command), *told}

    def style(self, path: str) -> Style:
        return style_of(path, _source(self.candidate, path), self.command, self.green, self.stops)

    def made(self, path: str) -> MadeUp:
        source = _source(self.candidate, path)
        written = tests_in(source, path).tests
        return MadeUp(written, taken=source.decode("utf-8", errors="replace"))


def behind(ground: LayingGround, paths: list[str]) -> Laying:
    """In the files themselves, last."""
    laid = {}
    for path in paths[-1:] if ground.stops else paths:
        source = ground.candidate.read(ground.candidate.commit, path)
        if source is not None:
            laid[path] = canaries.append(path, source, ground.made(path), ground.style(path))
    return laying_of(laid)


def beside(ground: LayingGround, paths: list[str]) -> Laying:
    """A new file in each folder of theirs, sorted last."""
    folders: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        folders[str(PurePosixPath(path).parent)].append(path)
    names: dict[str, list[str]] = defaultdict(list)
    for path in ground.candidate.files(ground.candidate.commit):
        names[str(PurePosixPath(path).parent)].append(PurePosixPath(path).name)
    laid = {}
    for folder in sorted(folders)[-1:] if ground.stops else folders:
        like = folders[folder][-1]
        made = ground.made(like)
        place = canaries.beside(like, _tests_among(names[folder], like), made)
        if place is not None and _runs_alone(folder, like):
            laid[place] = canaries.alone(place, _source(ground.candidate, like), made, ground.style(like))
    return laying_of(laid)


def is_a_binary(path: str) -> bool:
    """Is each file of tests alone a program of its own, so that one beside it says nothing of it?"""
    stack = stack_of(path)
    return stack is not None and bool(stack.habits.alone_in)


def _runs_alone(folder: str, like: str) -> bool:
    """Is a file of tests that nothing else names run in this folder?"""
    stack = stack_of(like)
    only = stack.habits.alone_in if stack is not None else ""
    return not only or PurePosixPath(folder).name == only


def _tests_among(names: list[str], like: str) -> list[str]:
    """Neighbours that are named as this one is: `test_…` or whatever its first word says."""
    first = re.match(r"[A-Za-z]*", PurePosixPath(like).name)
    return [name for name in names if first and name.startswith(first[0])]


def own_tests_failing(ground: LayingGround, paths: list[str]) -> Laying:
    """The story's own tests that were green, failing at their first line; names are those that the source has."""
    return _in_own_tests(ground, paths, canaries.first_lines)


def own_tests_expecting(ground: LayingGround, paths: list[str]) -> Laying:
    """The same with another value in the place of one that they expect."""
    return _in_own_tests(ground, paths, canaries.expecting)


def _in_own_tests(ground: LayingGround, paths: list[str], change: Change) -> Laying:
    laid = {}
    for path in paths[-1:] if ground.stops else paths:
        source = ground.candidate.read(ground.candidate.commit, path)
        if source is None:
            continue
        tests = _to_fail(ground, path, source)
        chosen = tests[-1:] if ground.stops else tests
        if chosen:
            laid[path] = change(path, source, chosen, ground.made(path))
    return laying_of(laid)


def _to_fail(ground: LayingGround, path: str, source: bytes) -> list[str]:
    """Of this file's tests those that are new or changed, and were green where the runner says so."""
    before = tests_in(_source(ground.candidate, path, ground.candidate.base), path).tests
    tests = tests_in(source, path).tests
    written = [name for name, test in tests.items() if name not in before or before[name].body != test.body]
    written = written or list(tests)
    if not tells_single_tests(ground.green):
        return written
    green = {test.partition("[")[0] for test in passed_tests(ground.green)}
    ends = {test.rpartition("::")[2] for test in green}
    return [name for name in written if f"{path}::{name}" in green or name.rpartition("::")[2] in ends]


def on_base(ground: LayingGround, laying: Laying) -> Laying:
    """The control: the same places on the base."""
    candidate, laid = ground.candidate, {}
    for path in laying.files:
        made, style = ground.made(path), ground.style(path)
        source = candidate.read(candidate.base, path)
        appended = canaries.append(path, source, made, style) if source is not None else None
        like = _source(candidate, path) or laying.files[path]
        laid[path] = appended or canaries.alone(path, like, made, style)
    return laying_of(laid)


def together(*layings: Laying) -> Laying:
    files = {path: content for one in layings for path, content in one.files.items()}
    return Laying(files, {path: names for one in layings for path, names in one.names.items()})


def laying_of(laid: Mapping[str, Laid | None]) -> Laying:
    sure = {path: one for path, one in laid.items() if one is not None}
    return Laying({p: one.text.encode() for p, one in sure.items()}, {p: one.names for p, one in sure.items()})
