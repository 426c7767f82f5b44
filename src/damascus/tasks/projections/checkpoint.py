"""CHECKPOINT.md: a block per task that came to an end, and a full checkpoint after every few (A8).

What was not run is never ✅: the mark stands for evidence of a run that ended well, and for nothing else.
"""

from collections.abc import Mapping, Sequence

from damascus.domain.inert_markdown import filed
from damascus.domain.judged_contracts import contract_line
from damascus.domain.ports import Evidence, GateName, GateResult
from damascus.domain.verdict import TaskStatus
from damascus.tasks.projections.facts import FullCheckpoint, TaskFacts

OK = "✅"
NOT_RUN = "not run"
NONE = "none"
NOTHING_AGAIN = "nothing to run again"
FIRST = ("lint", "types", "tests", "build")
"""Named whether they ran or not."""
FURTHER = (GateName.SUITE, GateName.VISUAL, GateName.COVERAGE)
TITLE, WORDS, NOTES = 120, 200, 300
SHOWN = 20
ENDED = (TaskStatus.BLOCKED, TaskStatus.STALE)


def checkpoint_file(tasks: Sequence[TaskFacts], landings: Sequence[str], full: Sequence[FullCheckpoint]) -> str:
    """In the order of landing, each where it landed last, full checkpoints between them; then what stopped."""
    known = {task.id: task for task in tasks}
    last = {ident: place for place, ident in enumerate(landings)}
    parts: list[str] = []
    for place, ident in enumerate(landings):
        task = known.get(ident)
        if task is not None and last[ident] == place and task.status is TaskStatus.DONE:
            parts.append(block(task))
        parts += [full_block(one) for one in full if one.done == place + 1]
    parts += [block(task) for task in tasks if task.status in ENDED]
    return "\n".join(["# Checkpoint\n", *parts]) if parts else "# Checkpoint\n\nNo task has ended yet.\n"


def block(task: TaskFacts) -> str:
    head = f"--- Task {task.number}: {filed(task.title, TITLE)} — {task.status}"
    ident = f"Id: {task.id}"
    if task.status is TaskStatus.BLOCKED:
        return f"{head}\n{ident}\nReason: {_words(task.reason)}\n"
    if task.status is TaskStatus.STALE:
        return f"{head}\n{ident}\nChange: {_words(task.reason)}\n"
    proof = task.proof
    lines = [
        f"{head} {OK}",
        ident,
        _contract(task),
        f"Contracts: {_contracts(proof.of(GateName.CONTRACTS))}",
        f"Regression: {regression(proof.of(GateName.IMPACT))}",
        f"Gates: {_gates(task)}",
        f"Patterns applied: {_listed(proof.patterns)}",
        f"Notes: {filed(proof.summary, NOTES) or 'none'}",
    ]
    return "\n".join(lines) + "\n"


def full_block(one: FullCheckpoint) -> str:
    lines = [
        f"=== Checkpoint {one.number}: {one.done} tasks DONE — {one.at:%Y-%m-%dT%H:%M:%SZ}",
        f"Done since the last: {_listed(one.tasks)}",
        f"Remaining: {filed(one.remaining, WORDS) or 'none'}",
        f"BLOCKED: {_listed(one.blocked, '; ')}",
        f"STALE: {_listed(one.stale, '; ')}",
        f"Patterns applied: {_listed(one.patterns)}",
        f"Regression: {filed(one.regression, WORDS) or NOT_RUN}",
    ]
    return "\n".join(lines) + "\n"


def regression(result: GateResult | None) -> str:
    """Nobody's tests run again is no proof that nothing broke, however good the reason."""
    if result is None:
        return NOT_RUN
    if result.findings or result.unverified:
        return f"not proved: {_several([*(one.message for one in result.findings), *result.unverified])}"
    if not any(one.command for one in result.evidence):
        return f"{NOTHING_AGAIN}: {_several([one.summary for one in result.evidence]) or 'no reason was told'}"
    return f"{OK} no cross-task failures"


def _contract(task: TaskFacts) -> str:
    judged = task.proof.of(GateName.TEST_CONTRACTS)
    told = contract_line(judged.contracts) if judged else ""
    return told or (f"TC: exempt: {filed(task.exempt, WORDS)}" if task.exempt else f"TC: {NOT_RUN}")


def _contracts(result: GateResult | None) -> str:
    if result is None:
        return NOT_RUN
    seen = [f"{OK} {filed(one.summary, WORDS)}" for one in result.evidence[:SHOWN] if _passed(one, result)]
    open_ = [f"not verified: {filed(each, WORDS)}" for each in result.unverified[:SHOWN]]
    return " | ".join([*seen, *open_]) or f"{NOT_RUN}: the change touches none"


def _passed(one: Evidence, result: GateResult) -> bool:
    """A contract that is gone was seen, not kept."""
    ended_well = one.exit_code in (None, 0)
    return ended_well and not result.findings and not one.summary.endswith((": deleted", ": refused"))


def _gates(task: TaskFacts) -> str:
    asked = {**_commands(task), "tests": _ran(task.proof.of(GateName.TESTS))}
    asked |= {gate.value: ran for gate in FURTHER if (ran := _ran(task.proof.of(gate))) is not None}
    asked |= {GateName.MUTATION.value: task.proof.mutation} if task.proof.mutation is not None else {}
    names = [*FIRST, *(name for name in asked if name not in FIRST)]
    passed = " ".join(f"{OK} {filed(name, 40)}" for name in names if asked.get(name))
    failed = _listed([*(name for name in names if asked.get(name) is False), *_further_unverified(task, asked)], "; ")
    missing = ", ".join(name for name in FIRST if asked.get(name) is None)
    told = [passed, f"not verified: {failed}" if failed != NONE else "", f"{NOT_RUN}: {missing}" if missing else ""]
    return " | ".join(part for part in told if part)


def _further_unverified(task: TaskFacts, asked: Mapping[str, bool | None]) -> list[str]:
    """What the receipt lists besides."""
    told = {name for name, ran in asked.items() if ran is False}
    return [each for each in task.proof.unverified if each.partition(": ")[0] not in told]


def _commands(task: TaskFacts) -> dict[str, bool]:
    """By name, the first run of each: by main's settings, on the candidate."""
    result = task.proof.of(GateName.COMMANDS)
    if result is None:
        return {}
    listed = {each.partition(": ")[0] for each in result.unverified}
    found: dict[str, bool] = {}
    for one in result.evidence:
        if not one.gate.endswith((" on the base", " with the story's settings")):
            found.setdefault(one.gate, one.exit_code == 0 and one.gate not in listed)
    return found


def _ran(result: GateResult | None) -> bool | None:
    """Of a gate that runs a command; None: it ran none."""
    codes = [one.exit_code for one in result.evidence if one.command] if result else []
    if result is None or not codes:
        return None
    return codes[0] == 0 and not result.findings


def _listed(words: Sequence[str], between: str = ", ") -> str:
    shown = [filed(each, WORDS) for each in words[:SHOWN]]
    more = [f"and {len(words) - SHOWN} more"] if len(words) > SHOWN else []
    return between.join([*shown, *more]) or NONE


def _several(words: Sequence[str]) -> str:
    return _listed(words, "; ") if words else ""


def _words(text: str) -> str:
    return filed(text, WORDS) or "not told"
