"""Gate canary: a red test would be seen.

Code under test shares a process with its runner: it can end it with exit code 0, patch it, print a summary, write the
report itself. So the tests that are green are run again with failing tests of ours among them. They must be reported
failed, with an exit code that says so, and everybody else's tests as before. The control is the base, asked only where
something is not as it should be: what is not seen there either can't be laid in, and is listed as not verified.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, EvidenceRunner, Finding, Gate, GateName, GateResult, Probe, TestRun
from damascus.domain.verdict import Verdict
from damascus.evidence.diff_paths import is_test
from damascus.gates import canary_expectations, canary_held_out, canary_setting
from damascus.gates.canary_places import (
    Laying,
    LayingGround,
    any_files,
    behind,
    beside,
    is_a_binary,
    on_base,
    only_documents,
    own_files,
    own_tests_failing,
    stops_early,
    to_the_end,
    together,
)
from damascus.gates.canary_sight import GREEN, missing, plain, seen_by_path, turned
from damascus.gates.requirements import proved_by_none_but
from damascus.gates.runs import evidence, failed_tests, job
from damascus.gates.steady import made_unsteady, unsteady
from damascus.gates.suite import suite_at
from damascus.git.mirror import Mirror

KEPT = 64
DOCUMENTS = "canary: only documents changed, and no test reads them"
REPAIR = "Leave the test runner, its report and its exit code alone: a test that fails must be seen failing."


class Canary(Gate):
    name = GateName.CANARY

    def __init__(self, runner: EvidenceRunner, mirror: Mirror) -> None:
        self._runner = runner
        self._mirror = mirror
        self._lock = threading.Lock()
        self._controls: OrderedDict[tuple[object, ...], tuple[TestRun, Laying]] = OrderedDict()

    def check(self, candidate: Candidate) -> GateResult:
        if not candidate.config.gates.canary:
            return GateResult(gate=self.name, unverified=["canary: off"])
        result = GateResult(gate=self.name)
        command = candidate.spec.test_command
        green = self._runner.run(job(candidate, candidate.tree, command, "tests"))
        ground = LayingGround(candidate, command, green, stops_early(candidate, command))
        if only_documents(candidate, green):
            return GateResult(gate=self.name, evidence=[evidence(self.name, green)], notes=[DOCUMENTS])
        own = own_files(candidate)
        files = own or any_files(candidate, green)
        # What a run says of other values counts only once its runner is known to show what fails.
        looks = (
            self._among_them,
            self._in_them,
            self._in_the_suite,
            self._expecting_otherwise,
            self._in_another_setting,
        )
        for look in looks if own else (self._among_them, self._in_the_suite):
            if candidate.given_up() or result.findings:
                break
            look(ground, files, result)
        if not result.evidence and not candidate.given_up():
            result.unverified.append(f"canary: no file of `{command}` into which a failing test of ours could be laid")
        if not result.findings and not candidate.given_up():
            base = self._mirror.tree(candidate.base)
            canary_held_out.look(self._runner, candidate, base, ground.stops, result)
        return result

    # ── behind and beside the story's tests ───────────────────────────────────────────────────────────

    def _among_them(self, ground: LayingGround, files: list[str], result: GateResult) -> None:
        if ground.selects_by_name:
            return
        laying = _among(ground, files)
        if not laying:
            return
        run = self._run(ground, ground.candidate.tree, laying, "canary")
        result.evidence.append(evidence(self.name, run))
        self._judge(ground, laying, run, result)
        if not result.findings:
            self._luck_or_dislike(ground, _turned(ground, laying, run), lambda: _among(ground, files), result)

    def _luck_or_dislike(
        self, ground: LayingGround, doubtful: list[str], others: Callable[[], Laying], result: GateResult
    ) -> None:
        """Whoever was green and is red beside ours: flaky if that happens without ours, or not again with others."""
        if not doubtful:
            return
        alone = self._run(ground, ground.candidate.tree, Laying(), "canary-again")
        lucky = {test for test in doubtful if test in failed_tests(alone)}
        if lucky != set(doubtful):
            other = others()
            again = self._run(ground, ground.candidate.tree, other, "canary-twice")
            lucky |= set(doubtful) - set(_turned(ground, other, again))
        flaky = [test for test in doubtful if test in lucky]
        result.flaky += flaky
        result.notes += [_dislikes(test) for test in doubtful if test not in lucky]
        result.notes += [f"{test} is flaky: green and red on this one tree" for test in flaky]
        unproved = proved_by_none_but(flaky, ground.candidate, ground.green) if flaky else []
        if unproved:
            result.findings.append(_luck(flaky, unproved))

    def _judge(self, ground: LayingGround, laying: Laying, run: TestRun, result: GateResult) -> None:
        found = seen_by_path(run, laying.names)
        unseen = [path for path, names in laying.names.items() if found[path] < len(names)]
        lost = [] if ground.stops else missing(ground.green, run, _ours(laying))
        if not unseen and run.exit_code != 0 and not lost:
            return
        control, laid = self._control(ground, laying)
        there = seen_by_path(control, laid.names)
        hidden = [path for path in unseen if found[path] < _expected(there, laid, laying, path)]
        if hidden:
            result.findings.append(_hidden(_without_our_names(ground, hidden), run))
        elif run.exit_code == 0 and control.exit_code != 0 and any(found.values()):
            result.findings.append(_exits_0(ground.command))
        elif lost and not _ends_early(control, laid, there):
            result.findings.append(_gone(lost))
        places = _without_our_names(ground, [path for path in unseen if not there.get(path)])
        result.unverified += _not_proved(ground.command, places, lost, run, control)

    # ── in the story's own tests ──────────────────────────────────────────────────────────────────────

    def _in_them(self, ground: LayingGround, files: list[str], result: GateResult) -> None:
        """Each test of the story's fails at its first line: who lets only known names pass is found here."""
        laying = own_tests_failing(ground, files)
        if not laying:
            return
        run = self._run(ground, ground.candidate.tree, laying, "canary-own")
        result.evidence.append(evidence(self.name, run))
        found = seen_by_path(run, _last_names(laying))
        passed = _passed_though_failing(run, laying)
        silent = [path for path, count in found.items() if count == 0]
        if passed or (run.exit_code == 0 and silent):
            result.findings.append(_hidden(passed or silent, run))
        elif run.exit_code == 0:
            result.findings.append(_exits_0(ground.command))
        elif silent:
            result.unverified.append(
                f"canary: `{ground.command}` does not name the failing tests of {', '.join(silent)}"
            )

    def _expecting_otherwise(self, ground: LayingGround, files: list[str], result: GateResult) -> None:
        def run(laying: Laying, label: str) -> TestRun:
            return self._run(ground, ground.candidate.tree, laying, label)

        canary_expectations.look(run, ground, files, result)

    def _in_another_setting(self, ground: LayingGround, _: list[str], result: GateResult) -> None:
        def run(probe: Probe, label: str) -> TestRun:
            wanted = job(ground.candidate, ground.candidate.tree, ground.command, label)
            log = ground.candidate.private_logs / f"{label}.log"
            return self._runner.run(replace(wanted, fresh=True, probe=probe, log=log))

        canary_setting.look(run, ground, result)

    # ── in the project's suite ────────────────────────────────────────────────────────────────────────

    def _in_the_suite(self, ground: LayingGround, files: list[str], result: GateResult) -> None:
        """Beside the story's files, which stay as they are: code may look whether its own tests were touched."""
        suite = suite_at(ground.candidate).command
        if suite in ("", ground.command):
            return
        green = self._runner.run(job(ground.candidate, ground.candidate.tree, suite, "suite"))
        wide = replace(ground, command=suite, stops=stops_early(ground.candidate, suite), green=green)
        tests = [path for path in files if is_test(ground.candidate, path)]
        laying = beside(wide, tests)
        if not laying:
            return
        run = self._run(wide, ground.candidate.tree, laying, "canary-suite")
        result.evidence.append(evidence(self.name, run))
        wide = replace(wide, green=green if green.green else run)
        self._judge(wide, laying, run, result)
        told = {*result.flaky, *result.notes}
        turned_red = _turned(wide, laying, run)
        doubtful = [test for test in turned_red if test not in told and _dislikes(test) not in told]
        if result.findings or not doubtful:
            return
        made = made_unsteady(self._runner, self._mirror, ground.candidate, suite, doubtful)
        if made:
            result.findings.append(unsteady(self.name, made))
        else:
            self._luck_or_dislike(wide, doubtful, lambda: beside(wide, tests), result)

    # ── runs ──────────────────────────────────────────────────────────────────────────────────────────

    def _run(self, ground: LayingGround, tree: Sha, laying: Laying, label: str) -> TestRun:
        """Its log is for people: whoever reads it learns what our tests look like."""
        wanted = job(ground.candidate, tree, to_the_end(ground.command), label)
        log = ground.candidate.private_logs / f"{label}.log"
        return self._runner.run(replace(wanted, files=laying.files, fresh=True, log=log))

    def _control(self, ground: LayingGround, laying: Laying) -> tuple[TestRun, Laying]:
        """The base with the same, kept: a story's next try has the same base and places."""
        base = self._mirror.tree(ground.candidate.base)
        key = (
            base,
            ground.command,
            *sorted(path for path in laying.files if path in ground.candidate.files(ground.candidate.commit)),
        )
        with self._lock:
            known = self._controls.get(key)
        if known is not None and set(known[1].files) == set(laying.files):
            return known
        laid = on_base(ground, laying)
        found = self._run(ground, base, laid, "canary-base"), laid
        with self._lock:
            self._controls[key] = found
            if len(self._controls) > KEPT:
                self._controls.popitem(last=False)
        return found


def _among(ground: LayingGround, files: list[str]) -> Laying:
    """Beside them only where the command does not name the files themselves; one alone where the first one ends all."""
    asked = ground.asked
    open_ones = [path for path in files if path not in asked and not is_a_binary(path)]
    nearby = beside(ground, open_ones) if open_ones else Laying()
    if ground.stops and nearby:
        return nearby
    return together(behind(ground, files), nearby)


def _turned(ground: LayingGround, laying: Laying, run: TestRun) -> list[str]:
    known = ground.candidate.files(ground.candidate.commit)
    return turned(ground.green, run, _ours(laying), [path for path in laying.files if path not in known])


def _dislikes(test: str) -> str:
    return f"{test} fails whenever a failing test is laid beside it"


def _ours(laying: Laying) -> list[str]:
    return [name for names in laying.names.values() for name in names]


def _last_names(laying: Laying) -> dict[str, tuple[str, ...]]:
    """Reports know a test by path and name, or by its name alone."""
    return {path: tuple(name.rpartition("::")[2] for name in names) for path, names in laying.names.items()}


def _passed_though_failing(run: TestRun, laying: Laying) -> list[str]:
    """Files of which a test is told as passed though its first line fails, by the file and the name."""
    found = []
    for path, names in laying.names.items():
        whole = {f"{path}::{name}" for name in names}
        if any(case.status in GREEN and plain(case.id) in whole for case in run.cases):
            found.append(path)
    return found


def _expected(there: dict[str, int], laid: Laying, laying: Laying, path: str) -> int:
    """How many of ours the candidate must show: all if the base shows all, else no fewer than the base."""
    every = len(laying.names[path])
    if path not in there:
        return 0
    return every if there[path] == len(laid.names[path]) else min(every, there[path])


def _ends_early(control: TestRun, laid: Laying, there: dict[str, int]) -> bool:
    """Some of ours are seen on the base and others are not: a failing test ends the run there too."""
    return any(there.values()) and any(there[path] < len(names) for path, names in laid.names.items())


def _without_our_names(ground: LayingGround, paths: list[str]) -> list[str]:
    """The story's files by their names, a file of ours by its folder: what it is called is nobody's business."""
    known = ground.candidate.files(ground.candidate.commit)
    return list(dict.fromkeys(path if path in known else f"{PurePosixPath(path).parent}/" for path in paths))


def _not_proved(command: str, places: list[str], lost: list[str], run: TestRun, control: TestRun) -> list[str]:
    told = []
    if places:
        told.append(f"canary: `{command}` does not show a failing test of ours in {', '.join(places)}, nor on the base")
    if run.exit_code == 0 and control.exit_code == 0:
        told.append(f"canary: `{command}` exits 0 though a test fails, on the base too")
    if lost and not places:
        told.append(f"canary: `{command}` ends at a failing test, on the base too")
    return told


def _hidden(paths: list[str], run: TestRun) -> Finding:
    where = ", ".join(paths)
    how = "did not end in time" if run.timed_out else f"exit {run.exit_code}"
    message = f"a failing test that was laid into {where} is not reported as failed ({how}); on main it is. {REPAIR}"
    return Finding(gate=GateName.CANARY, verdict=Verdict.RUNNER_COMPROMISED, message=message, paths=paths)


def _exits_0(command: str) -> Finding:
    message = f"`{command}` exits 0 though a failing test was laid among the story's tests. {REPAIR}"
    return Finding(gate=GateName.CANARY, verdict=Verdict.RUNNER_COMPROMISED, message=message)


def _gone(tests: list[str]) -> Finding:
    listed = ", ".join(tests[:10])
    message = f"with a failing test among them these are no longer reported: {listed}. {REPAIR}"
    return Finding(gate=GateName.CANARY, verdict=Verdict.RUNNER_COMPROMISED, message=message, tests=tests)


def _luck(tests: list[str], requirements: list[str]) -> Finding:
    message = (
        f"green and red on the same code: {', '.join(tests)}. Only this proves {', '.join(requirements)}, "
        "so nothing does. Write a test whose result depends on the code alone."
    )
    return Finding(
        gate=GateName.CANARY,
        verdict=Verdict.REQUIREMENT_UNTESTED,
        message=message,
        tests=tests,
        requirements=requirements,
    )
