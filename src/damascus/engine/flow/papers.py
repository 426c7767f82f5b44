"""The artifacts of a build, under their names in the story's run folder: rendered by us from what agents say.

Each is left in the transaction that records its step, so that no step is done without its artifact. A run is complete
when all of them exist, also one that a critic ended.
"""

from typing import Any

from damascus.domain.critique import Critique
from damascus.domain.storable import clean
from damascus.engine.flow.inputs import WHOLE, Subtask
from damascus.engine.flow.work import Work
from damascus.engine.step import Step
from damascus.engine.steps.implement import Made
from damascus.store import artifacts

ARTIFACTS = {
    "load_context": "build/subtask_context_manifest.json",
    "clarify": "build/clarification_questions.md",
    "author_tests": "build/test_changes_summary.md",
    "critique_tests": "build/test_critique.md",
    "implement": "build/impl_changes_summary.md",
    "critique_code": "build/code_critique.md",
    "mutate": "build/mutation_report.md",
    "fix": "build/fix_summary.md",
    "docs": "build/doc_updates.md",
    "self_review": "build/self_review.md",
}
"""The eleventh is build/build_receipt.json."""
LARGEST = 400_000


def leave(work: Work, step: Step[Any], text: str, subtask: Subtask = WHOLE) -> None:
    """Below those of the subtasks before it."""
    parts = {**work.told.get(step.name, {}), subtask.title: text}
    whole = text if len(parts) == 1 else "\n".join(f"# {title}\n\n{part}" for title, part in parts.items())
    work.run.leave(ARTIFACTS[step.name], clean(whole, LARGEST))


def say(work: Work, step: Step[Any], text: str, subtask: Subtask = WHOLE) -> None:
    """Once it is recorded, also by a run before this claim."""
    work.told.setdefault(step.name, {})[subtask.title] = text


def left_out(work: Work, step: Step[Any]) -> None:
    leave(work, step, f"Not verified: the step {step.name} was left out by [flow] skip.\n")


def complete(work: Work, why: str) -> None:
    """What this story never came to says so."""
    there = artifacts.names(work.run.tools.db, work.run.item.id)
    for step, name in ARTIFACTS.items():
        if name not in there:
            text = f"Not reached: {why}.\n"
            work.run.leave(name, f'{{"story": "{work.run.item.story_id}"}}\n' if step == "load_context" else text)


# ── their words ───────────────────────────────────────────────────────────────────────────────────────


def summary(made: Made) -> str:
    """What git saw, then what its author says of it."""
    parts = [("Files of the story so far, by git", made.files_changed), ("Changed", made.changed or [made.summary])]
    parts += [("Weak", made.weak), ("Open", [*made.open, *made.concerns])]
    return "".join(f"## {title}\n\n{_listed(lines)}\n" for title, lines in parts)


def review(critique: Critique) -> str:
    lines = [f"Status: {critique.status}", f"Can further iteration help: {_yes(critique.can_further_iteration_help)}"]
    parts = [("Summary", [critique.summary]), ("Missing", critique.missing)]
    parts += [("Concerns", [_weighed(concern.told, concern.severity) for concern in critique.concerns])]
    words = [f"{w.id}: {w.status}, tests: {_named(w.tests)}, code: {_named(w.code)}" for w in critique.requirements]
    parts += [("Requirements, by the critic's word", words)]
    told = "".join(f"\n## {title}\n\n{_listed(each)}" for title, each in parts if any(each))
    return "\n".join(lines) + "\n" + told


def _listed(lines: list[str]) -> str:
    return "".join(f"- {line}\n" for line in lines if line) or "- nothing was said\n"


def _named(names: list[str]) -> str:
    return ", ".join(names) or "none"


def _weighed(told: str, severity: str) -> str:
    return f"[{severity}] {told}" if severity else told


def _yes(value: bool) -> str:
    return "yes" if value else "no"
