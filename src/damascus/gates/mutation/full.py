"""Depth `full`: every mutant of a changed line, one run each, with the tests that run that line.

1. the tools make the mutants (lines.py), and one run with the probe tells which tests run which lines;
2. each mutant with those tests; where that can't be told, with every test of the command;
3. those tests without a mutant: who is red then kills anything;
4. what lives: again with every test, then with the project's whole suite.

All in the seconds that the bodies left of `mutation_seconds`; what was not run is named.
"""

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from damascus.domain.storable import clean
from damascus.domain.survivors import MutationScore, Survivor
from damascus.domain.verdict import Kind
from damascus.gates.mutation.examination import Examination
from damascus.gates.mutation.lines import MadeMutants, Maker
from damascus.gates.mutation.trials import Attempt, Bench, MutantTrial, one_change
from damascus.gates.requirements import names_requirement, texts_of
from damascus.stacks.mutants import Function, edited, functions_in
from damascus.stacks.mutants.lines import LineMutant
from damascus.stacks.probes import ProbeReport, probe_for

DIFF_SHOWN = 2000
NAMED = 30
"""Lines of which each mutant that was not run is named; of more there is a count."""


@dataclass
class LineExamination:
    bodies: Examination
    made: MadeMutants = field(default_factory=MadeMutants)
    trials: list[MutantTrial] = field(default_factory=list)
    """Of each mutant the last one, in the order of `made.mutants`."""

    def run(self) -> None:
        bench = self.bodies.bench
        self.made = Maker(self.bodies.runner, self.bodies.candidate, self._seconds_left).make()
        if not self.made.mutants:
            return
        self.trials = bench.try_all(self._attempt(one, self.covering(one)) for one in self.made.mutants)
        self.trials = self.bodies.without_the_odd(self.trials)
        self._again(bench)
        if self.bodies.suite is not None:
            self._again(self.bodies.suite)

    def _seconds_left(self) -> float:
        return self.bodies.bench.until - time.monotonic()

    def _attempt(self, mutant: LineMutant, tests: set[str] | None) -> Attempt:
        source = self.made.sources[mutant.path]
        return Attempt(
            where=f"{mutant.path}:{mutant.line}",
            operator=mutant.operator,
            path=mutant.path,
            source=edited(source, [mutant.run], mutant.path),
            selected=tuple(sorted(tests)) if tests else None,
            words=mutant.edit.text,
            diff=one_change(source, edited(source, [mutant.edit], mutant.path), mutant.path),
        )

    def _again(self, bench: Bench) -> None:
        """What lives with some tests may be noticed by others."""
        lives = [n for n, one in enumerate(self.trials) if one.outcome == "survived"]
        wider = [n for n in lives if bench is not self.bodies.bench or not self.bodies.with_all_tests(self.trials[n])]
        tried = bench.try_all(self._attempt(self.made.mutants[n], None) for n in wider)
        for number, trial in zip(wider, tried, strict=True):
            if trial.outcome in ("killed", "not run"):
                self.trials[number] = trial

    # ── which tests run a line ────────────────────────────────────────────────────────────────────────

    @cached_property
    def _seen(self) -> ProbeReport | None:
        """Of the candidate as it is: the lines of the control are others. None: it can't be told."""
        probe = probe_for(dict.fromkeys(one.path for one in self.made.mutants))
        if probe is None or (self.bodies.control.seen is None and self.bodies.changed.functions):
            return None
        run = self.bodies.bench.laid_over({}, "lines", probe=probe)
        as_before = run.exit_code == self.bodies.bench.green.exit_code
        return probe.seen if probe.seen.processes and as_before else None

    def covering(self, mutant: LineMutant) -> set[str] | None:
        """By the report's names; none where nobody was seen to run the line, None where that can't be told."""
        if self._seen is None or mutant.path not in self._seen.lines:
            return None
        lines = self._seen.lines[mutant.path]
        touched = range(mutant.line, mutant.line + 1 + self._height(mutant))
        return self.bodies.reported({test for line in touched for test in lines.get(line, ())}, self._seen)

    def _height(self, mutant: LineMutant) -> int:
        return self.made.sources[mutant.path].count(b"\n", mutant.edit.start, mutant.edit.end)

    # ── what is told ──────────────────────────────────────────────────────────────────────────────────

    def survivors(self) -> list[Survivor]:
        pairs = zip(self.made.mutants, self.trials, strict=True)
        return [self._survivor(mutant, trial) for mutant, trial in pairs if trial.outcome == "survived"]

    def _survivor(self, mutant: LineMutant, trial: MutantTrial) -> Survivor:
        tests = self.covering(mutant)
        return Survivor(
            path=clean(mutant.path),
            line=mutant.line,
            operator=clean(mutant.operator),
            by=mutant.by,
            mark=self._mark(mutant),
            diff=clean(trial.diff[:DIFF_SHOWN]),
            tests=sorted(tests or ()),
            covered=None if tests is None else bool(tests),
            requirements=self._requirements(tests),
            refuses=self.bodies.candidate.spec.kind is Kind.FEATURE,
        )

    def _requirements(self, tests: set[str] | None) -> list[str]:
        """Those that a covering test names; where no such test is known, it may be any of them."""
        every = [need.id for need in self.bodies.requirements]
        texts = " ".join(texts_of(self.bodies.candidate, sorted(tests or ())))
        return [ident for ident in every if names_requirement(texts, ident)] or every

    def _mark(self, mutant: LineMutant) -> str:
        """Another function, or another change of it, is another mutant."""
        around = self._function(mutant) or self.made.sources[mutant.path].decode("utf-8", "replace")
        said = [mutant.path, around, mutant.operator, mutant.edit.text, self._ordinal(mutant)]
        return hashlib.sha256("\0".join(said).encode()).hexdigest()[:16]

    def _ordinal(self, mutant: LineMutant) -> str:
        """Which of the mutants that say the same in one function."""
        same = [
            one
            for one in self.made.mutants
            if (one.path, one.operator, one.edit.text) == (mutant.path, mutant.operator, mutant.edit.text)
            and self._function(one) == self._function(mutant)
        ]
        return str(same.index(mutant))

    def _function(self, mutant: LineMutant) -> str | None:
        inside = [one for one in self._functions(mutant.path) if one.first_line <= mutant.line <= one.last_line]
        return min(inside, key=lambda one: one.last_line - one.first_line).body if inside else None

    def _functions(self, path: str) -> list[Function]:
        if path not in self._known:
            try:
                self._known[path] = functions_in(self.made.sources[path], path)
            except ValueError:
                self._known[path] = []
        return self._known[path]

    @cached_property
    def _known(self) -> dict[str, list[Function]]:
        return {}

    def score(self) -> MutationScore:
        hung = [one for one in self.trials if one.killed and one.run is not None and one.run.timed_out]
        count = {name: sum(one.outcome == name for one in self.trials) for name in ("survived", "unviable", "not run")}
        return MutationScore(
            by=self.made.by,
            killed=sum(one.killed for one in self.trials) - len(hung),
            survived=count["survived"],
            timed_out=len(hung),
            unviable=count["unviable"],
            not_run=count["not run"],
            total=len(self.trials),
        )

    def unverified(self) -> Iterator[str]:
        yield from self.made.unverified
        yield from (f"mutation: full: {one.told}" for one in self.survivors() if not one.refuses)
        missing = [one for one in self.trials if one.outcome == "not run"]
        lines = list(dict.fromkeys(one.where for one in missing))
        for where in lines[:NAMED]:
            words = ", ".join(one.operator for one in missing if one.where == where)
            yield f"mutation: full: {where}: not run in time: {words}"
        if len(lines) > NAMED:
            rest = sum(one.where in lines[NAMED:] for one in missing)
            yield f"mutation: full: not run in time: {rest} mutants on {len(lines) - NAMED} more lines (mutants.json)"
