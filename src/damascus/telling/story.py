"""One story in words, as `show` tells it: its facts, its last verdict, its questions."""

from collections.abc import Sequence

from damascus.domain.ids import short
from damascus.domain.verdict import Verdict
from damascus.store.db import Row
from damascus.store.patterns import PatternUse
from damascus.store.views import StoryRow
from damascus.telling import asked
from damascus.telling.now import now, tries
from damascus.telling.phrases import between, in_parts, plural, pull

PROVES_NOTHING = (
    Verdict.NOT_RED, Verdict.CODE_UNPROVED, Verdict.MUTANT_SURVIVED, Verdict.RUNNER_COMPROMISED, Verdict.UNCOVERED,
    Verdict.REQUIREMENT_UNTESTED,
)  # fmt: skip
"""Verdicts on tests that are green: they are named since they prove nothing."""


def facts(row: StoryRow, whole: Row) -> list[tuple[str, str]]:
    """A name and what is told of it, each."""
    return [
        ("phase", f"{row.phase} ({row.status}): {now(row)}"),
        ("try", f"{tries(row)}, {plural(row.claims, 'claim')}, run {row.run_no}"),
        ("scope", ", ".join(row.file_scope) or "not yet known"),
        ("spec", f"{whole['spec_path']} ({whole['spec_hash'][:12]})"),
        ("branch", f"{row.branch}, base {short(row.base_commit)}, candidate {short(whole['candidate'])}"),
        ("pull", f"{pull(row.pr_url)} ({row.pr_url})" if row.pr_url else "none yet"),
        ("added", f"{between(row.created_at, row.read_at)} ago"),
    ]


def patterns(uses: Sequence[PatternUse]) -> list[tuple[str, str]]:
    """Of the pattern library: those that were applied, and those that were only offered."""
    told = [
        f"{state}: {', '.join(use.name for use in uses if use.state == state)}"
        for state in ("applied", "offered")
        if any(use.state == state for use in uses)
    ]
    return [("patterns", "; ".join(told))] if told else []


def tests_word(verdict: str | None) -> str:
    """What the tests are that a verdict names."""
    return "unproved" if verdict in PROVES_NOTHING else "red"


def feedback(row: StoryRow) -> list[str]:
    """The last verdict, and what it names."""
    found = row.last_feedback or {}
    said = [f"last verdict: {row.last_verdict}. {found.get('message') or ''}"] if row.last_verdict else []
    for key in ("failing_tests", "requirements", "files_changed", "out_of_scope", "touches_stories"):
        if found.get(key):
            name = f"{tests_word(row.last_verdict)} tests" if key == "failing_tests" else key.replace("_", " ")
            said.append(f"{name}: {', '.join(found[key])}")
    return said


def question(issue: Row) -> str:
    answer = f"answered: {issue['answer']}" if issue["closed_at"] else f"open: {asked.way(issue)}"
    return f"question {issue['id']}: {in_parts(issue['question'])[0]} ({answer})"
