"""What our gates showed of a commit, in words for those who judge it: no word of an agent is here."""

from damascus.domain.handoff import HandoffSection, Priority
from damascus.domain.ports import GateResult
from damascus.domain.receipt import BuildReceipt
from damascus.engine.judging import Judged

MOST_TESTS = 200
MOST_NAMED = 20
OUTPUT_SHOWN = 6000


def evidence_of(judged: Judged) -> HandoffSection:
    lines = [line for result in judged.results for line in _shown(result)]
    text = "\n".join([f"Commit {judged.commit}, in a clean checkout:", *lines])
    return HandoffSection(Priority.PLAN, "Evidence", text)


def printed_by(judged: Judged) -> tuple[HandoffSection, ...]:
    """The runner's own words where a gate refused the run; else its last lines, to the letter."""
    for result in judged.results:
        text = next((each.output for each in result.findings if each.output), "")
        text = text[-OUTPUT_SHOWN:] or (result.run.summary if result.run else "")
        if text.strip():
            return (HandoffSection(Priority.PLAN, "What the test runner printed", text, quoted=True),)
    return ()


def requirements_of(receipt: BuildReceipt) -> HandoffSection:
    """As evidence alone has them. What it can't tell is a reader's to look into (F7)."""
    lines = []
    for line in receipt.requirement_lines:
        tests, code = (", ".join(names[:MOST_NAMED]) or "none known" for names in (line.tests, line.code))
        lines.append(f"- {line.id}: {line.computed}; tests: {tests}; code: {code}")
    asked = "Of each that is UNKNOWN say in `requirements` which tests and which code belong to it, and what it is."
    return HandoffSection(Priority.PLAN, "How far each requirement is proved", "\n".join([*lines, asked]))


def _shown(result: GateResult) -> list[str]:
    summaries = "; ".join(each.summary for each in result.evidence if each.summary)
    word = "refused" if result.findings else "passed"
    lines = [f"- gate {result.gate}: {word}{f' ({summaries})' if summaries else ''}"]
    lines += [f"  - {finding.message}" for finding in result.findings]
    tests = (("red without the change", result.red_tests), ("green with it", result.green_tests))
    lines += [f"  - {word}: {', '.join(names[:MOST_TESTS])}" for word, names in tests if names]
    lines += [f"  - {note}" for note in result.notes]
    return lines + [f"  - not verified: {name}" for name in result.unverified]
