"""The documents' tables that list words of the code, made from the code.

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`. `python -m tests.rules.tables` writes them
all anew; tests/rules/test_tables.py fails where one differs.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from damascus.domain.ci_failure import CiClass, Why
from damascus.domain.critique import RequirementStatus, ReviewStatus
from damascus.domain.described import Described
from damascus.domain.events import EventKind
from damascus.domain.failures import FailureClass, FailureKind
from damascus.domain.graph import MainState
from damascus.domain.merge_queue import EntryState
from damascus.domain.ports import CiState, GateLane, GateName
from damascus.domain.receipt import MutationStatus
from damascus.domain.recovery import OptionId, QuestionAbout, QuestionKind
from damascus.domain.requirement_status import RequirementTag
from damascus.domain.roles import Role, Tier, Writable
from damascus.domain.security_domains import SecurityDomain
from damascus.domain.signs import EndedBy, Sign
from damascus.domain.tasks import ContractKind, TaskType
from damascus.domain.verdict import Milestone, Phase, Substate, TaskStatus, Verdict
from damascus.domain.waits import ItemState, WaitKind
from damascus.engine.lifecycle import FULL, SOMETIMES, STEPS
from damascus.engine.services import ServiceName
from damascus.engine.step import Step, agent_steps
from damascus.tasks.fields import TaskField
from damascus.web.metrics import METRICS

ROOT = Path(__file__).parents[2]
MARKED = re.compile(r"<!-- table: (?P<name>[a-z_]+) -->\n(?P<table>.*?)<!-- end of table -->", re.DOTALL)
Row = Sequence[str]


def table(head: Row, rows: Iterable[Row]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("|---" * len(head) + "|\n" if row[0] == "---" else f"| {' | '.join(row)} |\n" for row in lines)


def described(head: Row, words: type[Described]) -> str:
    return table(head, ([f"`{word}`", word.means] for word in words if word))


def steps(rows: Iterable[Step[Any]]) -> str:
    told = ([", ".join(row.phases), f"`{row.name}`", row.kind, row.does] for row in rows)
    return table(["phase", "step", "kind", "what it does"], told)


REVIEW = "a critic's report"
FILES = "its files; an author's report"
ANSWERS = {
    "refine": ("the rough story; the folder is main's tip", "`spec.md`, or `concerns` and no `spec.md`"),
    "implement": ("in `full`: notes, accepted tests, the code-critic's concerns", FILES),
    "load_context": ("the inputs of the story", "`context_notes.md`, or `summary`"),
    "clarify": ("the inputs and the notes", "`clarification_questions.md`, or `summary`; `questions`, a list of texts"),
    "author_tests": ("the notes, the test-critic's concerns", FILES),
    "critique_tests": ("the author's words, our own run of the tests", REVIEW),
    "critique_code": ("the author's words, our own run of the tests", REVIEW),
    "explain_mutants": ("the mutants that live, as feedback", "`mutation_notes.md`, or `summary`"),
    "fix": ("mutants that live and what critics left, as feedback", FILES),
    "docs": ("the notes", FILES),
    "self_review": ("the author's words, what the gates showed, numbers nobody measured", REVIEW),
    "review_code": ("spec, answers, diff and evidence alone", REVIEW),
    "review_security": (
        "the same, the findings of static analysis, the domains",
        "a critic's report with `findings` and `domains`",
    ),
    "report": ("spec, answers, diff and evidence alone", "`report.md`"),
    "write_plan": ("the idea, the format, faults of `tasks check`, the plan-critic's concerns", FILES),
    "critique_plan": ("the idea and the graph", REVIEW),
}
"""What an agent is handed beside the story, and how it answers, by its step. A new step needs its row."""


OF_OTHER_TESTS = ("critique", "plan", "document")


def answers() -> str:
    order = list(ANSWERS)
    ours = [step for step in agent_steps() if step.name not in OF_OTHER_TESTS]
    known = sorted(ours, key=lambda step: order.index(step.name))
    rows = ([f"`{step.role}`", f"`{step.name}`", Role(step.role).writes, *ANSWERS[step.name]] for step in known)
    return table(["role", "step", "writes", "is handed besides", "answers with"], rows)


TABLES: dict[str, Callable[[], str]] = {
    "agent_steps": answers,
    "domain_names": lambda: ", ".join(f"`{each}`" for each in SecurityDomain) + "\n",
    "phases": lambda: described(["phase", "what happens there"], Phase),
    "task_status": lambda: described(["word", "means"], TaskStatus),
    "item_states": lambda: described(["state", "means"], ItemState),
    "steps": lambda: steps(STEPS),
    "steps_full": lambda: steps(FULL),
    "review_statuses": lambda: described(["status", "means"], ReviewStatus),
    "steps_sometimes": lambda: steps(SOMETIMES),
    "waits": lambda: table(
        ["kind", "waits for", "woken by"], ([f"`{kind}`", kind.means, kind.woken_by] for kind in WaitKind)
    ),
    "security_domains": lambda: described(["domain", "question"], SecurityDomain),
    "milestones": lambda: described(["milestone", "means"], Milestone),
    "substates": lambda: described(["sub-state", "means"], Substate),
    "events": lambda: table(
        ["event", "tells", "facts"],
        ([f"`{kind}`", kind.means, ", ".join(f"`{name}`" for name in kind.fields)] for kind in EventKind),
    ),
    "gate_lanes": lambda: described(["lane", "asked"], GateLane),
    "gates": lambda: table(
        ["gate", "lane", "passes when"], ([f"`{gate}`", gate.lane, gate.means] for gate in GateName)
    ),
    "verdicts": lambda: table(
        ["verdict", "what it means", "what happens"], ([f"`{one}`", one.means, one.then] for one in Verdict)
    ),
    "failure_classes": lambda: described(["class", "means"], FailureClass),
    "failures": lambda: table(
        ["trouble", "class", "how it is seen", "what happens"],
        ([kind, kind.severity, kind.means, kind.action] for kind in FailureKind),
    ),
    "services": lambda: described(["service", "does"], ServiceName),
    "ci_classes": lambda: described(["class", "means"], CiClass),
    "ci_states": lambda: described(["state", "means"], CiState),
    "ci_again": lambda: described(["why", "means"], Why),
    "roles": lambda: table(
        ["role", "writes", "model", "does"],
        ([f"`{role}`", role.writes, role.tier, role.means] for role in Role),
    ),
    "writable": lambda: described(["word", "means"], Writable),
    "tiers": lambda: described(["word", "means"], Tier),
    "signs": lambda: described(["sign", "seen when"], Sign),
    "ended_by": lambda: described(["word", "why"], EndedBy),
    "entry_states": lambda: described(["state", "means"], EntryState),
    "main_states": lambda: described(["state", "means"], MainState),
    "question_kinds": lambda: described(["kind", "means"], QuestionKind),
    "question_about": lambda: described(["about", "means"], QuestionAbout),
    "requirement_status": lambda: described(["status", "means"], RequirementStatus),
    "requirement_tags": lambda: described(["tag", "means"], RequirementTag),
    "mutation_status": lambda: described(["status", "means"], MutationStatus),
    "task_fields": lambda: described(["field", "means"], TaskField),
    "task_types": lambda: described(["type", "means"], TaskType),
    "contract_kinds": lambda: described(["kind", "a test runs"], ContractKind),
    "metrics": lambda: table(
        ["metric", "type", "labels", "tells"],
        ([f"`{one.name}`", one.kind, ", ".join(f"`{name}`" for name in one.labels), one.means] for one in METRICS),
    ),
    "options": lambda: table(["id", "what it does"], ([f"`{one}`", one.means] for one in OptionId if one)),
}


def remade(text: str) -> str:
    """The document with each of its tables as the code has it."""
    return MARKED.sub(
        lambda found: f"<!-- table: {found['name']} -->\n{TABLES[found['name']]()}<!-- end of table -->", text
    )


def documents() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def main() -> None:
    for path in documents():
        text = path.read_text()
        if (new := remade(text)) != text:
            path.write_text(new)
            print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
