"""What was green before is green still, by the runner's own report where it names each test.

Sources tell much (weakened_tests) but not all: a skip whose word is made at run time, a class that is no longer
collected. So where a story changes tests that were there, or has no red run, the base's own run is the measure.
"""

from collections import Counter

from damascus.domain.ports import Candidate, Finding, GateName, TestRun
from damascus.domain.verdict import Verdict
from damascus.evidence.diff_paths import is_test
from damascus.evidence.reading import tests_in
from damascus.gates.permitted import permits
from damascus.gates.runs import passed_tests, tells_single_tests
from damascus.gates.weakened_tests import REPAIR, Weakness, may_go, same, tests_of
from damascus.stacks import stack_of, written_name


def changes_old_tests(candidate: Candidate) -> bool:
    return any(file.status != "A" and is_test(candidate, file.path) for file in candidate.changed)


def lost(candidate: Candidate, run: TestRun) -> Finding | None:
    """Tests that were green and are now neither green nor red, though nobody allowed that."""
    if candidate.red is None or not tells_single_tests(run):
        return None
    now = {_plain(test) for test in passed_tests(run)}
    before = dict.fromkeys(_plain(test) for test in candidate.red.green_tests)
    gone = [test for test in before if test not in now and _owed(candidate, test, now)]
    gone += _thinned_out(candidate, passed_tests(run))
    if not gone:
        return None
    message = f"green before and not run now: {', '.join(gone)}. {REPAIR}"
    return Finding(gate=GateName.TESTS, verdict=Verdict.TESTS_WEAKENED, message=message, tests=gone)


def _thinned_out(candidate: Candidate, now: list[str]) -> list[str]:
    """Cases of a test that still runs, where it has fewer than before; other cases may have come in their place."""
    if candidate.red is None or not changes_old_tests(candidate):
        return []
    before = list(dict.fromkeys(candidate.red.green_tests))
    were, are = Counter(map(_plain, before)), Counter(map(_plain, dict.fromkeys(now)))
    fewer = {test for test, count in were.items() if 0 < are[test] < count}
    may = (*candidate.spec.may_remove, *candidate.spec.may_change)
    return [test for test in before if _plain(test) in fewer and test not in now and not permits(may, test)]


def _plain(test: str) -> str:
    """As the source names it: one set of parameters less, or a subtest, is another gate's matter."""
    path, name = written_name(test)
    return f"{path}::{name}" if name else test


def _owed(candidate: Candidate, test: str, now: set[str]) -> bool:
    """Main still has it (others may have removed it meanwhile), the spec doesn't let it go, no successor is green."""
    path, name = written_name(test)
    if stack_of(path) is None or may_go(candidate, Weakness("lost", path, name)):
        return False
    was = tests_in(candidate.read(candidate.base, path) or b"", path).tests.get(name)
    if was is None or all(file.path != path for file in candidate.changed):
        return was is not None
    return not any(f"{place}::{other.name}" in now for place, other in tests_of(candidate) if same(was, other))
