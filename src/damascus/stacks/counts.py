"""What a runner told of its tests."""

from collections.abc import Iterable
from dataclasses import dataclass

from damascus.domain.ports import Case


@dataclass(frozen=True)
class Counts:
    """`cases` may hold only some of the tests (unittest names those that failed); the numbers hold all."""

    cases: tuple[Case, ...] = ()
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    @classmethod
    def of(cls, cases: Iterable[Case]) -> "Counts":
        kept = tuple(cases)
        states = [case.status for case in kept]
        return cls(
            kept,
            passed=sum(state in ("passed", "xpassed") for state in states),
            failed=sum(state in ("failed", "error") for state in states),
            skipped=sum(state in ("skipped", "xfailed") for state in states),
        )


def total_of(summaries: list[Counts]) -> Counts | None:
    """Several summaries in one output: added up, but nothing passed if one of them says that nothing did.

    A test that prints a summary of its own can so only worsen the real one.
    """
    if not summaries:
        return None
    nothing = any(summary.passed == 0 for summary in summaries)
    return Counts(
        cases=tuple(case for summary in summaries for case in summary.cases),
        passed=0 if nothing else sum(summary.passed for summary in summaries),
        failed=sum(summary.failed for summary in summaries),
        skipped=sum(summary.skipped for summary in summaries),
    )
