"""What an agent is given: the brief as JSON, the prompt as Markdown. Never a word of loops, counts or CI's addresses.

Our own words are files in engine/prompts: the rules for everybody, the task of each role, and an addendum that is added
only once CI has spoken (W10). All the rest is the hand-off, packed into its budget by priority (W11).
"""

from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.handoff import HandoffSection, Packed, Priority, pack
from damascus.domain.ids import Sha
from damascus.domain.ports import Boundaries, Brief
from damascus.domain.roles import Role, Traits, role_of
from damascus.domain.scope import Scope
from damascus.domain.spec import Spec
from damascus.domain.tokens import count
from damascus.domain.verdict import Milestone
from damascus.engine.agent_step import context
from damascus.engine.agent_step.context import Files, Queue
from damascus.engine.agent_step.workspace import StartingPoint
from damascus.engine.run import Run

RULES = "rules"
ADDENDUM = "ci-addendum"
REPORT = "critic-report"
CRITICS = (Role.TEST_CRITIC, Role.CODE_CRITIC, Role.SELF_REVIEWER, Role.SECURITY_REVIEWER, Role.PLAN_CRITIC)
CI = (Milestone.PUSHED_TO_CI, Milestone.FIXING_CI)
OUTSIDE = ["everything else", "damascus.toml", ".git"]
OUTPUT_SHOWN = 6000
FOR_A_STRANGER: dict[str, object] = {"feedback": None, "recent_changes": [], "checkpoint": {}, "parallel_workers": []}
"""Of a brief: what somebody who only reviews is not told."""


@dataclass(frozen=True)
class PromptPart:
    """One piece of a prompt, in order."""

    name: str
    text: str

    @property
    def tokens(self) -> int:
        return count(self.text)


@dataclass(frozen=True)
class Handed:
    """What other steps of the run found: beside the story, and instead of what the last attempt was told."""

    feedback: VerdictFeedback | None = None
    sections: tuple[HandoffSection, ...] = ()
    alone: bool = False
    """Beside the spec, and what a person answered, nothing but these: no word of an author, no earlier finding."""


@cache
def words(name: str) -> str:
    """A file of engine/prompts."""
    return resources.files("damascus.engine").joinpath("prompts", f"{name}.md").read_text("utf-8")


# ── the brief ─────────────────────────────────────────────────────────────────────────────────────────


def brief(run: Run, spec: Spec, role: str, *, start: StartingPoint, handed: Handed | None = None) -> Brief:
    """As the role will find its workspace, with what is handed on to it."""
    given, queue = _facts(run, spec, role, start.base)
    handed = handed or Handed()
    if handed.alone:
        given, queue = given.model_copy(update=FOR_A_STRANGER), replace(queue, chain=())
        return given.model_copy(update={"sections": _packed(given, queue, Files(), "", handed.sections).sections})
    if handed.feedback is not None:
        given = given.model_copy(update={"feedback": handed.feedback})
    mirror, commit, scope = run.tools.mirror, Sha(start.base), Scope(run.item.file_scope)
    tree = context.starting_tree(mirror, commit, start.start, start.was)
    files = context.files_in_scope(mirror, tree, scope, run.tools.read_config(start.base).test.patterns)
    so_far = context.work_so_far(mirror, commit, tree, scope) if start.start else ""
    return given.model_copy(update={"sections": _packed(given, queue, files, so_far, handed.sections).sections})


def _facts(run: Run, spec: Spec, role: str, base: str) -> tuple[Brief, Queue]:
    item, queue = run.item, context.queue_facts(run)
    changes = context.recent_changes(run.tools.mirror, Sha(base), Scope(item.file_scope), queue.chain)
    given = Brief(
        story_id=item.story_id,
        title=item.title,
        role=role_of(role),
        step=run.now,
        attempt=item.attempts + 1,
        objective=item.title,
        spec=item.spec.decode("utf-8", errors="replace"),
        file_scope=list(item.file_scope),
        base_commit=base,
        feedback=item.last_feedback,
        artifacts=str(run.artifacts),
        repo=run.tools.project.repo,
        component_id=item.story_id,
        plan_ref=item.spec_path,
        boundaries=Boundaries(inside=list(item.file_scope), outside=OUTSIDE),
        known_issues=list(item.answers),
        recent_changes=changes,
        parallel_workers=list(queue.parallel),
        checkpoint={"run": item.run_no, "last_verdict": item.last_verdict, "milestone": run.milestone},
        traits=traits(spec, queue, item.last_feedback),
    )
    return given, queue


def traits(spec: Spec, queue: Queue, feedback: VerdictFeedback | None) -> Traits:
    return Traits(
        complexity=spec.complexity,
        domain=spec.domain,
        critical_path=queue.critical,
        cross_repo=queue.cross_repo,
        conflict=feedback is not None and feedback.conflict is not None,
    )


# ── the prompt ────────────────────────────────────────────────────────────────────────────────────────


def prompt(given: Brief) -> str:
    return "\n".join(part.text for part in parts(given))


def parts(given: Brief) -> list[PromptPart]:
    """The prompt in its order: our words first, then what is handed over."""
    own = [PromptPart("rules", words(RULES)), PromptPart("task", words(given.role))]
    if given.role in CRITICS:
        own.append(PromptPart("report", words(REPORT)))
    if given.checkpoint.get("milestone") in CI:
        own.append(PromptPart("CI addendum", words(ADDENDUM)))
    return own + [PromptPart(section.title, section.text) for section in given.sections]


# ── the hand-off ──────────────────────────────────────────────────────────────────────────────────────


def _packed(given: Brief, queue: Queue, files: Files, work_so_far: str, handed: tuple[HandoffSection, ...]) -> Packed:
    plan = [
        ("Story", _story(given)),
        ("Answers of a person", _listed(given.known_issues)),
        ("Findings", _findings(given.feedback) if given.feedback is not None else ""),
        ("Work on this story that is already in the folder", work_so_far),
        ("Spec", given.spec),
    ]
    related = [(f"Spec of {row['story_id']}, which this builds on", row["spec"]) for row in queue.chain if row["spec"]]
    sections = [HandoffSection(Priority.PLAN, title, body) for title, body in plan if body]
    sections += [*handed, *files.sections]
    sections += [HandoffSection(Priority.SPECS, title, _text(raw), quoted=True) for title, raw in related]
    if given.recent_changes:
        sections.append(
            HandoffSection(Priority.HISTORY, "Last changes that it builds on", _listed(given.recent_changes))
        )
    return pack(sections, unread=files.unread)


def _text(raw: bytes) -> str:
    return bytes(raw).decode("utf-8", errors="replace")


def _listed(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _story(given: Brief) -> str:
    facts = [
        ("story", f"{given.story_id}: {given.objective}"),
        ("component", given.component_id),
        ("repository", given.repo),
        ("plan", given.plan_ref),
        ("branch", "a feature branch of its own, already checked out"),
        ("scope", ", ".join(given.file_scope) or "not yet known"),
        ("outside", ", ".join(given.boundaries.outside)),
        ("others at work", ", ".join(given.parallel_workers)),
        ("artifacts folder", given.artifacts if "artifacts" in words(given.role) else ""),
        ("output", "files in this folder, and the report as JSON"),
    ]
    return "\n".join(f"- {name}: {value}" for name, value in facts if value)


def _findings(feedback: VerdictFeedback) -> str:
    lines = [feedback.message]
    if feedback.failing_tests:
        lines.append("Tests concerned:\n" + _listed(feedback.failing_tests))
    if feedback.requirements:
        lines.append("Requirements concerned: " + ", ".join(feedback.requirements))
    if feedback.out_of_scope:
        lines.append("Outside the scope: " + ", ".join(feedback.out_of_scope))
    if feedback.conflict:
        lines.append("Conflicts with main in: " + ", ".join(feedback.conflict.conflicting_files))
        lines.append(f"```\n{feedback.conflict.details}\n```")
    if feedback.test_output:
        lines.append(f"```\n{feedback.test_output[-OUTPUT_SHOWN:]}\n```")
    return "\n\n".join(line for line in lines if line)
