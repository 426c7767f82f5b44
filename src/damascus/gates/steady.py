"""Green and red on one tree: luck that main has as well, or code of the story's that answers now so, now so.

A flaky test refuses nobody. But where main is green as often as it is looked at, and the candidate is not, it is the
story that made it so.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, EvidenceRunner, Finding, TestRun
from damascus.domain.verdict import Verdict
from damascus.gates.runs import failed_tests, job, passed_tests
from damascus.git.mirror import Mirror

LOOKS = 4


def made_unsteady(
    runner: EvidenceRunner, mirror: Mirror, candidate: Candidate, command: str, tests: Collection[str]
) -> list[str]:
    """Of these tests, seen red once already: those that are red again within a few runs, and never on the base."""
    base = mirror.tree(Sha(candidate.base))
    known = set(passed_tests(_run(runner, candidate, base, command)))
    left = [test for test in tests if test in known]
    red: Counter[str] = Counter()
    for _ in range(LOOKS if left else 0):
        before = set(failed_tests(_run(runner, candidate, base, command)))
        left = [test for test in left if test not in before]
        red.update(test for test in failed_tests(_run(runner, candidate, candidate.tree, command)) if test in left)
        if not left or candidate.given_up():
            return []
    return [test for test in left if red[test]]


def _run(runner: EvidenceRunner, candidate: Candidate, tree: Sha, command: str) -> TestRun:
    return runner.run(replace(job(candidate, tree, command, "steady"), fresh=True))


def unsteady(gate: str, tests: list[str]) -> Finding:
    message = (
        f"green and red on this one commit, and always green on main: {', '.join(tests[:20])}. The code's answer must "
        "not depend on chance, time or the order of tests."
    )
    return Finding(gate=gate, verdict=Verdict.TESTS_FAILED, message=message, tests=tests)
