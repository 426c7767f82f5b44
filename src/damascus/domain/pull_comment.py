"""The comment on a pull request and the sentence of its status, made from the receipt as it stands (F11, X16).

Nothing is computed anew and nothing raised here: what the receipt says is told, with FULLY and MVP kept apart. Whatever
agents or people wrote is shown as text that means nothing to the forge (inert_markdown.py), and the reporter's prose
is marked as its word.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from damascus.domain.critique import Concern, Critique, RequirementStatus, ReviewStatus
from damascus.domain.ids import Sha, short
from damascus.domain.inert_markdown import code, prose, quoted
from damascus.domain.ports import CiRun, CiState, ProofState
from damascus.domain.receipt import BuildReceipt, RequirementLine
from damascus.domain.verdict import Verdict

WORDS = {
    RequirementStatus.FULLY_VERIFIED: "FULLY",
    RequirementStatus.MVP_VERIFIED: "MVP",
    RequirementStatus.PARTIAL: "PARTIAL",
    RequirementStatus.UNKNOWN: "UNKNOWN",
}
MOST_ROWS, MOST_TESTS, MOST_CODE, MOST_LISTED = 40, 4, 3, 20
LONG_TEXT, LONG_NAME, LONG_LINE = 160, 100, 300
LONGEST_PROSE = 4_000
CLOSED = "\n\n</details>"


@dataclass(frozen=True)
class PullStanding:
    """Where the story is. At most one of `landed`, `sent_back` and `asks` holds; with none CI is awaited or green."""

    story: str
    title: str
    commit: Sha
    tree: str = ""
    target: str = "main"
    tries: int = 1
    files: int = 0
    cost: str = ""
    ci: CiRun | None = None
    landed: Sha | None = None
    sent_back: Verdict | None = None
    asks: str = ""
    """What a person has to decide, in a few words."""
    reviews: tuple[tuple[str, Critique], ...] = ()
    """Who read the pull request, and what they said: claims."""
    report: str = ""
    """The reporter's prose: a claim as well."""


def proof_state(receipt: BuildReceipt | None, at: PullStanding) -> ProofState:
    """A success only by evidence: a receipt that nothing is missing from, and CI green."""
    if at.sent_back is not None:
        return ProofState.FAILURE
    proved = is_proved(receipt, at) and not at.asks and (at.landed or at.ci)
    return ProofState.SUCCESS if proved else ProofState.PENDING


def is_proved(receipt: BuildReceipt | None, at: PullStanding) -> bool:
    """A receipt of another tree proves nothing of this one, and a critic who read the pull request can only lower."""
    if receipt is None or receipt.proof.tree != at.tree:
        return False
    doubted = any(word.status is not ReviewStatus.VERIFIED for _, word in at.reviews)
    return receipt.status is ReviewStatus.VERIFIED and not receipt.unproved and not doubted


def status_line(receipt: BuildReceipt | None, at: PullStanding) -> str:
    told = requirements_told(receipt) if receipt is not None else "no receipt"
    return f"{told}; {_where(receipt, at)}"


# ── the comment ───────────────────────────────────────────────────────────────────────────────────────


def comment(receipt: BuildReceipt | None, at: PullStanding) -> str:
    where = _where(receipt, at)
    parts = [_head(receipt, at), f"{where[0].upper()}{where[1:]}."]
    if receipt is None:
        parts.append("No receipt was made of this commit, so nothing is proved here.")
    else:
        parts += [_table(receipt), _measured(receipt, at), _open(receipt), _first_look(receipt), _check(at)]
        parts.append(_details(receipt, at))
    if at.report.strip():
        parts.append(_in_its_words(at.report))
    return "\n\n".join(part for part in parts if part)


def _head(receipt: BuildReceipt | None, at: PullStanding) -> str:
    """`proved` is said only of what is."""
    word = "proved" if is_proved(receipt, at) else "judged"
    tree = f" (tree {short(at.tree)})" if at.tree else ""
    told = f" · {requirements_told(receipt)}" if receipt is not None else ""
    return f"**{prose(at.story, LONG_NAME)} {prose(at.title, LONG_TEXT)}** · {word} on {short(at.commit)}{tree}{told}"


def requirements_told(receipt: BuildReceipt) -> str:
    touched = [line for line in receipt.requirement_lines if line.id in receipt.requirements.touched]
    if not touched:
        return "no requirement"
    counts = [(WORDS[status], sum(line.status is status for line in touched)) for status in RequirementStatus]
    apart = ", ".join(f"{count} {word}" for word, count in counts if count)
    ready = sum(line.status.ready for line in touched)
    return f"{ready} of {len(touched)} requirement{'s' if len(touched) > 1 else ''} ({apart})"


def _where(receipt: BuildReceipt | None, at: PullStanding) -> str:
    """What landed without proof did so by a person's word."""
    if at.landed is not None:
        unproved = "" if is_proved(receipt, at) else ", not proved"
        return f"on {prose(at.target, LONG_NAME)} as {short(at.landed)}{unproved}"
    if at.sent_back is not None:
        return f"sent back: {at.sent_back} ({at.sent_back.means})"
    if at.asks:
        return f"waits for a person: {prose(at.asks, LONG_TEXT)}"
    return f"CI {_ci(at.ci)}, waits to land" if at.ci is not None else "waits for CI"


def _ci(ci: CiRun) -> str:
    return f"{sum(job.state == CiState.SUCCESS for job in ci.jobs)}/{len(ci.jobs)}"


# ── the table ─────────────────────────────────────────────────────────────────────────────────────────


def _table(receipt: BuildReceipt) -> str:
    lines = receipt.requirement_lines
    if not lines:
        return ""
    red = short(receipt.proof.red_base or receipt.proof.base)
    head = f"| requirement | status | test | red at {red} | green | code |\n{'|---' * 6}|"
    rows = [_row(line, line.id in receipt.requirements.touched) for line in lines[:MOST_ROWS]]
    more = [f"\n{len(lines) - MOST_ROWS} more requirements are in the receipt."] if len(lines) > MOST_ROWS else []
    return "\n".join([head, *rows, *more])


def _row(line: RequirementLine, touched: bool) -> str:
    cells = [
        f"{prose(line.id, LONG_NAME)} {prose(line.text, LONG_TEXT)}",
        _status(line) if touched else f"{_status(line)}, untouched",
        _tests(line),
        "✓" if line.red_at else "–",
        "✓" if line.green else "–",
        _some([code(place, LONG_NAME) for place in line.code], MOST_CODE) or "–",
    ]
    return f"| {' | '.join(cells)} |"


def _status(line: RequirementLine) -> str:
    gap = f" ({prose(line.gap, LONG_TEXT)})" if line.gap else ""
    lowered = f", computed {WORDS[line.computed]}" if line.computed is not line.status else ""
    return f"{WORDS[line.status]}{gap}{lowered}"


def _tests(line: RequirementLine) -> str:
    negative = set(line.negative)
    names = [code(name, LONG_NAME) + (" (negative)" if name in negative else "") for name in line.tests]
    return _some(names, MOST_TESTS) or "–"


def _some(told: list[str], most: int) -> str:
    more = [f"{len(told) - most} more"] if len(told) > most else []
    return ", ".join([*told[:most], *more])


# ── below it ──────────────────────────────────────────────────────────────────────────────────────────


def _measured(receipt: BuildReceipt, at: PullStanding) -> str:
    gates = {gate.gate: gate.summary for gate in receipt.proof.gates if gate.summary}
    mutation = receipt.mutation
    killed = f"{mutation.killed} of {mutation.total} mutants killed" if mutation.total else f"mutants {mutation.status}"
    told = [
        _counted(receipt),
        prose(gates["coverage"], LONG_LINE) if "coverage" in gates else "",
        killed,
        f"scope {at.files} file{'' if at.files == 1 else 's'}" if at.files else "",
        f"CI {_ci(at.ci)}" if at.ci is not None else "",
    ]
    return " · ".join(part for part in told if part)


def _counted(receipt: BuildReceipt) -> str:
    """The runner's own line where it tells one; else the numbers of its report."""
    if line := receipt.own_line:
        return f"{code(line.strip('= '), LONG_LINE)} (the runner's own line)"
    return receipt.tests.told


def _open(receipt: BuildReceipt) -> str:
    unverified = _some([prose(name, LONG_TEXT) for name in receipt.proof.unverified], MOST_LISTED)
    claimed = [f"{line.id}: {each}" for line in receipt.requirement_lines for each in line.claimed]
    only = _some([prose(each, LONG_TEXT) for each in claimed], MOST_LISTED)
    consistent = "" if receipt.tests.metrics_consistency == "OK" else " · **metrics mismatch**"
    return f"Not verified: {unverified or 'nothing'} · Claimed by agents only: {only or 'nothing'}{consistent}"


def _first_look(receipt: BuildReceipt) -> str:
    place = first_look(receipt)
    return f"Look first at: {code(place, LONG_NAME)}" if place else ""


def first_look(receipt: BuildReceipt) -> str:
    """The longest stretch of changed code that a requirement rests on; "": none is known."""
    places = sorted({place for line in receipt.requirement_lines for place in line.code})
    return max(places, key=_length) if places else ""


def _length(place: str) -> int:
    first, _, last = place.rpartition(":")[2].partition("-")
    return int(last) - int(first) if first.isdecimal() and last.isdecimal() else 0


def _check(at: PullStanding) -> str:
    return f"Check it: `damascus receipt verify {short(at.landed or at.commit)}`"


def _details(receipt: BuildReceipt, at: PullStanding) -> str:
    lines = [*_facts(receipt, at), *(f"- concern: {prose(one.told, LONG_LINE)}" for one in _concerns(receipt, at))]
    lines += [f"- note: {prose(note, LONG_LINE)}" for note in receipt.notes[:MOST_LISTED]]
    words = [f"{word.about}: {word.words}" for word in receipt.proof.persons]
    lines += [f"- by a person's word: {prose(told, LONG_LINE)}" for told in words[:MOST_LISTED]]
    return f"<details><summary>tries, concerns, notes</summary>\n\n{chr(10).join(lines)}{CLOSED}"


def _facts(receipt: BuildReceipt, at: PullStanding) -> Iterator[str]:
    how = f"flow {prose(receipt.proof.profile, LONG_NAME)}, tries {at.tries}"
    yield f"- tests {receipt.tests.status}, code {receipt.code.status}, {how}"
    told = ", ".join(f"{prose(role, LONG_NAME)} {word.status}" for role, word in at.reviews)
    yield f"- read before it lands, by agents: {told or 'nobody yet, or nobody was asked'}"
    if at.cost:
        yield f"- cost: {prose(at.cost, LONG_TEXT)}"
    if receipt.proof.left_out:
        yield f"- left out: {_some([prose(name, LONG_NAME) for name in receipt.proof.left_out], MOST_LISTED)}"


def _concerns(receipt: BuildReceipt, at: PullStanding) -> list[Concern]:
    said = [one.critique for one in receipt.proof.said if one.critique]
    return [concern for one in (*said, *(word for _, word in at.reviews)) for concern in one.concerns][:MOST_LISTED]


def _in_its_words(report: str) -> str:
    head = "<details><summary>in the reporter's words: an agent's claim, no evidence</summary>"
    return f"{head}\n\n{quoted(report, LONGEST_PROSE)}{CLOSED}"
