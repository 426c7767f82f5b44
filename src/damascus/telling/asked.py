"""Which command an open question asks for: its answer, or the corrected spec where the spec is the trouble."""

from damascus.domain import recovery
from damascus.domain.recovery import OptionId
from damascus.domain.verdict import Verdict
from damascus.store.db import Row

SPEC_PROBLEMS = (Verdict.REQUIREMENT_UNTESTED, Verdict.SPEC_WRONG, Verdict.SPEC_AMBIGUOUS)
"""Verdicts after which another try with the same spec rarely helps."""


def corrects(issue: Row) -> bool:
    """A person has said that the spec will be corrected: the question stays open until it is added."""
    return issue["answer"] is not None and issue["closed_at"] is None


def is_stale(issue: Row) -> bool:
    """About a STALE story: its own verb shows the tests concerned first."""
    return recovery.REAPPROVE in issue["options"]


def way(issue: Row) -> str:
    """`command`, but an answer is left open: which one is best is not known."""
    return command(issue) if wants_spec(issue) or is_stale(issue) else f"damascus answer {issue['id']} …"


def wants_spec(issue: Row) -> bool:
    """The spec is what should be looked at first."""
    known = [recovery.option_of(text).id for text in issue["options"]] if issue["item_id"] is not None else []
    if corrects(issue) or known[:1] == [OptionId.EDIT_SPEC]:
        return True
    return known[:1] == [OptionId.RETRY] and OptionId.EDIT_SPEC in known and issue["last_verdict"] in SPEC_PROBLEMS


def adding(row: Row) -> str:
    """A task's spec is part of its graph."""
    return f"damascus tasks add {row['graph']}" if row["graph"] else f"damascus add {row['spec_path']}"


def command(issue: Row) -> str:
    """What to type: the first option is only proposed where nothing says that another is better."""
    if is_stale(issue):
        return f"damascus approve {issue['story_id']}"
    if wants_spec(issue):
        return adding(issue)
    return f"damascus answer {issue['id']} {'1' if issue['options'] else 'TEXT'}"


def in_words(issue: Row) -> str:
    """`command`, with what else can be done."""
    if corrects(issue):
        return f"correct its spec, then add it again: {command(issue)}"
    if is_stale(issue):
        return f"let it be built anew: {command(issue)}, or take it back: damascus change --undo {issue['story_id']}"
    if not wants_spec(issue):
        return f"answer: {command(issue)}"
    if recovery.option_of(issue["options"][0]).id == OptionId.EDIT_SPEC:
        return f"correct its spec and add it again: {command(issue)}"
    return f"look at its spec; correct it and add it again: {command(issue)}, or try once more: {_first(issue)}"


def _first(issue: Row) -> str:
    return f"damascus answer {issue['id']} 1"
