"""Those who read a pull request before it lands: the code-critic, then the security-reviewer (D18, F3).

They are strangers to the work: they see the diff, the spec and the evidence, and no word of its authors. In profile
`full` they are always asked, in `direct` where `[review] critic` says so. None writes a file, and none raises what the
gates have said: what a gate refuses never comes to them.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from damascus.domain.critique import Concern, Critique, ReviewStatus
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.handoff import HandoffSection, Priority
from damascus.domain.ids import Sha
from damascus.domain.outcome import Outcome, Rejected
from damascus.domain.ports import Report
from damascus.domain.receipt import BuildReceipt
from damascus.domain.roles import Role
from damascus.domain.security_domains import SecurityDomain
from damascus.domain.spec import Spec
from damascus.domain.storable import clean
from damascus.domain.verdict import Phase, Verdict
from damascus.domain.visible import visible
from damascus.engine.agent_step.briefs import Handed
from damascus.engine.agent_step.reviewed import Reviewed, could_not_review
from damascus.engine.agent_step.workspace import StartingPoint
from damascus.engine.evidence_shown import evidence_of, printed_by, requirements_of
from damascus.engine.judging import Judged
from damascus.engine.run import Run
from damascus.engine.step import Outputs, Step, StepKind
from damascus.engine.steps.approval import missing_acceptance
from damascus.engine.steps.sast import SAST, SastFinding, Scanned, scan
from damascus.writes.log import FINDINGS

MOST_NAMED = 5


class FindingWord(BaseModel):
    """What the reviewer says of one finding."""

    model_config = ConfigDict(extra="ignore")

    n: int
    real: bool
    why: str = ""


class SecurityAnswers(BaseModel):
    """What its report has besides every critic's."""

    model_config = ConfigDict(extra="ignore")

    findings: list[FindingWord] = Field(default_factory=list)
    domains: dict[str, str] = Field(default_factory=dict)


class SecurityReviewed(Reviewed):
    """A critic's report, with a word on every finding and every domain."""

    findings: list[FindingWord] = Field(default_factory=list)
    domains: dict[str, str] = Field(default_factory=dict)

    def told_by(self, report: Report) -> Self:
        own = SecurityAnswers.model_validate(report.whole)
        return super().told_by(report).model_copy(update={"findings": own.findings, "domains": own.domains})

    def word_on(self, found: Sequence[SastFinding]) -> Critique:
        """Whatever it is silent about was not reviewed; a finding that it calls real is no VERIFIED."""
        word = self.word
        if word.status is ReviewStatus.BLOCKED:
            return word
        answers = {each.n: each for each in self.findings}
        silent = [f"a word on finding {each.n}" for each in found if each.n not in answers]
        silent += [f"a word on the domain {each}" for each in SecurityDomain if not visible(self.domains.get(each, ""))]
        if silent:
            more = [f"{len(silent) - MOST_NAMED} more"] if len(silent) > MOST_NAMED else []
            return Critique(status=ReviewStatus.BLOCKED, missing=[*silent[:MOST_NAMED], *more])
        real = [_concern(each, answers[each.n].why) for each in found if answers[each.n].real]
        if not real or word.status is not ReviewStatus.VERIFIED:
            return word
        lowered = {"status": ReviewStatus.UNVERIFIED, "can_further_iteration_help": True}
        return word.model_copy(update={**lowered, "concerns": [*word.concerns, *real]})


def _concern(found: SastFinding, why: str) -> Concern:
    what = f"{found.rule} {found.message}: {why}" if why else f"{found.rule} {found.message}"
    return Concern(what=what, where=f"{found.path}:{found.line}")


REVIEW_CODE = Step(
    "review_code", Phase.REVIEW, StepKind.AGENT, Reviewed,
    "the code-critic judges diff, spec and evidence, and is told nothing else",
    role=Role.CODE_CRITIC,
)  # fmt: skip
REVIEW_SECURITY = Step(
    "review_security", Phase.REVIEW, StepKind.AGENT, SecurityReviewed,
    "the security-reviewer answers every SAST finding and goes through twenty domains",
    role=Role.SECURITY_REVIEWER,
)  # fmt: skip
REVIEWS = (REVIEW_CODE, REVIEW_SECURITY)
A = TypeVar("A", bound=Reviewed)


@dataclass(frozen=True)
class PulledChange:
    """What is reviewed: the pull's head, as the gates have just judged it, against its base."""

    run: Run
    spec: Spec
    base: Sha
    judged: Judged
    files: list[str]
    receipt: BuildReceipt | None = None
    """What is computed of the head so far."""

    @property
    def head(self) -> Sha:
        return Sha(self.judged.commit)

    @property
    def start(self) -> StartingPoint:
        """The rules are the base's, the files the head's."""
        return StartingPoint(base=self.base, start=self.run.tools.mirror.tree(self.head), checked=True)

    def handed(self, *sections: HandoffSection) -> Handed:
        diff = self.run.tools.mirror.patch(self.base, self.head, "--no-renames").decode("utf-8", errors="replace")
        shown = HandoffSection(Priority.CODE, "The change, as the forge has it", diff, quoted=True)
        evidence = (evidence_of(self.judged), *printed_by(self.judged))
        evidence += (requirements_of(self.receipt),) if self.receipt and self.receipt.requirement_lines else ()
        return Handed(sections=(*evidence, *sections, shown), alone=True)


def refused_by_reviewers(change: PulledChange) -> Outcome | None:
    """None: nobody holds anything against it."""
    said = _sent(change, REVIEW_CODE)
    if isinstance(said, Outcome):
        return said
    refused = _refused(change, REVIEW_CODE, said.word)
    if refused is not None:
        return refused
    scanned = scan(change.run, change.base, change.head)
    _lay_out(change.run, scanned)
    looked = _sent(change, REVIEW_SECURITY, _domains(), _found(scanned))
    if isinstance(looked, Outcome):
        return looked
    return _refused(change, REVIEW_SECURITY, looked.word_on(scanned.findings))


def _sent(change: PulledChange, step: Step[A], *sections: HandoffSection) -> A | Outcome:
    """However it ends, it is no attempt of the story's."""
    return change.run.agent(
        step, change.spec, change.start, key=change.head, handed=change.handed(*sections), failed=lambda *_: None
    )


def _refused(change: PulledChange, step: Step[A], word: Critique) -> Outcome | None:
    match word.status:
        case ReviewStatus.VERIFIED:
            return None
        case ReviewStatus.BLOCKED:
            return could_not_review(change.run, step.role, word)
        case ReviewStatus.UNVERIFIED if word.can_further_iteration_help:
            return Rejected(Verdict.REVIEW_REJECTED, _feedback(change, step, word))
        case ReviewStatus.UNVERIFIED:
            held = [each.told for each in word.concerns]
            return missing_acceptance(change.run, change.base, change.head, step.role, held)


def _feedback(change: PulledChange, step: Step[A], word: Critique) -> VerdictFeedback:
    return VerdictFeedback(
        message=clean(f"the {step.role} of the pull request says:\n{_listed(word)}", 4000),
        gate=step.role,
        requirements=sorted({each.requirement for each in word.concerns if each.requirement}),
        files_changed=change.files,
    )


def _listed(word: Critique) -> str:
    return "\n".join(f"- {each.told}" for each in word.concerns)


# ── what they said ────────────────────────────────────────────────────────────────────────────────────


def words_of(said: Outputs) -> Iterator[tuple[Step[Any], Reviewed, Critique]]:
    """Each that has spoken, with the word that counts."""
    if (code := said.of(REVIEW_CODE)) is not None:
        yield REVIEW_CODE, code, code.word
    scanned, security = said.of(SAST), said.of(REVIEW_SECURITY)
    if security is not None:
        yield REVIEW_SECURITY, security, security.word_on(scanned.findings if scanned else [])


# ── what they are handed ──────────────────────────────────────────────────────────────────────────────


def _domains() -> HandoffSection:
    text = "\n".join(f"- {each}: {each.means}" for each in SecurityDomain)
    return HandoffSection(Priority.PLAN, "Domains", text)


def _found(scanned: Scanned) -> HandoffSection:
    lines = [each.told for each in scanned.findings] or ["No finding."]
    unread = f"\nNo analyser looked at: {', '.join(scanned.unread)}" if scanned.unread else ""
    return HandoffSection(Priority.PLAN, "Findings of static analysis", "\n".join(lines) + unread, quoted=True)


def _lay_out(run: Run, scanned: Scanned) -> None:
    run.artifacts.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{json.dumps(each.model_dump())}\n" for each in scanned.findings)
    (run.artifacts / FINDINGS).write_text(lines, encoding="utf-8", errors="replace")
