"""The story's own tests, expecting something else: they must fail.

An answer that calls itself equal to anything, or that is taken from the test's own text, passes every mutant of the
code. It also passes when the test names another value than the right one.
"""

from collections.abc import Callable

from damascus.domain.ports import Finding, GateName, GateResult, TestRun
from damascus.domain.verdict import Verdict
from damascus.gates.canary_places import Laying, LayingGround, own_tests_expecting
from damascus.gates.canary_sight import GREEN, plain
from damascus.gates.runs import evidence

Run = Callable[[Laying, str], TestRun]
LABEL = "canary-expecting"
SEPARATORS = ("::", " > ", " ")


def look(run: Run, ground: LayingGround, files: list[str], result: GateResult) -> None:
    """Who passes does so once more, with other values, before it is refused."""
    laying = own_tests_expecting(ground, files)
    if not laying:
        return
    first = run(laying, LABEL)
    result.evidence.append(evidence(GateName.CANARY, first))
    deaf = still_green(first, laying)
    if not deaf:
        return
    other = own_tests_expecting(ground, files)
    again = set(still_green(run(other, f"{LABEL}-again"), other))
    deaf = [test for test in deaf if test in again]
    if deaf:
        result.findings.append(_finding(deaf))


def still_green(run: TestRun, laying: Laying) -> list[str]:
    """Changed tests that are told as passed; of several that a name may mean nobody knows which one it is."""
    found = []
    for path, names in laying.names.items():
        told = {plain(case.id): case.status for case in run.cases if case.id.startswith(f"{path}::")}
        for name in names:
            meant = [test for test in told if _means(test.removeprefix(f"{path}::"), name)]
            if len(meant) == 1 and told[meant[0]] in GREEN:
                found.append(meant[0])
    return found


def _means(told: str, name: str) -> bool:
    return told == name or told.endswith(tuple(f"{mark}{name}" for mark in SEPARATORS))


def _finding(tests: list[str]) -> Finding:
    message = (
        f"still green though another value than the right one is expected: {', '.join(tests[:10])}. "
        "The code must answer by itself: an answer must not equal everything, nor be taken from a test."
    )
    return Finding(gate=GateName.CANARY, verdict=Verdict.CODE_UNPROVED, message=message, tests=tests)
