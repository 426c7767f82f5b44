"""Gate old_tests: what the base's own tests say of the candidate's code.

A story may word an old test anew so that it asks less, in more ways than can be recognised. So its wording is not
looked at: every test, helper and snapshot is put back as the base has it, the story's new ones are left out, and what
is run is a promise that was made before. Whatever was green on the base and is red or missing then is refused, unless
the spec's may_change or may_remove names it. Where the story broke a test that it left alone, its agent is told; where
it worded the test anew and all else is green, only a person can say which of the two is right.
"""

import time
from collections.abc import Collection
from dataclasses import dataclass, replace

from damascus.domain.ports import Candidate, Evidence, EvidenceRunner, Finding, Gate, GateName, GateResult, Job, TestRun
from damascus.domain.verdict import Verdict
from damascus.evidence.diff_paths import is_test, named_paths
from damascus.gates.adapted_tests import adapted
from damascus.gates.base_tests import of_tests
from damascus.gates.code_with_base_tests import BaseTests, with_base_tests
from damascus.gates.compared_runs import compared
from damascus.gates.permitted import permits
from damascus.gates.reworded_tests import OFF, Wordings
from damascus.gates.runs import evidence, failed_tests, job, passed_tests, tells_single_tests, to_the_end
from damascus.gates.side_by_side import side_by_side
from damascus.gates.suite import suite_at
from damascus.gates.tests_in_sources import tests_in_sources
from damascus.git.mirror import Mirror
from damascus.git.trees import parents
from damascus.stacks import tests_in_code

NAMED = 40
BROKEN = (
    "old tests are red or missing on this code, run as main has them: {}. Repair the code so that they pass as they "
    "are; only the spec (may_change) lets a test say something else."
)
WEAKER = "old tests ask for less: main's wording of them is red with these mutants, the story's is green: {}."
CHANGED = "old tests hold no more: as main has them, these are red or missing on the story's code: {}."


@dataclass(frozen=True)
class OldTestsSaid:
    """What one command said of the base's tests on the candidate's code."""

    run: TestRun
    lost: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()


class OldTests(Gate):
    name = GateName.OLD_TESTS

    def __init__(self, runner: EvidenceRunner, mirror: Mirror) -> None:
        self._runner = runner
        self._mirror = mirror

    def check(self, candidate: Candidate) -> GateResult:
        if not has_tests(candidate):
            return self._nothing(candidate, "old tests: the base has none")
        old = with_base_tests(candidate, self._mirror)
        return self._reworded(candidate, old, self._on_the_code(candidate, old))

    def _on_the_code(self, candidate: Candidate, old: BaseTests) -> GateResult:
        if not old.files and old.tree == self._mirror.tree(candidate.base):
            summary = Evidence(gate=self.name, tree=old.tree, summary="no code was changed")
            return GateResult(gate=self.name, evidence=[summary])
        told = [one for command in self._commands(candidate) if (one := self._run(candidate, old, command))]
        if not told:
            return self._nothing(candidate, "old tests: no command runs those of the base ([test] command)")
        return self._judged(candidate, old, told)

    def _reworded(self, candidate: Candidate, old: BaseTests, result: GateResult) -> GateResult:
        """What is green on the code as main has it must ask for as much as the story has it."""
        changed = any(file.status != "A" for file in of_tests(candidate)) or bool(old.files)
        if result.findings or not changed:
            return result
        if candidate.config.gates.mutation == "off":
            return result.model_copy(update={"unverified": [*result.unverified, OFF]})
        until = time.monotonic() + candidate.config.gates.mutation_seconds / 2
        old = replace(old, files={**old.files, **adapted(candidate)})
        pairs = [Wordings(self._runner, candidate, old, command, until) for command in self._commands(candidate)]
        for pair in pairs:
            pair.compare()
        weaker = [one for pair in pairs for one in pair.weaker]
        tests = list(dict.fromkeys(one.test for one in weaker))
        message = WEAKER.format(_listed([str(one) for one in weaker]))
        tried = sum(pair.tried for pair in pairs)
        summary = Evidence(gate=self.name, tree=candidate.tree, summary=f"tests worded anew: {tried} mutants tried")
        more = {
            "asks": [*result.asks, *([self._ask(candidate, tests, message)] if tests else [])],
            "unverified": [*result.unverified, *(line for pair in pairs for line in pair.unverified)],
            "evidence": [*result.evidence, *([summary] if tried else [])],
        }
        return result.model_copy(update=more)

    def _nothing(self, candidate: Candidate, why: str) -> GateResult:
        summary = Evidence(gate=self.name, tree=candidate.tree, summary=why)
        return GateResult(gate=self.name, evidence=[summary], unverified=[why])

    def _commands(self, candidate: Candidate) -> list[str]:
        """The project's own, and the story's where it names nothing that is new and runs what the other does not."""
        whole, own = suite_at(candidate).command, candidate.spec.test_command
        first = [whole] if whole else []
        if own == whole or not runs_on_base(candidate, own):
            return first
        known = set(passed_tests(self._on_base(candidate, whole))) if whole else set()
        base = self._on_base(candidate, own)
        covered = tells_single_tests(base) and known.issuperset(passed_tests(base))
        return first if covered and first else [*first, own]

    def _on_base(self, candidate: Candidate, command: str) -> TestRun:
        return self._runner.run(job(candidate, self._mirror.tree(candidate.base), command, "old-tests-base"))

    def _run(self, candidate: Candidate, old: BaseTests, command: str) -> OldTestsSaid | None:
        before = self._on_base(candidate, command)
        wanted = replace(job(candidate, old.tree, command, "old-tests"), files=old.files)
        now = self._runner.run(wanted)
        found = compared(before, now)
        if found.unknown:
            return OldTestsSaid(now, unverified=(f"old tests: {found.unknown}",))
        entries = (*candidate.spec.may_change, *candidate.spec.may_remove)
        lost = tuple(test for test in found.lost if not permits(entries, test))
        allowed = [test for test in found.lost if test not in lost]
        notes = (f"old tests: changed by the spec's word: {_listed(allowed)}",) if allowed else ()
        return (
            self._looked_closer(candidate, wanted, before, OldTestsSaid(now, lost, notes=notes))
            if lost
            else OldTestsSaid(now, notes=notes)
        )

    def _looked_closer(self, candidate: Candidate, wanted: Job, before: TestRun, told: OldTestsSaid) -> OldTestsSaid:
        """Once more, so that luck is known from loss, each file for itself; then under the names the code has now."""
        closer = replace(wanted, env=to_the_end(wanted.env), fresh=True)
        again = compared(before, self._runner.run(closer)).lost
        red = set(failed_tests(told.run))
        flaky = [test for test in told.lost if test not in again and test in red]
        lost = [test for test in told.lost if test in again]
        held: list[str] = []
        if lost and (files := adapted(candidate)):
            still = compared(before, self._runner.run(replace(closer, files={**closer.files, **files}))).lost
            held = [test for test in lost if test not in still]
        return OldTestsSaid(
            told.run,
            tuple(test for test in lost if test not in held),
            tuple(f"old tests: red, then green on the same tree: {test}" for test in flaky),
            (
                *told.notes,
                *([f"old tests: green under the names that the code has now: {_listed(held)}"] if held else []),
            ),
            tuple(flaky),
        )

    def _judged(self, candidate: Candidate, old: BaseTests, told: list[OldTestsSaid]) -> GateResult:
        broken: list[str] = []
        changed: list[str] = []
        for one in told:
            for test in one.lost:
                by_story = self._worded_anew(candidate, one.run.command, test)
                (changed if by_story else broken).append(test)
        findings = [self._broken(candidate, list(dict.fromkeys(broken)), told)] if broken else []
        tests = list(dict.fromkeys(changed))
        asks = [self._ask(candidate, tests, CHANGED.format(_listed(tests)))] if changed else []
        return GateResult(
            gate=self.name,
            findings=findings,
            asks=asks,
            evidence=[evidence(self.name, one.run) for one in told],
            unverified=[*old.told, *(line for one in told for line in one.unverified)],
            notes=[line for one in told for line in one.notes],
            flaky=list(dict.fromkeys(test for one in told for test in one.flaky)),
        )

    def _worded_anew(self, candidate: Candidate, command: str, test: str) -> bool:
        """Is it the story's change of what was there (the test, a helper) that keeps this one from being red? By the
        run: it is green, or not there at all, with the story's own wording. What only new files do is no wording."""
        old = {file.path for file in of_tests(candidate) if file.status != "A"} | set(tests_in_sources(candidate).files)
        if not old:
            return False
        run = self._runner.run(job(candidate, candidate.tree, command, "old-tests-story"))
        if not tells_single_tests(run):
            return run.green
        if test in passed_tests(run):
            return True
        return all(case.id != test for case in run.cases) and test.partition("::")[0] in old

    def _broken(self, candidate: Candidate, tests: list[str], told: list[OldTestsSaid]) -> Finding:
        output = next((one.run.output for one in told if one.lost), "")
        message = BROKEN.format(_listed(tests))
        return Finding(gate=self.name, verdict=Verdict.TESTS_WEAKENED, message=message, tests=tests, output=output)

    def _ask(self, candidate: Candidate, tests: list[str], message: str) -> Finding:
        inside = tests_in_sources(candidate).files
        files = [file for file in of_tests(candidate) if file.status != "A"]
        files += [file for file in candidate.changed if file.path in inside]
        shown = side_by_side(candidate, files, tests)
        candidate.logs.mkdir(parents=True, exist_ok=True)
        (candidate.logs / "old-tests.diff").write_text(shown.whole, errors="replace")
        return Finding(
            gate=self.name,
            verdict=Verdict.TESTS_WEAKENED,
            message=message,
            paths=[file.path for file in files],
            tests=tests,
            output=shown.shown,
            mark=shown.mark,
        )


def _listed(tests: list[str]) -> str:
    more = len(tests) - NAMED
    return ", ".join(tests[:NAMED]) + (f" and {more} more" if more > 0 else "")


def has_tests(candidate: Candidate) -> bool:
    """Where tests may lie inside the sources, any of them may hold one."""
    return any(is_test(candidate, path) or tests_in_code(path) for path in candidate.files(candidate.base))


def runs_on_base(candidate: Candidate, command: str) -> bool:
    """Every path that the command names is there before the story; what is no path of either does not count."""
    before, now = _with_folders(candidate.files(candidate.base)), _with_folders(candidate.files(candidate.tree))
    words = {word.rstrip("/") for word in named_paths(command)}
    return not any(word in now and word not in before for word in words)


def _with_folders(files: Collection[str]) -> set[str]:
    names = set(files)
    return names.union(*(parents(path) for path in names))
