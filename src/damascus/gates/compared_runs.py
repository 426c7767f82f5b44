"""Two runs of one command on two trees: what was green in the first and is not in the second."""

from collections import Counter
from dataclasses import dataclass

from damascus.domain.ports import TestRun
from damascus.gates.runs import failed_tests, passed_tests, tells_single_tests


@dataclass(frozen=True)
class Compared:
    """`lost` by name, as far as the runner tells names; `unknown` says why nothing can be said."""

    lost: tuple[str, ...] = ()
    unknown: str = ""


def compared(before: TestRun, now: TestRun) -> Compared:
    if tells_single_tests(before):
        return Compared(_by_name(before, now))
    if not before.green:
        return Compared(unknown=f"`{before.command}` is not green on the base and names no single test")
    if not now.green:
        return Compared(tuple(failed_tests(now)) or (f"`{now.command}`",))
    missing = before.passed - (now.passed if now.counted else 0)
    return Compared((f"{missing} tests of `{now.command}`",) if before.counted and missing > 0 else ())


def _by_name(before: TestRun, now: TestRun) -> tuple[str, ...]:
    """Counted, not only looked up: where two packages have a test of one name, one of them may be red."""
    left = Counter(passed_tests(now)) if tells_single_tests(now) else Counter[str]()
    gone = Counter(passed_tests(before)) - left
    return tuple(test for test in dict.fromkeys(passed_tests(before)) if gone[test] > 0)
