"""What many stories wait for, in a few words each, and what was caught."""

from collections.abc import Sequence
from datetime import datetime

from damascus.domain.verdict import Verdict
from damascus.domain.waits import WaitKind
from damascus.store.db import Row
from damascus.telling.phrases import clock

WORDS: dict[str, str] = {
    WaitKind.SCOPE: "files of another story",
    WaitKind.BEHIND: "files that others wait for",
    WaitKind.DEPENDENCY: "another story to land",
    WaitKind.LANDING: "its turn to land",
    WaitKind.HOLD: "a hold to end",
    WaitKind.CHAIN: "a story of its chain",
    WaitKind.UPSTREAM: "a green main that it needs",
    WaitKind.REPO_FULL: "a place in its repository",
    WaitKind.AGENT: "an agent that can work",
    WaitKind.BACKOFF: "trouble outside to end",
    WaitKind.DIRTY: "a file of yours",
    WaitKind.CI: "CI",
    WaitKind.MIRROR: "the mirror job",
    WaitKind.SECRET: "a secret",
    WaitKind.BUDGET: "the project's budget",
}
CAUGHT: dict[str, str] = {
    Verdict.NOT_RED: "tests that prove nothing",
    Verdict.TESTS_FAILED: "red tests",
    Verdict.NOTHING_CHANGED: "nothing done",
    Verdict.SCOPE_VIOLATION: "out of scope",
    Verdict.SECRET_FOUND: "secret",
    Verdict.TESTS_WEAKENED: "weakened tests",
    Verdict.REQUIREMENT_UNTESTED: "untested requirement",
    Verdict.CODE_UNPROVED: "code that no test needs",
    Verdict.MUTANT_SURVIVED: "a mutant that lived",
    Verdict.RUNNER_COMPROMISED: "a bent test runner",
    Verdict.ACCEPTANCE_FAILED: "held-out tests red",
    Verdict.UNCOVERED: "lines that no test runs",
    Verdict.REGRESSION: "another story broken",
}


def waits(row: Row, now: datetime) -> str:
    """`files of S-21`, `trouble outside to end (15:00)`."""
    kind = row["kind"]
    words = f"files of {row['story']}" if row["story"] else WORDS.get(kind) or str(kind)
    again = f" ({clock(row['at'], now)})" if kind == WaitKind.BACKOFF and row["at"] else ""
    return words + again


def caught(verdict: str | None) -> str:
    return CAUGHT.get(verdict or "", (verdict or "unknown").replace("_", " "))


def cars(rows: Sequence[Row], branch: str) -> list[tuple[str, str]]:
    """The train: each story with what it does there, the one that lands next first."""
    found = []
    for n, row in enumerate(rows):
        on = f"on top of {rows[n - 1]['story_id']}" if n else f"on {branch}"
        state = row["state"]
        told = "green, lands next" if state == "green" and not n else f"{state}, {on}"
        found.append((row["story_id"], told))
    return found
