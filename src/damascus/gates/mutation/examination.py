"""All trials of one candidate, in the order that saves most runs, and what is known after them.

1. the control, with the probe: which tests call which changed function, which tests look at the source;
2. a constant and a blow-up of each function with the tests that call it, then those tests without a mutant;
3. what survived and would be refused: again with every test of the command, then with the project's whole suite;
4. requirements whose tests died with none: the rest of the changes, one by one;
5. the control once more: who is red now killed by luck, or by the clock.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from os import cpu_count

from damascus.domain.once import once
from damascus.domain.ports import Candidate, EvidenceRunner, TestRun
from damascus.domain.spec import Requirement
from damascus.domain.verdict import Kind
from damascus.gates.mutation.changed import Changed, changed_code, functions_of
from damascus.gates.mutation.control import Control, control, judges_the_text, newly_red
from damascus.gates.mutation.trials import AT_ONCE, Attempt, Bench, MutantTrial
from damascus.gates.requirements import NOT_YET, names_requirement, texts_of
from damascus.gates.runs import job, passed_tests, tells_single_tests
from damascus.gates.suite import suite_at
from damascus.stacks.mutants import Function, Mutant, noticed
from damascus.stacks.probes import ProbeReport, probed

ASIDES = 12


@dataclass
class Examination:
    runner: EvidenceRunner
    candidate: Candidate
    changed: Changed
    trials: list[MutantTrial] = field(default_factory=list)
    later: list[MutantTrial] = field(default_factory=list)
    """With every test, with the suite, on the base: they can only acquit."""
    asides: list[MutantTrial] = field(default_factory=list)
    reshaped: dict[str, MutantTrial] = field(default_factory=dict)
    """By the function: its answers with other values in the same shape."""
    flaky: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.until = time.monotonic() + self.candidate.config.gates.mutation_seconds
        green = self.runner.run(job(self.candidate, self.candidate.tree, self.candidate.spec.test_command, "tests"))
        self.bench = Bench(self.runner, self.candidate, self.candidate.spec.test_command, green, self.until)

    # ── the runs ──────────────────────────────────────────────────────────────────────────────────────

    def run(self) -> None:
        first = self.control
        if first.red:
            return
        self.bench.mute |= {*first.readers, *first.flaky}
        self.flaky += first.flaky
        self.changed = changed_code(self.candidate, first.seen, self.changed.values)
        self.trials = self.bench.try_all(self._first_round())
        self._alone()
        self._acquit()
        self._reshape()
        if all(map(self.unknown, self.refused)):
            self._needs()
            self._last_control()

    @once
    def control(self) -> Control:
        return control(self.bench, self.changed)

    @once
    def command_reads_sources(self) -> bool:
        return self.control.red and judges_the_text(self.bench, self.changed)

    def _first_round(self) -> Iterator[Attempt]:
        """One constant and the blow-up; the other constants only where the first was not noticed."""
        for function in sorted(self.changed.functions, key=lambda one: not one.strict):
            yield from self._attempts(
                function, [function.mutants[0], *([function.mutants[-1]] if function.strict else [])]
            )

    def _attempts(self, function: Function, mutants: list[Mutant]) -> Iterator[Attempt]:
        callers = self.callers(function)
        if callers is not None and not callers:
            return  # nobody calls it; asked again with every test before that is believed
        for mutant in mutants:
            yield Attempt.of(function, mutant, self.changed.sources[function.path], callers)

    def callers(self, function: Function) -> set[str] | None:
        """The tests that call it, by the names of the report; None: all of them, for all we know."""
        seen = self.control.seen
        if seen is None or function.by_name or not probed(function.path) or not self._tests_by_name:
            return None
        return _known_names(seen.callers(function.path, function.first_line), self._tests_by_name)

    def reported(self, tests: set[str], seen: ProbeReport) -> set[str] | None:
        """By the names of the report; None: all of them, for all we know."""
        return _known_names(tests, self._by_name(seen))

    @once
    def _tests_by_name(self) -> dict[str, str]:
        return self._by_name(self.control.seen)

    def _by_name(self, seen: ProbeReport | None) -> dict[str, str]:
        """From the name that pytest uses, relative to its root, to the name by the checkout's paths."""
        reported = passed_tests(self.bench.green)
        told = {test for lines in seen.calls.values() for tests in lines.values() for test in tests} if seen else set()
        known = set(reported)
        for test in sorted(told - {""}):
            match = [one for one in reported if one == test or one.endswith("/" + test)]
            if match:
                before = match[0][: len(match[0]) - len(test)]
                return {one.removeprefix(before): one for one in known}
        return {}

    def _alone(self) -> None:
        """Who was killed among few tests must be green among the same few without a mutant: some tests need others to
        have run before them, and would be red with anything."""
        self.trials = self.without_the_odd(self.trials)

    def without_the_odd(self, trials: list[MutantTrial]) -> list[MutantTrial]:
        chosen = list({one.selected: one.selected for one in trials if one.killed and one.selected is not None})
        with ThreadPoolExecutor(max(1, min(cpu_count() or 1, AT_ONCE)), thread_name_prefix="control") as pool:
            odd = dict(zip(chosen, pool.map(self._red_among, enumerate(chosen)), strict=True))
        return [_without(one, odd[one.selected]) if one.selected in odd else one for one in trials]

    def _red_among(self, numbered: tuple[int, tuple[str, ...] | None]) -> set[str] | None:
        """None: there was no time to see."""
        number, selected = numbered
        if self.bench.over:
            return None
        run = self.bench.laid_over(self.changed.controls(), f"control-{number + 1}", selected)
        red = newly_red(self.bench.green, run)
        return red if red or run.exit_code == self.bench.green.exit_code else set(selected or ())

    # ── before anybody is refused ─────────────────────────────────────────────────────────────────────

    @property
    def refused(self) -> list[Function]:
        return [one for one in self.changed.functions if one.strict and self.unnoticed(one)]

    def _acquit(self) -> None:
        for function in self.refused:
            self._with(self.bench, function)
        if self.refused and self.suite is not None:
            for function in self.refused:
                self._with(self.suite, function)

    def _with(self, bench: Bench, function: Function) -> None:
        """Until a constant and a blow-up were noticed. What ran with every test of this command is not run again."""
        source = self.changed.sources[function.path]
        known = {one.operator for one in self.of(function) if bench is self.bench and self.with_all_tests(one)}
        more = [function.blow_up] if function.blow_up and not self._open(function, True) else []
        for mutant in (*function.mutants, *more):
            if mutant.operator not in known and self._open(function, mutant.answers):
                self.later.append(bench.attempt(Attempt.of(function, mutant, source, None)))

    def _reshape(self) -> None:
        """A test that reads a key or unpacks a pair breaks over an answer without it, and may look at nothing."""
        for function in self.changed.functions if self.candidate.spec.kind is Kind.FEATURE else ():
            kills = [one for one in self.of(function) if one.killed and one.answers]
            if not function.strict or function.reshaped is None or not kills or not all(one.broke for one in kills):
                continue
            source = self.changed.sources[function.path]
            for bench in (self.bench, *([self.suite] if self.suite is not None else [])):
                self.reshaped[function.where] = bench.attempt(Attempt.of(function, function.reshaped, source, None))
                if self.reshaped[function.where].outcome != "survived":
                    break

    def with_all_tests(self, trial: MutantTrial) -> bool:
        return trial.selected is None or set(passed_tests(self.bench.green)) <= set(trial.selected)

    def _open(self, function: Function, answers: bool) -> bool:
        killed = {one.operator for one in self.of(function) if one.killed and one.answers == answers}
        return not (noticed(function, killed) if answers else killed)

    def of(self, function: Function) -> list[MutantTrial]:
        return [one for one in (*self.trials, *self.later) if one.where == function.where]

    def unnoticed(self, function: Function) -> str | None:
        """Why nothing shows that a test needs this function; None if a constant and a blow-up were noticed."""
        if function.where in self.reshaped and self.reshaped[function.where].outcome == "survived":
            return "shape"
        every = self.of(function)
        constants = [one for one in every if one.answers and one.outcome != "unviable"]
        raised = [one for one in every if not one.answers and one.outcome != "unviable"]
        cut = any(one.outcome == "not run" for one in constants)
        if (constants or len(every) == len(raised) == 0) and self._open(function, True) and not cut:
            return "constants"
        return "raise" if _nobody_noticed(raised) else None

    def unknown(self, function: Function) -> bool:
        """Nothing shows that it is a function at all: it may be a class, or nobody calls it."""
        return function.by_name and not any(one.killed and not one.answers for one in self.of(function))

    @once
    def suite(self) -> Bench | None:
        """The project's whole test command, where it is another one and green."""
        command = suite_at(self.candidate).command
        if command in ("", self.bench.command):
            return None
        green = self.runner.run(job(self.candidate, self.candidate.tree, command, "suite"))
        ended = green.exit_code == 0 and not green.timed_out
        return Bench(self.runner, self.candidate, command, green, self.until, "suite-mutant") if ended else None

    def weak_on_base(self, function: Function) -> bool:
        """For a refactor: did the base's own tests notice no more, or is there nothing to compare with?"""
        base = self.bench.on_base()
        last = function.name.rpartition(".")[2]
        before = functions_of(self.candidate, self.candidate.base, self.changed.values)
        old = [one for one in before if one.name.rpartition(".")[2] == last]
        if not old or self.bench.over:
            return True
        source = self.candidate.read(self.candidate.base, old[0].path) or b""
        trials = [base.attempt(Attempt.of(old[0], one, source, None)) for one in old[0].mutants]
        self.later += [one for one in trials if not one.killed]
        return not noticed(old[0], {one.operator for one in trials if one.killed and one.answers})

    # ── requirements ──────────────────────────────────────────────────────────────────────────────────

    @once
    def requirements(self) -> list[Requirement]:
        return [need for need in self.candidate.spec.requirements if need.tag not in NOT_YET]

    def tests_naming(self, ident: str) -> list[str]:
        tests = [test for test in passed_tests(self.bench.green) if test not in self.bench.mute]
        return [test for test in tests if names_requirement(" ".join(texts_of(self.candidate, [test])), ident)]

    def needs_the_code(self, test: str) -> bool:
        """Does it die with a mutant that answers something? A blow-up is noticed by a test that asks nothing, too."""
        died = [one for one in (*self.trials, *self.later) if one.killed and one.answers and one.noticed_by(test)]
        functions = {one.where: one.function for one in died if one.function is not None}
        if any(noticed(of, {one.operator for one in died if one.where == at}) for at, of in functions.items()):
            return True
        return any(one.killed and one.noticed_by(test) for one in self.asides)

    def unneeding(self) -> list[str]:
        """Requirements of which no test needs the changed code."""
        if not tells_single_tests(self.bench.green):
            return []
        return [need.id for need in self.requirements if not any(map(self.needs_the_code, self.tests_naming(need.id)))]

    def _needs(self) -> None:
        if self.candidate.spec.kind is not Kind.FEATURE or not self.unneeding():
            return
        for function in self.changed.functions:
            known = {one.operator for one in self.of(function) if self.with_all_tests(one)}
            self.later += self.bench.try_all(
                Attempt.of(function, mutant, self.changed.sources[function.path], None)
                for mutant in function.mutants
                if mutant.answers and mutant.operator not in known
            )
        if self.unneeding():
            self.asides = self.bench.try_all(
                Attempt(f"{one.path} {one.operator}", one.operator, one.path, one.source)
                for one in self.changed.asides[:ASIDES]
            )

    # ── luck ──────────────────────────────────────────────────────────────────────────────────────────

    def _last_control(self) -> None:
        """A test that kills by luck, or from some time on, is red without a mutant as well. Those that killed among few
        tests were looked at already, after their mutants."""
        everywhere = [*self.trials, *self.later, *self.asides]
        if self.bench.over or not any(one.killed and one.selected is None for one in everywhere):
            return
        run = self.bench.laid_over(self.changed.controls(), "control-last")
        odd = newly_red(self.bench.green, run) - self.bench.mute
        self.flaky += sorted(odd)
        self.bench.mute |= odd
        if odd:
            self.trials = [_without(one, odd) for one in self.trials]
            self.later = [_without(one, odd) for one in self.later]
            self.asides = [_without(one, odd) for one in self.asides]

    @property
    def runs(self) -> list[TestRun]:
        return [one.run for one in self.every if one.run is not None]

    @property
    def every(self) -> list[MutantTrial]:
        return [*self.trials, *self.later, *self.asides, *self.reshaped.values()]


def _known_names(tests: set[str], by_name: dict[str, str]) -> set[str] | None:
    found = {by_name.get(test, "") for test in tests}
    return None if "" in found else found


def _nobody_noticed(trials: list[MutantTrial]) -> bool:
    """What was not run in time might have been noticed."""
    return not any(one.killed or one.outcome == "not run" for one in trials)


def _without(trial: MutantTrial, odd: set[str] | None) -> MutantTrial:
    """What is left of a kill when these tests count for nothing; None: nobody knows."""
    if odd is None or not trial.killed:
        return replace(trial, outcome="not run") if trial.killed else trial
    died = tuple(test for test in trial.died if test not in odd)
    lucky = odd >= set(trial.selected or ("",)) if trial.everybody else not died
    return replace(trial, died=died, outcome="survived" if lucky else "killed")
