"""What a run with failing tests of ours shows: which of them, and what became of everybody else's."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping

from damascus.domain.ports import Case, TestRun
from damascus.gates.runs import tells_single_tests

RED = ("failed", "error")
GREEN = ("passed", "xpassed")


def seen(run: TestRun, name: str) -> bool:
    """Reported failed under its own name. Where a runner names no test, its output has the name and it counts one."""
    if run.cases:
        return any(case.status in RED and named(case, name) for case in run.cases)
    return run.counted and run.failed > 0 and name in run.output


def named(case: Case, name: str) -> bool:
    return name in case.id or name in case.text


def seen_by_path(run: TestRun, names: Mapping[str, Collection[str]]) -> dict[str, int]:
    return {path: sum(seen(run, name) for name in laid) for path, laid in names.items()}


def plain(test: str) -> str:
    """Without parameters: those may be made anew in each run (times, addresses)."""
    return test.partition("[")[0]


def missing(green: TestRun, run: TestRun, ours: Collection[str]) -> list[str]:
    """Tests that the green run has and this one lacks, or has fewer of."""
    if not tells_single_tests(green) or not tells_single_tests(run):
        lost = green.total > run.total
        return [f"{green.total - run.total} of {green.total} tests"] if lost and run.counted else []
    now = Counter(plain(case.id) for case in run.cases if not any(named(case, name) for name in ours))
    before = Counter(plain(case.id) for case in green.cases)
    return [test for test, count in before.items() if now[test] < count]


def turned(before: TestRun, after: TestRun) -> list[str]:
    """Green in the one and red in the other, on the same code."""
    red = _by_test(after, RED)
    return [test for test in _by_test(before, GREEN) if test in red]


def _by_test(run: TestRun, states: Collection[str]) -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = defaultdict(list)
    for case in run.cases:
        if case.status in states:
            found[case.id].append(case)
    return found
