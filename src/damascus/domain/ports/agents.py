"""What a coding agent is given, what it may do, and what it comes to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, field_validator

from damascus.domain.critique import Concern
from damascus.domain.decisions import AgentDecision, assumptions_in, decisions_in
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.handoff import HandoffSection
from damascus.domain.roles import Traits
from damascus.domain.signs import EndedBy, Sign


class Boundaries(BaseModel):
    """What is and what is not the agent's to write."""

    inside: list[str] = Field(default_factory=list, serialization_alias="in")
    outside: list[str] = Field(default_factory=list, serialization_alias="out")


class Brief(BaseModel):
    """What an agent is given: the JSON file behind DAMASCUS_BRIEF (DESIGN §5)."""

    story_id: str
    title: str
    role: str
    step: str
    attempt: int
    objective: str
    spec: str
    file_scope: list[str]
    base_commit: str
    feedback: VerdictFeedback | None = None
    artifacts: str = ""
    repo: str = ""
    component_id: str = ""
    plan_ref: str = ""
    branch_strategy: Literal["feature_branch"] = "feature_branch"
    boundaries: Boundaries = Boundaries()
    known_issues: list[str] = Field(default_factory=list)
    recent_changes: list[str] = Field(default_factory=list)
    parallel_workers: list[str] = Field(default_factory=list)
    checkpoint: dict[str, object] = Field(default_factory=dict)
    sections: tuple[HandoffSection, ...] = Field(default=(), exclude=True)
    """The hand-off as it stands in the prompt, packed; the file does not repeat it."""
    traits: Traits = Field(default=Traits(), exclude=True)


class Report(BaseModel):
    """What an agent says of itself: claims, never evidence."""

    model_config = ConfigDict(extra="ignore")

    status: str = ""
    can_further_iteration_help: bool | None = None
    concerns: list[str] = Field(default_factory=list)
    recommended_next: str = ""
    summary: str = ""
    decisions: list[AgentDecision] = Field(default_factory=list)
    assumptions: list[str] = Field(default_factory=list)
    claims: dict[str, object] = Field(default_factory=dict)
    whole: dict[str, object] = Field(default_factory=dict)
    """All that it wrote, for roles that answer more than this."""
    unreadable: str = ""
    """Why the file that it left can't be read, as the end of a sentence; nothing here is from that file then."""

    @field_validator("decisions", mode="before")
    @classmethod
    def _as_decisions(cls, told: object) -> object:
        """Whatever else stands there makes no report unreadable."""
        return decisions_in(told)

    @field_validator("assumptions", mode="before")
    @classmethod
    def _as_assumptions(cls, told: object) -> object:
        return assumptions_in(told)

    @field_validator("concerns", mode="before")
    @classmethod
    def _in_words(cls, told: object) -> object:
        """A critic names each with place and requirement."""
        if not isinstance(told, list):
            return told
        return [Concern.model_validate(each).told if isinstance(each, dict) else each for each in told]


class Usage(BaseModel):
    """What an agent step used, as the provider's own answers count it. Money is ours: tokens by the price table."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    turns: int = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens + self.cached_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})


class Denial(BaseModel):
    """A tool that the agent's own permission system or the sandbox refused (W8); never a refusal of our pipeline."""

    tool: str
    error: str
    tried: str = ""


class AgentRun(BaseModel):
    """What really happened in an agent step. `exit_code` is None when it was ended by us; `ended` says why.

    Never `stopped`: that is a fact of its own, and no fault of the agent's.
    """

    exit_code: int | None
    timed_out: bool = False
    stopped: bool = False
    report: Report | None = None
    transcript: str = ""
    tail: str = ""
    complaint: str = ""
    """The last line of its stderr, where it is a program that has one of its own."""
    seconds: float = 0.0
    ended: EndedBy = EndedBy.ITSELF
    usage: Usage = Usage()
    denial: Denial | None = None
    unavailable: str = ""
    """Why the provider could not be used (a rate limit, an overload, no connection); then it is no attempt."""
    resets_in: float | None = None
    """Seconds until the provider's rate limit ends, where it said so."""
    confinement: str = "unconfined"
    broken: str = ""
    """Why no agent can work before a person acts (a wrong key, model, gateway or program); then it is no attempt."""


class WriteDecision(BaseModel):
    """What the pipeline says to one proposed tool call. `reason` goes to the agent as repair advice."""

    allowed: bool
    reason: str = ""
    replaced: dict[str, object] | None = None
    """The tool's input as a person edited it."""


class Writes(Protocol):
    """The write pipeline of one agent step (A10 to A14). Every failure of its own is a refusal."""

    def propose(self, tool: str, given: Mapping[str, object]) -> WriteDecision:
        """Before the tool runs: scope, role, secrets, the person's gate."""
        ...

    def applied(self, tool: str, given: Mapping[str, object]) -> str:
        """After it ran: compile check, log, SAST in the background. Text for the agent, "" when all is well."""
        ...


class Overseer(Protocol):
    """Command over a running agent: it is told what is observed and says when to end (W8, W17, W18, X5)."""

    def saw(self, sign: Sign, **facts: object) -> None:
        """A sign of life or trouble. Facts: usage has `usage`, api_error `status` and `resets_in`, denied `denial`,
        accepted `tool`."""
        ...

    def end(self) -> EndedBy:
        """Why the agent must be ended now; ITSELF while it may go on."""
        ...


class NoOversight:
    """For agents without a model: only the time limit holds."""

    def saw(self, sign: Sign, **facts: object) -> None:
        return None

    def end(self) -> EndedBy:
        return EndedBy.ITSELF


@dataclass(frozen=True)
class Watch:
    """The orchestrator's side of an agent step. `timeout` is the hard limit; the overseer may end it earlier."""

    prompt: str
    brief_file: Path
    report_file: Path
    transcript: Path
    timeout: float
    stopping: Callable[[], bool]
    started: Callable[[Mapping[str, object]], None]
    env: Mapping[str, str] = field(default_factory=dict)
    log_limit: int = 20_000_000
    checkout: Mapping[str, str] = field(default_factory=dict)
    """Variables of this checkout alone (ports, caches); unlike `env` they hold no secret and are not masked."""
    model: str = ""
    max_turns: int = 50
    writes: Writes | None = None
    overseer: Overseer = field(default_factory=NoOversight)
    readable: tuple[Path, ...] = ()
    """What it may read in the sandbox beside its workspace and the toolchain: the mirror, [agent] readable."""
    setup_home: Path | None = None
    """HOME of the project's set-up command, with what it fetched: readable."""
    writable: tuple[Path, ...] = ()
    """What it may write beside its workspace: the folder of a step's artifacts."""
    read_only: bool = False
    """Its role writes no file: where mounts can do it, it may only read its workspace."""


class Agent(Protocol):
    """Anything that can write code in a folder. One small file per adapter in agents/."""

    @property
    def name(self) -> str: ...
    @property
    def confinement(self) -> str: ...
    def run(self, brief: Brief, workspace: Path, watch: Watch) -> AgentRun: ...


@runtime_checkable
class Probed(Protocol):
    """An agent that can be asked beforehand whether it could work at all."""

    pings: bool
    """It has a gateway that can be asked; else only its program is looked at."""

    def fault(self, model: str, *, ping: bool) -> str:
        """What is wrong with its program and, with `ping`, with address, key and model of its gateway: a sentence with
        status, URL and model, and what to do. "" where nothing is known against it."""
        ...
