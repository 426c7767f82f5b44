"""What an edit of a task graph means for a task that is there already, by its old spec and the new one."""

from collections.abc import Iterator, Sequence

from damascus.domain.spec import Spec
from damascus.domain.tasks import TestContract

FIELDS = (
    ("title", "title"),
    ("task_type", "task type"),
    ("kind", "kind"),
    ("platform", "platform"),
    ("domain", "domain"),
    ("depends_on", "dependencies"),
    ("gate_commands", "gate commands"),
    ("contract_exempt", "why it is EXEMPT"),
    ("graph", "the graph's path"),
    ("test_command", "Test Command"),
)


def differences(old: Spec, new: Spec) -> list[str]:
    """Each in a few words; never nothing for specs that differ."""
    found = [name for field, name in FIELDS if getattr(old, field) != getattr(new, field)]
    found += _lists("output files", _patterns(old), _patterns(new))
    found += _contract(old.contracts, new.contracts)
    criteria = [{need.text for need in spec.requirements} - _behaviours(spec) for spec in (old, new)]
    found += ["acceptance criteria"] if criteria[0] != criteria[1] else []
    return found or ["its wording"]


def _patterns(spec: Spec) -> Sequence[str]:
    return spec.scope.patterns if spec.scope else ()


def _behaviours(spec: Spec) -> set[str]:
    return {contract.behaviour for contract in spec.contracts}


def _lists(name: str, old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    more = [f"+{path}" for path in new if path not in old]
    less = [f"-{path}" for path in old if path not in new]
    if more or less:
        yield f"{name} ({', '.join([*more, *less])})"


def _contract(old: Sequence[TestContract], new: Sequence[TestContract]) -> Iterator[str]:
    before, after = ({one.id: one for one in contracts} for contracts in (old, new))
    told = [f"+{ident}" for ident in after if ident not in before]
    told += [f"-{ident}" for ident in before if ident not in after]
    told += [ident for ident in after if ident in before and before[ident] != after[ident]]
    if told:
        yield f"test contract ({', '.join(told)})"
