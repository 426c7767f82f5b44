"""What an agent step came to: what is kept of every one, what its role answered, and what its end means.

A role's own result is a subclass with further fields. They are read from the artifact that the class names, or from
the agent's report; each has a default, which holds for an agent that failed. All of it is what an agent says: claims.
"""

from dataclasses import replace
from typing import ClassVar, Self

from pydantic import BaseModel, Field, ValidationError

from damascus.domain import recovery
from damascus.domain.decisions import AgentDecision
from damascus.domain.events import EventKind
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.halt import HaltReason
from damascus.domain.outcome import NeedsPerson, Rejected
from damascus.domain.ports import Denial, Finding, Report, Usage
from damascus.domain.signs import EndedBy
from damascus.domain.storable import clean
from damascus.domain.strict_json import Unreadable, read_json
from damascus.domain.verdict import Verdict
from damascus.domain.visible import visible
from damascus.engine.agent_step.sending import Sent
from damascus.engine.agent_step.spending import Purse, ask_for_more
from damascus.engine.agent_step.workspace import StartingPoint
from damascus.engine.run import Run
from damascus.system.seats import CHECKOUT

MOST_WORDS = 600
MOST_SENTENCES = 50


class Ending(BaseModel):
    """How an agent step ended, beside its exit code. `whose` budget it was, if one ended it."""

    ended: EndedBy = EndedBy.ITSELF
    denial: Denial | None = None
    whose: str = "step"
    no_price_for: str = ""
    refused_with: int = 0


class AgentResult(BaseModel):
    """The journal's record of an agent step, whatever its role."""

    artifact: ClassVar[str] = ""
    """The file in the artifacts folder that its own fields are read from; "": they are read from the report."""
    largest: ClassVar[int] = 1_000_000

    exit_code: int | None = None
    timed_out: bool = False
    seconds: float = 0.0
    commit: str | None = None
    """Its files as one commit on `base`, where its role writes and it came to its end."""
    tree: str | None = None
    base: str = ""
    files_changed: list[str] = Field(default_factory=list)
    claims: dict[str, object] = Field(default_factory=dict)
    summary: str = ""
    concerns: list[str] = Field(default_factory=list)
    decisions: list[AgentDecision] = Field(default_factory=list)
    assumptions: list[str] = Field(default_factory=list)
    tail: str = ""
    complaint: str = ""
    """The last line of its stderr."""
    transcript: str = ""
    usage: Usage = Usage()
    cost: int | None = None
    """In millionths of a dollar; None: nobody knows the price of its model."""
    ending: Ending = Ending()
    confinement: str = "unconfined"
    needs_root: bool = False
    """It says that root rights are missing: `missing: ["root"]` in its report."""
    forbidden: list[Finding] = Field(default_factory=list)
    """What its role may not write. A role that writes nothing changes nothing: its files are thrown away."""
    patterns: list[str] = Field(default_factory=list)
    """Of the pattern library: those that it says it used, and whose signs its diff shows."""
    unusable: str = ""
    """Why what it answered can't be used."""

    @property
    def assumed(self) -> list[str]:
        """What ASSUMPTIONS.md tells of it."""
        return self.assumptions

    @property
    def succeeded(self) -> bool:
        """It came to its own end, without an error. Whether what it made is any good is not said by that."""
        return self.exit_code == 0 and not self.timed_out and not self.ending.ended

    def starting_point(self) -> StartingPoint:
        """Where the next agent of the attempt starts: with all that was made so far."""
        return StartingPoint(base=self.base, start=self.tree, checked=True)

    @classmethod
    def own_fields(cls) -> set[str]:
        return set(cls.model_fields) - set(AgentResult.model_fields)

    def answered(self, report: Report | None, text: str | None) -> Self:
        """With its own fields, from the text of its artifact or from its report."""
        if self.artifact:
            return self.unusable_for(f"it left no {self.artifact}") if text is None else self.read(text)
        if not self.own_fields():
            return self
        return self.unread(report) if report is None or report.unreadable else self._with(_flat(report))

    def read(self, text: str) -> Self:
        """An artifact is JSON; a result whose artifact is prose says how it is read."""
        try:
            told = read_json(text)
        except Unreadable as err:
            return self.unusable_for(clean(f"its {self.artifact} {err}", 500))
        return self._with(told) if isinstance(told, dict) else self.unusable_for(f"its {self.artifact} is no object")

    def unread(self, report: Report | None) -> Self:
        return self.unusable_for(f"its report {report.unreadable}" if report else "it left no report")

    def unusable_for(self, why: str) -> Self:
        return self.model_copy(update={"unusable": why})

    def _with(self, told: dict[str, object]) -> Self:
        """Only its own fields: no agent writes how it ended."""
        own = {name: value for name, value in told.items() if name in self.own_fields()}
        try:
            return type(self).model_validate({**self.model_dump(), **own})
        except ValidationError as err:
            first = err.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            return self.unusable_for(
                clean(f"its {self.artifact or 'report'} can't be used: {where}: {first['msg']}", 500)
            )


def _flat(report: Report) -> dict[str, object]:
    return {**report.claims, **report.whole, **report.model_dump(exclude={"claims", "whole"})}


def sentences(told: object) -> list[str]:
    """A claim as sentences: one, or a list of them. Whatever else it is says nothing."""
    listed = [told] if isinstance(told, str) else told if isinstance(told, list) else []
    return [clean(each, 500) for each in listed[:MOST_SENTENCES] if isinstance(each, str) and visible(each)]


# ── what becomes of the story ─────────────────────────────────────────────────────────────────────────


def told_by(result: AgentResult) -> VerdictFeedback:
    return VerdictFeedback(
        files_changed=result.files_changed, exit_code=result.exit_code, log=result.transcript, claims=result.claims
    )


def agent_failed(run: Run, result: AgentResult) -> Rejected | None:
    """An agent that was ended, failed, wrote what its role may not, or answered nothing. Its claim of success is no
    evidence (Promise 1)."""
    feedback = told_by(result)
    if result.timed_out or result.ending.ended:
        message = f"the agent was ended after {result.seconds:.0f} s: {reason(result.ending)}"
    elif result.exit_code != 0:
        said = f", saying: {_short(result.complaint)}" if result.complaint else ""
        message = f"the agent exited {result.exit_code}{said}"
    elif result.forbidden and result.tree is not None:
        message = "; ".join(finding.message for finding in result.forbidden)
        outside = [path for finding in result.forbidden for path in finding.paths]
        told = {"message": message, "gate": "role", "out_of_scope": outside}
        return Rejected(Verdict.SCOPE_VIOLATION, feedback.model_copy(update=told))
    elif result.unusable:
        message = f"the agent of step {run.now} ended, but {result.unusable}"
    else:
        return None
    more = {"message": message, "gate": "agent", "test_output": clean(result.tail)}
    return Rejected(Verdict.AGENT_FAILED, feedback.model_copy(update=more))


def root_needed(run: Run, result: AgentResult) -> NeedsPerson | None:
    """An agent has no root rights, whatever it tries; that it needs them is its word, and a person's to decide (A2)."""
    if not result.needs_root:
        return None
    told = (
        f"{run.item.story_id} needs root rights: its agent says so"
        + (f" ({_short(result.summary)})" if result.summary else "")
        + ". Provide on this machine what it wants to install or change, then retry."
    )
    asked = _asked(run, told, (recovery.RETRY, recovery.CANCEL), told_by(result), None)
    return replace(asked, feedback=asked.feedback.model_copy(update={"halt": HaltReason.ROOT}))


def ending_of(sent: Sent, purse: Purse) -> Ending:
    match sent.ended:
        case EndedBy.DENIED:
            return Ending(ended=EndedBy.DENIED, denial=sent.denial)
        case EndedBy.TOKENS:
            return Ending(ended=EndedBy.TOKENS, whose=purse.tokens.whose)
        case EndedBy.MONEY:
            unknown = "" if purse.price else purse.dispatch.model
            return Ending(ended=EndedBy.MONEY, whose=purse.dollars.whose, no_price_for=unknown)
        case EndedBy.API_ERRORS:
            return Ending(ended=EndedBy.API_ERRORS, refused_with=sent.api_status)
    return Ending(ended=sent.ended)


def reason(ending: Ending) -> str:
    return (ending.ended or EndedBy.TIME).means


def question(run: Run, ending: Ending, feedback: VerdictFeedback) -> NeedsPerson | None:
    """What only a person can decide; None: the ended agent is an attempt like another."""
    match ending.ended:
        case EndedBy.DENIED:
            return _denied(run, ending.denial or Denial(tool="a tool", error="denied"), feedback)
        case EndedBy.TOKENS if ending.whose != "step":
            return ask_for_more(run, ending.whose, "tokens")
        case EndedBy.MONEY if ending.no_price_for or ending.whose != "step":
            return ask_for_more(run, ending.whose, "dollars", price_of=ending.no_price_for)
        case EndedBy.API_ERRORS:
            told = (
                f"the model gateway answers {run.item.story_id} with status {ending.refused_with} each time. "
                "Correct the key, the model's name or the gateway, then retry."
            )
            return _asked(run, told, (recovery.RETRY, recovery.CANCEL), feedback, None)
    return None


def _denied(run: Run, denial: Denial, feedback: VerdictFeedback) -> NeedsPerson:
    """W8 to the letter: the fixed line, what it tried (a file of the workspace by its own name), no retry by itself,
    three recoveries."""
    told = f"BLOCKED_PERMISSION: {denial.tool} - {_short(denial.error)}"
    if denial.tried:
        told += f". It tried: {_short(denial.tried).replace(f'{CHECKOUT}/', '')}"
    return _asked(run, told, recovery.DENIED, feedback, EventKind.BLOCKED_PERMISSION)


def _short(text: str) -> str:
    return " ".join(clean(text, MOST_WORDS).split()).rstrip(".")


def _asked(
    run: Run, told: str, options: tuple[str, ...], feedback: VerdictFeedback, event: EventKind | None
) -> NeedsPerson:  # fmt: skip
    """What an earlier attempt said stays: whoever goes on still needs it."""
    kept = run.item.last_feedback or VerdictFeedback()
    news = {"message": told, "files_changed": feedback.files_changed, "log": feedback.log, "claims": feedback.claims}
    news |= {"halt": None}
    return NeedsPerson(None, told, options, kept.model_copy(update=news), event)
