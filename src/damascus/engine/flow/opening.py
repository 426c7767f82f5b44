"""branch, load_context, clarify: where the work begins, what it has to know, what the story leaves open (F2, F6).

The manifest is computed; the context-loader may only add to it in prose. Neither of the two agents stops a build: what
they could not do is said in their artifact.
"""

import json

from pydantic import BaseModel

from damascus.domain.decisions import assumptions_in
from damascus.domain.ids import Sha
from damascus.domain.outcome import Outcome
from damascus.domain.ports import Report
from damascus.domain.roles import Role
from damascus.domain.scope import Scope
from damascus.domain.spec import digest
from damascus.domain.verdict import Phase
from damascus.engine.agent_step.context import scoped
from damascus.engine.agent_step.results import AgentResult, reason, sentences
from damascus.engine.flow.inputs import ONCE
from damascus.engine.flow.papers import leave, left_out
from damascus.engine.flow.work import Work
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind


class Branch(BaseModel):
    """The story's branch and what it starts from."""

    name: str
    base: str


class Notes(AgentResult):
    """What an agent found out, in prose; its artifact is no JSON."""

    text: str = ""
    questions: list[str] = []  # noqa: RUF012

    def answered(self, report: Report | None, text: str | None) -> "Notes":
        told = {**report.claims, **report.whole} if report else {}
        return self.model_copy(update={"text": text or self.summary, "questions": sentences(told.get("questions"))})


class Manifest(Notes):
    artifact = "context_notes.md"


class Clarified(Notes):
    artifact = "clarification_questions.md"

    @property
    def assumed(self) -> list[str]:
        """A question that it left open was answered by nobody: whatever was built assumes something."""
        return assumptions_in([*self.assumptions, *(f"Left open: {each}" for each in self.questions)])


BRANCH = Step("branch", Phase.BUILD, StepKind.LOCAL, Branch, "the story's branch and its base; nothing is moved yet")
LOAD_CONTEXT = Step(
    "load_context", Phase.BUILD, StepKind.AGENT, Manifest,
    "what the work has to know: the manifest is computed, the context-loader adds notes",
    role=Role.CONTEXT_LOADER,
)  # fmt: skip
CLARIFY = Step(
    "clarify", Phase.BUILD, StepKind.AGENT, Clarified,
    "open questions and the assumptions made instead; never blocks",
    role=Role.CLARIFIER,
)  # fmt: skip


def branch(work: Work) -> None:
    work.run.local(BRANCH, lambda: Branch(name=work.run.item.branch, base=work.at.base))


def load_context(work: Work) -> None:
    if work.skips(LOAD_CONTEXT):
        _leave_manifest(work, "left out by [flow] skip")
        return
    loaded = work.send(LOAD_CONTEXT, ONCE, failed=goes_on, leaves=lambda done: _leave_manifest(work, _words(done)))
    if loaded.text:
        work.notes["What to know"] = loaded.text


def clarify(work: Work) -> None:
    if work.skips(CLARIFY):
        left_out(work, CLARIFY)
        return
    clarified = work.send(CLARIFY, ONCE, failed=goes_on, leaves=lambda done: leave(work, CLARIFY, _words(done)))
    if clarified.text:
        work.notes["Open questions, and what is assumed"] = clarified.text


def goes_on(_: Run, __: AgentResult) -> Outcome | None:
    """Whatever its end: it is no attempt of the story's."""
    return None


def _words(notes: Notes) -> str:
    if not notes.succeeded:
        how = reason(notes.ending) if notes.ending.ended else f"exit {notes.exit_code}"
        return f"The agent of this step failed ({how}); nothing is known from it."
    listed = [line for line in notes.questions if line not in notes.text]
    return "\n".join([notes.text or "No question is open.", *(f"- {line}" for line in listed)])


def _leave_manifest(work: Work, notes: str) -> None:
    """Inputs as they are on the base commit go into the run folder with it."""
    for each in work.inputs.found:
        if each.text is not None:
            work.run.leave(each.name, each.text)
    leave(work, LOAD_CONTEXT, json.dumps(manifest(work, notes), indent=2, ensure_ascii=False) + "\n")


def manifest(work: Work, notes: str) -> dict[str, object]:
    item, inputs = work.run.item, work.inputs
    files = scoped(work.run.tools.mirror, Sha(work.at.base), Scope(item.file_scope))
    return {
        "story": item.story_id,
        "base": work.at.base,
        "spec": {"path": item.spec_path, "sha256": digest(item.spec)},
        "scope": list(item.file_scope),
        "inputs": [{"name": each.name, "path": each.path, "sha256": each.sha256} for each in inputs.found],
        "unread": [each.name for each in inputs.found if each.text is None],
        "absent": list(inputs.absent),
        "files": sorted(path for path, _ in files),
        "subtasks": [each.title for each in inputs.subtasks],
        "notes": notes,
    }
