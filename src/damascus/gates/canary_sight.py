"""What a run with failing tests of ours shows: which of them, and what became of everybody else's."""

from collections import Counter
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
    now, before = _counted(run, ours), _counted(green, ours)
    return [test for test, count in before.items() if now[test] < count]


def _counted(run: TestRun, ours: Collection[str]) -> Counter[str]:
    return Counter(plain(case.id) for case in run.cases if not any(named(case, name) for name in ours))


def turned(green: TestRun, run: TestRun, ours: Collection[str], laid: Collection[str]) -> list[str]:
    """Tests that are red in this run and were not in the green one, ours and those of files of ours left out."""
    red = [case for case in run.cases if case.status in RED and not any(named(case, name) for name in ours)]
    known = {case.id for case in green.cases} if tells_single_tests(green) else None
    return [case.id for case in red if case.file not in laid and (known is None or case.id in known)]
