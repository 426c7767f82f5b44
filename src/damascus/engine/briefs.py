"""What an agent is given: the brief as JSON, the prompt as Markdown. Never a word of loops, counts or CI."""

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ports import Boundaries, Brief
from damascus.domain.spec import Spec
from damascus.engine.run import Run
from damascus.store.db import sql

RULES = """\
You work alone in this folder, a git checkout. Write tests first, then the code that makes them pass.
Change only files in the scope. Name each requirement's id (REQ-001) in the name, docstring or marker of a test.
Do not weaken, skip or delete tests. What you say is not evidence: the tests are run again elsewhere.
"""


def brief(run: Run, spec: Spec, role: str, base: str) -> Brief:
    item = run.item
    return Brief(
        story_id=item.story_id,
        title=item.title,
        role=role,
        step="implement" if role != "spec-refiner" else "refine",
        attempt=item.attempts + 1,
        objective=item.title,
        spec=item.spec.decode("utf-8", errors="replace"),
        file_scope=list(item.file_scope),
        base_commit=base,
        feedback=item.last_feedback,
        artifacts=str(run.folder),
        repo=item.project,
        component_id=item.story_id,
        plan_ref=item.spec_path,
        boundaries=Boundaries(inside=list(item.file_scope), outside=["everything else", "damascus.toml", ".git"]),
        known_issues=list(item.answers),
        parallel_workers=others(run),
        checkpoint={"run": item.run_no, "last_verdict": item.last_verdict},
    )


def others(run: Run) -> list[str]:
    params = {"project": run.item.project_id, "item": run.item.id}
    found = run.tools.db.run(lambda c: c.execute(sql("parallel_workers"), params).fetchall())
    return [row["story_id"] for row in found]


def prompt(given: Brief) -> str:
    parts = [f"# {given.story_id}: {given.title}", RULES, "Scope: " + ", ".join(given.file_scope or ["(none yet)"])]
    if given.known_issues:
        parts.append("A person answered:\n" + "\n".join(f"- {text}" for text in given.known_issues))
    if given.feedback is not None:
        parts.append(_feedback(given.feedback))
    return "\n\n".join([*parts, "# Spec", given.spec]) + "\n"


def _feedback(feedback: VerdictFeedback) -> str:
    lines = ["# What the last try came to", feedback.message]
    if feedback.out_of_scope:
        lines.append("Outside the scope: " + ", ".join(feedback.out_of_scope))
    if feedback.conflict:
        lines.append("Conflicts with main in: " + ", ".join(feedback.conflict.conflicting_files))
        lines.append(f"```\n{feedback.conflict.details}\n```")
    if feedback.test_output:
        lines.append(f"```\n{feedback.test_output[-6000:]}\n```")
    return "\n\n".join(line for line in lines if line)


def refiner_prompt(given: Brief) -> str:
    return (
        f"# Refine {given.story_id}: {given.title}\n\n"
        "Read the code in this folder and complete the story's spec: front matter with story, title and scope, then\n"
        "`## Requirements` (`- REQ-001: …`), `## TDD Plan`, `## Test Command` (one fenced block).\n"
        f"Write it to {given.artifacts}/spec.md and change nothing else. What only a person can decide goes into the\n"
        "report's `concerns` as questions; then write no spec.md.\n\n"
        f"# The rough story\n\n{given.spec}\n"
    )
