"""Where the engine meets its adapters: the Protocols of agent, gate, forge and evidence runner.

Adapters import this and what lies below them; the engine never imports an adapter.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from damascus.domain.config import Config
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.handoff import Section
from damascus.domain.ids import Sha
from damascus.domain.roles import Traits
from damascus.domain.scope import Scope
from damascus.domain.spec import Spec
from damascus.domain.verdict import Verdict

# ── agents ────────────────────────────────────────────────────────────────────────────────────────────


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
    sections: tuple[Section, ...] = Field(default=(), exclude=True)
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
    claims: dict[str, object] = Field(default_factory=dict)


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

    `ended`: "" (by itself), or one word of the overseer's: time, idle, no_write, api_errors, tokens, turns, money,
    denied, hook (the write pipeline did not answer).
    """

    exit_code: int | None
    timed_out: bool = False
    stopped: bool = False
    report: Report | None = None
    transcript: str = ""
    tail: str = ""
    seconds: float = 0.0
    ended: str = ""
    usage: Usage = Usage()
    denial: Denial | None = None
    unavailable: str = ""
    """Why the provider could not be used (a rate limit, an overload, no connection); then it is no attempt."""
    resets_in: float | None = None
    """Seconds until the provider's rate limit ends, where it said so."""
    confinement: str = "unconfined"


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

    def saw(self, sign: str, **facts: object) -> None:
        """A sign of life or trouble: output, turn, write, usage (usage=Usage of one answer),
        api_error (status, resets_in), api_ok, denied (denial=Denial), accepted (tool), hook_failed."""
        ...

    def end(self) -> str:
        """One word why the agent must be ended now; "" while it may go on."""
        ...


class NoOversight:
    """For agents without a model: only the time limit holds."""

    def saw(self, sign: str, **facts: object) -> None:
        return None

    def end(self) -> str:
        return ""


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
    writable: tuple[Path, ...] = ()
    """What it may write beside its workspace: the folder of a step's artifacts."""


class Agent(Protocol):
    """Anything that can write code in a folder. One small file per adapter in agents/."""

    @property
    def name(self) -> str: ...
    @property
    def confinement(self) -> str: ...
    def run(self, brief: Brief, workspace: Path, watch: Watch) -> AgentRun: ...


# ── evidence and gates ────────────────────────────────────────────────────────────────────────────────


class Case(BaseModel):
    """One test of a runner's own report. `text` is what may name a requirement: marker, name, docstring."""

    id: str
    status: Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
    file: str = ""
    text: str = ""
    message: str = ""


class TestRun(BaseModel):
    """One command on one clean checkout of one tree."""

    __test__ = False

    command: str
    tree: str
    exit_code: int | None
    timed_out: bool = False
    seconds: float = 0.0
    output: str = ""
    log: str = ""
    counted: bool = False
    cases: list[Case] = Field(default_factory=list)
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def green(self) -> bool:
        """Exit 0, and where tests can be counted at least one that ran and none that failed."""
        if self.exit_code != 0 or self.timed_out:
            return False
        return not self.counted or (self.passed > 0 and self.failed == 0)

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.skipped


@dataclass(frozen=True)
class Job:
    """A command to run on a clean checkout. `overlay` is a folder laid over it (held-out tests)."""

    tree: Sha
    command: str
    timeout: float
    label: str
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    overlay: bytes | None = None
    upstreams: Mapping[str, Path] | None = None
    """Checkouts of the repositories that this one needs, by variable; None: of their mains as they are now."""


class EvidenceRunner(Protocol):
    """Runs a job once per (tree, command, environment); shared by gates and the local forge."""

    def run(self, job: Job) -> TestRun: ...


class Evidence(BaseModel):
    """What proves a gate's answer."""

    gate: str
    command: str = ""
    exit_code: int | None = None
    tree: str = ""
    seconds: float = 0.0
    log: str = ""
    summary: str = ""


class Finding(BaseModel):
    """What must be fixed before the candidate can pass."""

    gate: str
    verdict: Verdict
    message: str
    paths: list[str] = Field(default_factory=list)
    tests: list[str] = Field(default_factory=list)
    requirements: list[str] = Field(default_factory=list)
    output: str = ""


class GateResult(BaseModel):
    """`unverified` names what this gate could not prove; it is listed, never waved through silently."""

    gate: str
    findings: list[Finding] = Field(default_factory=list)
    evidence: list[Evidence] = Field(default_factory=list)
    unverified: list[str] = Field(default_factory=list)
    red_tests: list[str] = Field(default_factory=list)
    green_tests: list[str] = Field(default_factory=list)


class ChangedFile(BaseModel):
    """One path of a diff, as git tells it. status: A, M, D, T (type change)."""

    path: str
    status: str
    mode: str = "100644"


@dataclass(frozen=True)
class Candidate:
    """The commit that is judged, with all that a gate may look at."""

    commit: Sha
    tree: Sha
    base: Sha
    changed: tuple[ChangedFile, ...]
    spec: Spec
    scope: Scope
    config: Config
    read: Callable[[Sha, str], bytes | None]
    logs: Path
    private_logs: Path
    env: Mapping[str, str] = field(default_factory=dict)
    acceptance: bytes | None = None
    red: GateResult | None = None


class Gate(Protocol):
    """One check of one candidate. Order and fail-fast belong to the engine."""

    @property
    def name(self) -> str: ...
    def check(self, candidate: Candidate) -> GateResult: ...


# ── forges ────────────────────────────────────────────────────────────────────────────────────────────


class Pull(BaseModel):
    """A pull request as the forge tells it."""

    number: int
    url: str
    head: str
    base: str
    head_sha: str
    title: str
    body: str = ""
    state: Literal["open", "merged", "closed"] = "open"
    merged_commit: str | None = None
    comments: list[str] = Field(default_factory=list)


class CiJob(BaseModel):
    """One job: success is the only state that counts as passed (W1)."""

    name: str
    state: Literal["success", "failure", "cancelled", "skipped", "running", "waiting"]
    log: str = ""
    summary: str = ""
    id: str = ""
    """The forge's own name for it, by which its log is asked for."""


class CiRun(BaseModel):
    """All jobs of one pushed commit, known by its full SHA."""

    sha: str
    run_id: str
    jobs: list[CiJob] = Field(default_factory=list)
    provisional: bool = False
    """Not known by its SHA but by repository and time (W6): it may be awaited, it proves nothing."""

    @property
    def finished(self) -> bool:
        return bool(self.jobs) and all(job.state not in ("running", "waiting") for job in self.jobs)

    def green(self, required: list[str]) -> bool:
        states = {job.name: job.state for job in self.jobs}
        return bool(required) and not self.provisional and all(states.get(name) == "success" for name in required)


@dataclass(frozen=True)
class Push:
    """A push moves the branch and the fence ref together, each only from what we last knew.

    `branch_was`/`fence_was` None means: must not exist yet.
    """

    branch: str
    commit: Sha
    fence_ref: str
    branch_was: Sha | None
    fence_was: Sha | None


@dataclass(frozen=True)
class RemoteRefs:
    """What the forge has for a story."""

    branch: Sha | None
    fence: Sha | None


class Stale(Exception):
    """A guarded move found another value than expected: somebody else was there."""


class Blocked(Exception):
    """A dirty path of the person's, or an unrepairable checkout: landing waits. `paths` are named."""

    def __init__(self, message: str, paths: list[str], *, needs_person: bool = False) -> None:
        super().__init__(message)
        self.paths = paths
        self.needs_person = needs_person


class HeadNeeded(Exception):
    """Main takes only the forge's own merge, and that lands exactly the tested commit only as the head of its pull."""


class Forge(Protocol):
    """Where branches, pull requests, CI and main live."""

    @property
    def name(self) -> str: ...
    @property
    def runs_ci(self) -> bool:
        """CI is run here and now, by this process; else somewhere else, and awaited."""
        ...

    def main_tip(self) -> Sha:
        """Main as the forge has it now; the mirror has the commit afterwards."""
        ...

    def have(self, commit: Sha) -> bool:
        """The mirror has this commit afterwards, whichever host made it. False: the forge does not have it either."""
        ...

    def run_id(self, sha: Sha) -> str:
        """The id of a commit's CI run; "" while there is none."""
        ...

    def remote_refs(self, branch: str, fence_ref: str) -> RemoteRefs: ...
    def plant_fence(self, fence_ref: str, was: Sha | None, fence: int) -> Sha: ...
    def push(self, push: Push) -> None: ...
    def move(self, branch: str, new: Sha | None, was: Sha | None) -> None:
        """Move a branch of the queue from `was` (None: not there) to `new` (None: delete it), or raise Stale."""
        ...

    def find_pull(self, branch: str) -> Pull | None:
        """The branch's open pull, else its newest one."""
        ...

    def open_pull(self, branch: str, title: str, body: str, head: Sha) -> Pull: ...
    def diff(self, pull: Pull) -> list[ChangedFile]: ...
    def comment(self, pull: Pull, key: str, text: str) -> None: ...
    def ci(self, sha: Sha, jobs: Mapping[str, Job]) -> CiRun:
        """Every job of exactly this commit. No jobs: nothing has begun."""
        ...

    def ci_log(self, ci: CiRun, job: CiJob) -> str:
        """The whole log of one job; "" where the forge has none (any more, or not yet)."""
        ...

    def rerun(self, ci: CiRun, jobs: list[str]) -> bool:
        """Ask for these jobs of this very commit once more; False where the forge can't."""
        ...

    def land(self, old: Sha, new: Sha, pull: Pull | None = None) -> None:
        """Main moves from `old` to exactly `new`, or Stale. A protected main takes the guarded merge of `pull`."""
        ...

    def landed(self, commit: Sha) -> bool: ...
    def close_merged(self, pull: Pull, commit: Sha) -> None: ...
