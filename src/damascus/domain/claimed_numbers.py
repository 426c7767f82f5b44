"""Numbers that agents claim, compared with what the tools told (F9).

An agent may speak of any run of its story: the red one, the base's, the green one. A number that none of them has is a
mismatch. Only what reads as a count of tests or mutants is looked at; whatever else stands in prose is left alone.
"""

import re
from collections.abc import Iterator, Sequence

from pydantic import BaseModel

from damascus.domain.run_counts import MutationNumbers, RunCounts, known_numbers
from damascus.domain.said import Said

OUTCOMES = ("passed", "failed", "xfailed", "xpassed", "skipped")
COUNT = re.compile(
    rf"(?<![\d.,:/#-])(\d{{1,9}}) (?:tests? )?({'|'.join(OUTCOMES)})\b(?! (?:subtests?|suites?|files?))", re.I
)
TOTAL = re.compile(
    r"(?<![\d.,:/#-])(\d{1,9}) tests? (?:in )?total\b|\btotal(?: of)?:? (\d{1,9}) tests?\b|\ball (\d{1,9}) tests? pass",
    re.I,
)
KILLED = re.compile(
    r"(?<![\d.])(\d{1,9}) ?(?:/|of|out of) ?(\d{1,9}) (?:mutants?|mutations?)\b|"
    r"(?<![\d.])(\d{1,9}) ?(?:/|of|out of) ?(\d{1,9}) killed\b",
    re.I,
)
SCORE = re.compile(r"\bmutation score(?: (?:is|of|was))?:? {0,3}(\d{1,3}(?:\.\d{1,4})?) ?%", re.I)
PLACEHOLDER = re.compile(r"<(?:PYTEST_|MUTATION)[A-Z_]{1,30}>")
"""A number of the template, left as it was."""
KEYS = {"total": "total", "tests": "total", "tests_total": "total", "mutation_score": "score", "score": "score"} | {
    name: name for name in OUTCOMES
}
LONGEST = 200_000


class Mismatch(BaseModel):
    """A number that an agent claims and no tool told."""

    step: str
    role: str
    told: str
    known: str

    @property
    def sentence(self) -> str:
        return f"{self.role} ({self.step}) says {self.told}; the tools say {self.known}"


def mismatches(one: Said, runs: Sequence[RunCounts], mutations: Sequence[MutationNumbers]) -> list[Mismatch]:
    found = []
    for what, claimed, told in claimed_by(one):
        known = _known(what, runs, mutations)
        if known and claimed not in known:
            listed = ", ".join(f"{value:g}" for value in sorted(known))
            found.append(Mismatch(step=one.step, role=one.role, told=told, known=f"{what} {listed}"))
    return found


def baseless(one: Said, runs: Sequence[RunCounts], mutations: Sequence[MutationNumbers]) -> list[str]:
    """Numbers for which no tool told any: nothing stands behind them."""
    left = [found.group() for found in PLACEHOLDER.finditer(one.text[:LONGEST])]
    return [*(told for what, _, told in claimed_by(one) if not _known(what, runs, mutations)), *left]


def told_numbers(one: Said) -> list[str]:
    """What of its prose was read as a number."""
    text = one.text[:LONGEST]
    found = (match for pattern in (COUNT, TOTAL, KILLED, SCORE, PLACEHOLDER) for match in pattern.finditer(text))
    return list(dict.fromkeys(match.group() for match in sorted(found, key=lambda match: match.start())))


def claimed_by(one: Said) -> Iterator[tuple[str, float, str]]:
    """What, how much, and in which words."""
    for key, value in sorted(one.claims.items()):
        if key in KEYS and isinstance(value, int | float) and not isinstance(value, bool):
            yield KEYS[key], float(value), f"{key} = {value}"
    text = one.text[:LONGEST]
    for found in COUNT.finditer(text):
        yield found[2].lower(), float(found[1]), found[0]
    for found in TOTAL.finditer(text):
        yield "total", float(found[1] or found[2] or found[3]), found[0]
    for found in KILLED.finditer(text):
        yield "killed", float(found[1] or found[3]), found[0]
        yield "mutants", float(found[2] or found[4]), found[0]
    for found in SCORE.finditer(text):
        yield "score", float(found[1]), found[0]


def _known(what: str, runs: Sequence[RunCounts], mutations: Sequence[MutationNumbers]) -> set[float]:
    if what in (*OUTCOMES, "total"):
        return {float(value) for value in known_numbers(runs, what)}
    told = [(one, one.share) for one in mutations]
    numbers = [{"killed": one.killed, "mutants": one.total, "score": share} for one, share in told if share is not None]
    return {float(each[what]) for each in numbers}
