"""Old tests that a story worded anew: its wording must notice what main's wording notices.

Where the code stays right, main's own tests are green on it, whatever the story made of them; only a mutant tells the
two wordings apart. So the functions that main's wording covers get mutants of their bodies, a handful, and both
wordings are run on each. What was asked under one name may be asked under another one now: a test that did not notice
before and does now stands for those that no longer do.
"""

import re
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from os import cpu_count
from pathlib import PurePosixPath

from damascus.domain.once import once
from damascus.domain.ports import Candidate, EvidenceRunner, Probe, TestRun
from damascus.gates.base_tests import belongs_to_tests, of_tests
from damascus.gates.code_with_base_tests import BaseTests
from damascus.gates.mutation.trials import AT_ONCE, Bench
from damascus.gates.permitted import permits
from damascus.gates.runs import failed_tests, job, passed_tests, tells_single_tests
from damascus.stacks.mutants import Function, Mutant, Values, edited, functions_in, reads
from damascus.stacks.python.probe.reading import ProbeReport, PythonProbe
from damascus.stacks.python.same_tests import same_tests

FUNCTIONS = 24
ELSEWHERE = 8
"""Where every test runs with every mutant."""
FILES = 400
WORD = re.compile(r"\w+")
OFF = "old tests: mutation is off, so nobody knows whether those that were worded anew ask for as much"


@dataclass(frozen=True)
class Weaker:
    """A test, and the mutant that main's wording of it notices."""

    test: str
    where: str
    operator: str

    def __str__(self) -> str:
        return f"{self.test} (`{self.operator}` in {self.where})"


@dataclass
class Wordings:
    """Both wordings under one command."""

    runner: EvidenceRunner
    candidate: Candidate
    old: BaseTests
    command: str
    until: float
    values: Values = field(default_factory=Values.drawn)
    weaker: list[Weaker] = field(default_factory=list)
    unverified: list[str] = field(default_factory=list)
    tried: int = 0

    def compare(self) -> None:
        if not self.worded_anew:
            return
        if not (tells_single_tests(self.before) and tells_single_tests(self.now)):
            self.unverified.append(f"old tests: `{self.command}` does not tell which test noticed a mutant")
            return
        functions = self._covered()
        if not functions:
            self.unverified += [f"old tests: no function is known that {one} covers" for one in self.worded_anew[:20]]
        limit = FUNCTIONS if self._python else ELSEWHERE
        with ThreadPoolExecutor(max(1, min(cpu_count() or 1, AT_ONCE)), thread_name_prefix="wording") as pool:
            for found in pool.map(self._try, enumerate(functions[:limit])):
                self.weaker += found
        left = [one.where for one in functions[limit:]]
        if left:
            self.unverified.append(
                f"old tests: worded anew, not tried with {len(left)} functions: {', '.join(left[:5])}"
            )

    # ── which tests ───────────────────────────────────────────────────────────────────────────────────

    @once
    def before(self) -> TestRun:
        """Main's wording on the story's code."""
        wanted = job(self.candidate, self.old.tree, self.command, "old-tests")
        return self.runner.run(replace(wanted, files=self.old.files))

    @once
    def now(self) -> TestRun:
        return self.runner.run(job(self.candidate, self.candidate.tree, self.command, "old-tests-story"))

    @once
    def _python(self) -> bool:
        return any("::" in one and one.partition("::")[0].endswith(".py") for one in passed_tests(self.before))

    @once
    def worded_anew(self) -> list[str]:
        """Tests of the base that are green as it has them, and whose words, or what they rest on, are others now."""
        may = (*self.candidate.spec.may_change, *self.candidate.spec.may_remove)
        tests = [test for test in passed_tests(self.before) if not permits(may, test)]
        files = {file.path: file.status for file in of_tests(self.candidate) if file.status != "A"}
        if not files and not self.old.files:
            return []
        if not self._python:
            return tests
        kept: dict[str, Collection[str]] = {}
        for path in files:
            if not any(test.startswith(f"{path}::") for test in tests):
                return tests  # a helper, a fixture, data: whoever uses it
            both = [self.candidate.read(commit, path) or b"" for commit in (self.candidate.base, self.candidate.commit)]
            kept[path] = same_tests(*both)
        return [test for test in tests if (path := test.partition("::")[0]) in kept and _name(test) not in kept[path]]

    # ── which functions ───────────────────────────────────────────────────────────────────────────────

    def _covered(self) -> list[Function]:
        """Those that main's wording runs, by the probe; in other stacks those that it names. Named ones first."""
        words = self._words
        found = list(self._run_by_them() if self._python else self._named(words))
        return sorted(found, key=lambda one: (_last(one) not in words, one.soft))

    @once
    def _words(self) -> set[str]:
        paths = [*(file.path for file in of_tests(self.candidate) if file.status != "A"), *self.old.files]
        texts = (self.candidate.read(self.candidate.base, path) or b"" for path in paths)
        return {word for text in texts for word in WORD.findall(text.decode("utf-8", errors="replace"))}

    def _run_by_them(self) -> Iterator[Function]:
        probe = PythonProbe()
        run = self._run(self._main, {}, "old-wording-probe", self.worded_anew, probe)
        red = set(failed_tests(run))
        self.worded_anew = [test for test in self.worded_anew if test not in red]  # it needs others to run before it
        for path, lines in probe.seen.calls.items():
            if not belongs_to_tests(self.candidate, path) and path.endswith(".py"):
                called = {line for line, tests in lines.items() if tests - {""}}
                yield from (one for one in self._functions(path, probe.seen) if one.first_line in called)

    def _named(self, words: set[str]) -> Iterator[Function]:
        suffixes = {PurePosixPath(file.path).suffix for file in of_tests(self.candidate)}
        suffixes |= {PurePosixPath(path).suffix for path in self.old.files}
        paths = [path for path in sorted(self.candidate.files(self.candidate.tree)) if reads(path)]
        paths = [path for path in paths if PurePosixPath(path).suffix in suffixes]
        for path in [path for path in paths if not belongs_to_tests(self.candidate, path)][:FILES]:
            yield from (one for one in self._functions(path) if _last(one) in words)

    def _functions(self, path: str, seen: ProbeReport | None = None) -> list[Function]:
        source = self.candidate.read(self.candidate.commit, path)
        try:
            return functions_in(source or b"", path, seen.types.get(path) if seen else None, self.values)
        except ValueError:
            return []

    # ── both on one mutant ────────────────────────────────────────────────────────────────────────────

    def _try(self, numbered: tuple[int, Function]) -> list[Weaker]:
        """Two answers, and a blow-up where main's wording noticed neither."""
        number, function = numbered
        whole = [one for one in function.mutants if not one.half]
        noticed = False
        for at, mutant in enumerate([*whole[:-1][:2], whole[-1]]):
            if not mutant.answers and noticed:
                break
            if time.monotonic() > self.until or self.candidate.given_up():
                self.unverified.append(f"old tests: worded anew, not tried in time: {function.where}")
                break
            died, lost = self._died(function, mutant, f"{number + 1}-{at + 1}")
            noticed = noticed or bool(died)
            if lost:  # once more, so that luck is known from loss
                again = self._died(function, mutant, f"{number + 1}-{at + 1}-again")[1]
                return [Weaker(test, function.where, mutant.operator) for test in lost if test in again]
        return []

    def _died(self, function: Function, mutant: Mutant, label: str) -> tuple[list[str], list[str]]:
        """Tests that notice it in main's wording, and of them those that no longer do, nor a new one for them."""
        self.tried += 1
        source = self.candidate.read(self.candidate.commit, function.path) or b""
        old = self._run(self._main, self._as_main_has_it(function, mutant, source), f"old-wording-{label}", self._known)
        died = [test for test in self.worded_anew if _noticed(test, old)]
        if not died or old.timed_out:
            return [], []
        laid = {function.path: edited(source, [mutant.edit], function.path)}
        new = self._run(self._story, laid, f"new-wording-{label}", self._asked)
        others = [test for test in failed_tests(new) if not _noticed(test, old)]
        if new.timed_out or (others and self._ask_the_code(function, source, others, label)):
            return died, []
        return died, [test for test in died if not _noticed(test, new)]

    def _ask_the_code(self, function: Function, source: bytes, tests: list[str], label: str) -> bool:
        """Is one of them green with a statement that does nothing? Else they look at the source."""
        laid = {function.path: edited(source, [function.control], function.path)}
        run = self._run(self._story, laid, f"new-wording-{label}-control", tests)
        return any(not _noticed(test, run) for test in tests)

    def _as_main_has_it(self, function: Function, mutant: Mutant, source: bytes) -> dict[str, bytes | None]:
        """A source with main's tests inside has its functions at other places."""
        files = dict(self.old.files)
        held = files.get(function.path)
        if held is None:
            return {**files, function.path: edited(source, [mutant.edit], function.path)}
        for one in functions_in(held, function.path, None, self.values):
            if (one.name, one.body) == (function.name, function.body):
                same = [each for each in one.mutants if each.operator == mutant.operator]
                return {**files, function.path: edited(held, [each.edit for each in same], function.path)}
        return files

    @once
    def _known(self) -> list[str]:
        return self._beside(self.before)

    @once
    def _asked(self) -> list[str]:
        return self._beside(self.now)

    def _beside(self, run: TestRun) -> list[str]:
        """The same tests, and all that the changed files hold."""
        paths = {file.path for file in of_tests(self.candidate)}
        plain = {_plain(test) for test in self.worded_anew}
        tests = [case.id for case in run.cases]
        return [test for test in tests if test.partition("::")[0] in paths or _plain(test) in plain]

    @once
    def _main(self) -> Bench:
        return Bench(self.runner, self.candidate, self.command, self.before, self.until, tree=self.old.tree)

    @once
    def _story(self) -> Bench:
        return Bench(self.runner, self.candidate, self.command, self.now, self.until)

    def _run(
        self,
        bench: Bench,
        files: Mapping[str, bytes | None],
        label: str,
        selected: Collection[str],
        probe: Probe | None = None,
    ) -> TestRun:
        return bench.laid_over(files, label, selected if self._python else None, probe)


def _noticed(test: str, run: TestRun) -> bool:
    """Is it red, or one of its cases, or the file that it is in?"""
    red = {_plain(one) for one in failed_tests(run)}
    return _plain(test) in red or test.partition("::")[0] in red


def _plain(test: str) -> str:
    return test.partition("[")[0]


def _name(test: str) -> str:
    """The outermost thing in its file that holds it: a function or a class."""
    return _plain(test).split("::")[1] if "::" in test else ""


def _last(function: Function) -> str:
    return re.split(r"\.|::", function.name)[-1]
