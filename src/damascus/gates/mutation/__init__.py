"""Gate mutation: each changed function must be needed by a test, each requirement by the changed code.

The body of each changed function is taken away, one at a time, in several ways; the tests must notice. Rules, skip list
and what is only told: docs/VERIFICATION.md. Nothing here proves that a test is good; it shows which ones are empty.
"""

import json
from collections.abc import Iterator, Sequence

from damascus.domain.ports import Candidate, Evidence, EvidenceRunner, Finding, Gate, GateName, GateResult
from damascus.domain.survivors import MUTATION_OFF, NO_FUNCTION, MutationScore
from damascus.domain.verdict import Kind, Verdict
from damascus.evidence.diff_paths import code_paths, is_test
from damascus.gates.coverage_run import Looks
from damascus.gates.mutation.changed import changed_code
from damascus.gates.mutation.examination import Examination
from damascus.gates.mutation.full import LineExamination
from damascus.gates.mutation.needed import needed_lines
from damascus.gates.mutation.trials import MutantTrial
from damascus.gates.runs import passed_tests, tells_single_tests
from damascus.stacks import stack_of
from damascus.stacks.mutants import Function, only_ran
from damascus.stacks.others import OTHER_CODE

OUTCOMES = ("killed", "survived", "unviable", "not run")
REPAIR = "Write a test that fails when the function gives a wrong answer."


class Mutation(Gate):
    name = GateName.MUTATION

    def __init__(self, runner: EvidenceRunner, looks: Looks | None = None) -> None:
        self._runner = runner
        self._looks = looks or Looks(runner)

    def check(self, candidate: Candidate) -> GateResult:
        if candidate.config.gates.mutation == "off":
            return GateResult(gate=self.name, unverified=[MUTATION_OFF])
        changed = changed_code(candidate)
        unread = [f"mutation: {path} can't be read" for path in changed.unread]
        unread += [f"mutation: {where}: what it makes when it runs has no mutant" for where in changed.hidden]
        unread += [f"mutation: {path}: no mutants are known for its language" for path in _of_no_stack(candidate)]
        full = candidate.config.gates.mutation == "full"
        if not changed.functions and not full:
            return _of_none(unread)
        done = Examination(self._runner, candidate, changed)
        if changed.functions:
            done.run()
            if done.control.look is not None:
                self._looks.keep(candidate, done.bench.command, done.control.look)
        write_artifact(done)
        if done.control.red:
            return _red_control(done, unread)
        result = _of_bodies(done, unread) if changed.functions else _of_none(unread)
        return result if result.findings or not full else _of_lines(done, result)


def _of_no_stack(candidate: Candidate) -> list[str]:
    return [path for path in code_paths(candidate) if stack_of(path) is None and OTHER_CODE.fullmatch(path)]


def _of_none(unread: list[str]) -> GateResult:
    return GateResult(gate=GateName.MUTATION, unverified=unread or [NO_FUNCTION])


def _of_bodies(done: Examination, unread: list[str]) -> GateResult:
    findings, unverified = judged(done)
    return GateResult(
        gate=GateName.MUTATION,
        findings=findings,
        evidence=[_evidence(done)],
        unverified=[*unread, *unverified],
        lines=needed_lines(done, (*done.trials, *done.later)),
        notes=list(notes(done)),
        flaky=done.flaky,
        bodies=_score(done),
    )


def _score(done: Examination) -> MutationScore:
    """Each mutant once: what was tried again with more tests counts as it ended last."""
    last = {(one.where, one.operator): one.outcome for one in (*done.trials, *done.later)}
    ended = list(last.values())
    return MutationScore(
        by=["bodies of functions"],
        killed=ended.count("killed"),
        survived=ended.count("survived"),
        unviable=ended.count("unviable"),
        not_run=ended.count("not run"),
        total=len(ended),
    )


def _of_lines(done: Examination, bodies: GateResult) -> GateResult:
    """What the mutants of single lines add. Nobody is refused here: a person may have called a survivor equivalent,
    and only the engine knows that."""
    lines = LineExamination(done)
    lines.run()
    write_artifact(done, lines.trials)
    score = lines.score()
    evidence = Evidence(
        gate=GateName.MUTATION,
        command=done.bench.command,
        tree=done.candidate.tree,
        seconds=round(sum(one.run.seconds for one in lines.trials if one.run), 3),
        log=str(done.candidate.logs / "mutants.json"),
        summary=score.told,
    )
    return bodies.model_copy(
        update={
            "survivors": lines.survivors(),
            "score": score,
            "lines": needed_lines(done, lines.trials) or bodies.lines,
            "evidence": [*bodies.evidence, evidence],
            "unverified": [*bodies.unverified, *lines.unverified()],
        }
    )


def _red_control(done: Examination, unread: list[str]) -> GateResult:
    command = done.bench.command
    if done.command_reads_sources:
        why = f"mutation: `{command}` looks at the sources themselves, so it can't be run with a mutant"
        return GateResult(gate=GateName.MUTATION, unverified=[*unread, why])
    message = (
        f"`{command}` is red once a statement without any effect stands in front of the changed functions. "
        "A test must look at what the code does, not at its source."
    )
    return GateResult(gate=GateName.MUTATION, findings=[_finding(message, [], output=done.control.run.output)])


def judged(done: Examination) -> tuple[list[Finding], list[str]]:
    findings, unverified = [], list(_not_run(done))
    readers = [test for test in done.control.readers if _of_story(done.candidate, test)]
    if readers:
        message = (
            f"red once a statement without any effect stands in the code: {', '.join(readers)}. "
            "A test must look at what the code does, not at its source."
        )
        findings.append(_finding(message, readers))
    refactor = done.candidate.spec.kind is not Kind.FEATURE
    for function in done.changed.functions:
        why = done.unnoticed(function) if function.strict else None
        if why and done.unknown(function):
            unverified.append(f"mutation: {function.where}: bound by no `def`, and no test notices another function")
        elif why and refactor and done.weak_on_base(function):
            unverified.append(f"mutation: {function.where}: no test notices a mutant, nor did one before")
        elif why:
            findings.append(_unproved(done, function, why))
    for ident in done.unneeding() if not refactor else []:
        findings += _unneeding(done, ident, unverified)
    if not tells_single_tests(done.bench.green) and done.requirements:
        unverified.append(f"mutation: `{done.bench.command}` does not tell which test noticed a mutant")
    return findings, unverified


def _of_story(candidate: Candidate, test: str) -> bool:
    path = test.partition("::")[0]
    return any(file.path == path for file in candidate.changed) or not is_test(candidate, path)


def _unproved(done: Examination, function: Function, why: str) -> Finding:
    trials = [one for one in done.of(function) if one.outcome == "survived"]
    callers = done.callers(function)
    trials = [done.reshaped[function.where]] if why == "shape" else trials
    ways = ", ".join(dict.fromkeys(f"`{one.operator}`" for one in trials if one.answers == (why != "raise")))
    if callers is not None and not callers:
        message = f"{function.where}: no test runs it. {REPAIR}"
    else:
        by = f" ({', '.join(sorted(callers)[:5])})" if callers else ""
        message = f"{function.where}: the tests that run it{by} stay green with {ways or 'its body gone'}. {REPAIR}"
    return _finding(message, sorted(callers or ()), paths=[function.path])


def _unneeding(done: Examination, ident: str, unverified: list[str]) -> Iterator[Finding]:
    cut = any(one.outcome == "not run" for one in (*done.trials, *done.asides))
    outside = [*done.changed.opaque, *done.changed.unread, *(a.where for a in done.asides if a.everybody)]
    if cut or outside or len(done.changed.asides) > len(done.asides) > 0:
        about = f" (outside of functions: {', '.join(outside[:3])})" if outside else ""
        unverified.append(f"mutation: {ident}: its tests need no changed function{about}")
        return
    tests = done.tests_naming(ident)
    message = f"the tests of {ident} ({', '.join(tests) or 'none'}) pass with every changed function emptied. {REPAIR}"
    yield _finding(message, tests, requirements=[ident])


def _finding(
    message: str,
    tests: list[str],
    *,
    paths: list[str] | None = None,
    requirements: list[str] | None = None,
    output: str = "",
) -> Finding:
    return Finding(
        gate=GateName.MUTATION,
        verdict=Verdict.CODE_UNPROVED,
        message=message,
        tests=tests,
        paths=paths or [],
        requirements=requirements or [],
        output=output,
    )


def _not_run(done: Examination) -> Iterator[str]:
    missing = [one for one in done.trials if one.outcome == "not run"]
    for where in dict.fromkeys(one.where for one in missing):
        operators = ", ".join(one.operator for one in missing if one.where == where)
        yield f"mutation: {where}: not run in time: {operators}"


def notes(done: Examination) -> Iterator[str]:
    for function in done.changed.functions:
        survived = [one.operator for one in done.of(function) if one.outcome == "survived"]
        if survived and not (function.strict and done.unnoticed(function)):
            yield f"mutation: {function.where}: not every test notices {', '.join(dict.fromkeys(survived))}"
        killed = [one.operator for one in done.of(function) if one.killed and one.answers]
        if function.strict and only_ran(function, killed):
            yield f"mutation: {function.where}: its tests notice that it ran, and none what it answers"
        if done.callers(function) == set() and not function.strict:
            yield f"mutation: {function.where}: no test of the story runs it"
    for test in done.control.readers:
        if not _of_story(done.candidate, test):
            yield f"mutation: {test} looks at the source, so it counts for nothing here"
    if tells_single_tests(done.bench.green):
        for test in passed_tests(done.bench.green):
            if _of_story(done.candidate, test) and not done.needs_the_code(test):
                yield f"proves nothing: {test}"


def _evidence(done: Examination) -> Evidence:
    trials = [*done.trials, *done.later]
    counts = {name: sum(one.outcome == name for one in trials) for name in OUTCOMES}
    told = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
    return Evidence(
        gate=GateName.MUTATION,
        command=done.bench.command,
        tree=done.candidate.tree,
        seconds=round(sum(run.seconds for run in done.runs), 3),
        log=str(done.candidate.logs / "mutants.json"),
        summary=f"{len(done.changed.functions)} changed functions, mutants: {told or 'none'}",
    )


def write_artifact(done: Examination, lines: Sequence[MutantTrial] = ()) -> None:
    """Every mutant with file and line, operator, diff, and the tests that ran and noticed."""
    done.candidate.logs.mkdir(parents=True, exist_ok=True)
    told = [_in_the_artifact(one) for one in (*done.every, *lines)]
    (done.candidate.logs / "mutants.json").write_text(json.dumps(told, indent=1))


def _in_the_artifact(trial: MutantTrial) -> dict[str, object]:
    return {
        "where": trial.where,
        "operator": trial.operator,
        "put in": trial.words,
        "diff": trial.diff,
        "outcome": trial.outcome,
        "ran": list(trial.selected) if trial.selected is not None else "all tests of the command",
        "died": list(trial.died),
        "command": trial.run.command if trial.run else "",
        "log": trial.run.log if trial.run else "",
    }
