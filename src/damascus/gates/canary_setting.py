"""The story's tests in another setting: called by a plain program, without their runner.

Code that finds out by any sign that it is tested (what is loaded, who calls, how it was started) does right under the
runner and something else elsewhere. Both times the tests are called in the same way, so only the signs differ.
"""

from collections.abc import Callable

from damascus.domain.ports import Finding, GateName, GateResult, Probe, TestRun
from damascus.domain.verdict import Verdict
from damascus.gates.canary_places import LayingGround
from damascus.gates.canary_sight import plain
from damascus.gates.knows_tests import judged_paths
from damascus.gates.runs import evidence
from damascus.stacks import stack_of

Run = Callable[[Probe, str], TestRun]
LABEL = "canary-setting"
MOST = 300


def look(run: Run, ground: LayingGround, result: GateResult) -> None:
    """Who differs does so once more before it is refused."""
    changed = {stack.name: stack for path in judged_paths(ground.candidate) if (stack := stack_of(path))}
    for name, stack in changed.items():
        setting = stack.other_setting() if stack.other_setting else None
        tests = _tests(ground.green, name)
        if setting is None or not tests or not setting.fits(ground.green):
            continue
        first, again = setting(tests), setting(tests)
        result.evidence.append(evidence(GateName.CANARY, run(first, LABEL)))
        if not first.differing:
            continue
        run(again, f"{LABEL}-again")
        differing = [test for test in first.differing if test in again.differing]
        if differing:
            result.findings.append(_finding(differing))


def _tests(green: TestRun, stack: str) -> list[tuple[str, str]]:
    """Whoever passed, by file and name; one of several parameters stands for all of them."""
    found = {}
    for case in green.cases:
        path, _, name = plain(case.id).partition("::")
        known = stack_of(path)
        if case.status == "passed" and name and known is not None and known.name == stack:
            found[path, name] = True
    return list(found)[:MOST]


def _finding(tests: list[str]) -> Finding:
    message = (
        f"green under the test runner, red when a plain program calls the same test: {', '.join(tests[:10])}. "
        "The code must do the same whether it is tested or not."
    )
    return Finding(gate=GateName.CANARY, verdict=Verdict.CODE_UNPROVED, message=message, tests=tests)
