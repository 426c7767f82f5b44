"""What is judged, by which evidence, and what a gate says of it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, Self

from pydantic import BaseModel, Field

from damascus.domain.config import Config
from damascus.domain.described import Described
from damascus.domain.ids import Sha
from damascus.domain.judged_contracts import JudgedContract
from damascus.domain.pictures import Picture
from damascus.domain.requirement_lines import RequirementLines
from damascus.domain.requirement_status import MappedTest
from damascus.domain.run_counts import RunCounts
from damascus.domain.scope import Scope
from damascus.domain.spec import Spec
from damascus.domain.survivors import MutationScore, Survivor
from damascus.domain.verdict import Verdict


class GateLane(Described):
    """When a gate is asked."""

    BEFORE = "before", "before the rebase, of what the agent left: what looks at the diff, cheap first"
    AFTER = "after", "after the rebase, of exactly the commit that will land"
    BESIDE = "beside", "of the same commit and at the same time, once its tests are green"


class GateName(Described):
    """The gates, by what results, findings and receipts call them; in each lane in the order of asking."""

    lane: GateLane

    def __new__(cls, value: str, means: str = "", lane: GateLane = GateLane.AFTER) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.means, member.lane = means, lane
        return member

    SCOPE = "scope", "every changed path is in the story's scope", GateLane.BEFORE
    SECRETS = "secrets", "no added line holds a key or a token", GateLane.BEFORE
    WEAKENED_TESTS = "weakened_tests", "no test of main was deleted, skipped or emptied", GateLane.BEFORE
    KNOWS_TESTS = "knows_tests", "no code asks whether it is being tested", GateLane.BEFORE
    RED = "red", "the story's tests fail on the base", GateLane.BEFORE
    TESTS = "tests", "the Test Command is green", GateLane.AFTER
    REQUIREMENTS = (
        "requirements",
        "each requirement has a test that was red and is green; in a rebuild, an unchanged one its old tests",
        GateLane.AFTER,
    )
    TEST_CONTRACTS = "test_contracts", "each line of the task's test contract has a test that passed", GateLane.AFTER
    IMPACT = "impact", "what other stories promised of the changed files still holds", GateLane.AFTER
    SUITE = "suite", "the project's whole test command is green", GateLane.AFTER
    OLD_TESTS = "old_tests", "main's own tests are green on the story's code", GateLane.AFTER
    COMMANDS = "commands", "lint, types, build, `[gates.commands]` and the story's own commands exit 0", GateLane.AFTER
    CONTRACTS = "contracts", "contracts of `[contracts]` are valid, kept, and break nobody", GateLane.AFTER
    ACCEPTANCE = "acceptance", "the held-out tests are green", GateLane.AFTER
    VISUAL = "visual", "pages of `[visual]` look as a person accepted them", GateLane.AFTER
    CANARY = "canary", "failing tests of ours, laid among the story's, are seen to fail", GateLane.BESIDE
    MUTATION = "mutation", "some test needs each changed function", GateLane.BESIDE
    COVERAGE = "coverage", "the tests run the changed lines", GateLane.BESIDE

    @classmethod
    def tells_agents_its_log(cls, gate: str) -> bool:
        """Not where the log shows what must stay unknown to an agent: held-out tests, and tests of ours."""
        return gate not in (cls.ACCEPTANCE, cls.CANARY)


class Case(BaseModel):
    """One test of a runner's own report. `text` is what may name a requirement: marker, name, docstring."""

    id: str
    status: Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
    file: str = ""
    text: str = ""
    message: str = ""
    written: str = ""
    """The test in a source that this one was made from, where that is another: inherited, or made from a table."""


class RunnerCall(BaseModel):
    """One call of a runner whose own report was read: its words, and the folder below the checkout it was made in."""

    runner: str
    folder: str = "."
    words: list[str] = Field(default_factory=list)
    places: list[str] = Field(default_factory=list)
    """Go: the folders of the packages that it looked at; Rust: the sources of the binary; unittest: files, patterns of
    files, and tests by name."""


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
    calls: list[RunnerCall] = Field(default_factory=list)
    """The runners that reported each of their tests to us, not by what was printed."""
    rewritten: list[str] = Field(default_factory=list)
    """Sources of the tree that the command itself changed or took away."""
    restored: list[str] = Field(default_factory=list)
    """Those that it wrote, and that are as before."""
    summary: str = ""
    """The last lines that the runner printed of its own, to the letter."""
    kept: bool = False
    """Not run again: a pass of the same key, made by another process before."""

    @property
    def green(self) -> bool:
        """Exit 0, and where tests can be counted at least one that ran and none that failed."""
        if self.exit_code != 0 or self.timed_out:
            return False
        return not self.counted or (self.passed > 0 and self.failed == 0)

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.skipped


class Probe(Protocol):
    """Looks at a command while it runs, from a folder of the run's own that the command can read and write."""

    def begin(self, folder: Path, root: str, env: Mapping[str, str]) -> Mapping[str, str]:
        """Lays out what it needs there; variables that the command gets beside `env`. `root` is the checkout as the
        command sees it."""

    def end(self, folder: Path) -> None: ...


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
    overlay_at: str = ""
    """The folder's name in the checkout."""
    upstreams: Mapping[str, Path] | None = None
    """Checkouts of the repositories that this one needs, by variable; None: of their mains as they are now."""
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    """Laid over the checkout, after set-up; None takes a file away. Part of what the result is keyed by."""
    fresh: bool = False
    """Run in earnest, whatever is known of this tree and command: neither taken from what is kept nor kept."""
    probe: Probe | None = None
    """Only for a job that is `fresh`: a result that is kept has nothing to look at."""


class EvidenceRunner(Protocol):
    """Runs a job once per (tree, command, environment); shared by gates and the local forge."""

    def run(self, job: Job) -> TestRun: ...


@dataclass(frozen=True)
class RunKey:
    """What a kept pass was a pass of: nothing else may be taken for proved by it. `environment` is a hash of what the
    command could see beside its tree, `gate_version` of how Damascus runs and reads."""

    tree: str
    command: str
    environment: str
    gate_version: str


class KeptRuns(Protocol):
    """Passes that outlive the process, for review, queue, a re-run and other hosts."""

    def find(self, key: RunKey) -> TestRun | None: ...

    def keep(self, key: RunKey, run: TestRun) -> None: ...


class Evidence(BaseModel):
    """What proves a gate's answer."""

    gate: str
    command: str = ""
    exit_code: int | None = None
    tree: str = ""
    seconds: float = 0.0
    log: str = ""
    summary: str = ""
    kept: bool = False
    """A pass that was kept, not run again for this answer; `seconds` are those of the run that was made."""


class Finding(BaseModel):
    """What must be fixed before the candidate can pass."""

    gate: str
    verdict: Verdict
    message: str
    paths: list[str] = Field(default_factory=list)
    tests: list[str] = Field(default_factory=list)
    requirements: list[str] = Field(default_factory=list)
    output: str = ""
    mark: str = ""
    """Of what a person is shown: an answer counts for exactly that."""
    owner: str = ""
    """The story whose promise was broken, where it is another's."""


class GateResult(BaseModel):
    """`unverified` names what this gate could not prove; it is listed, never waved through silently."""

    gate: str
    findings: list[Finding] = Field(default_factory=list)
    asks: list[Finding] = Field(default_factory=list)
    """What only a person can decide; asked where nothing else was found."""
    evidence: list[Evidence] = Field(default_factory=list)
    unverified: list[str] = Field(default_factory=list)
    red_tests: list[str] = Field(default_factory=list)
    green_tests: list[str] = Field(default_factory=list)
    lines: list[RequirementLines] = Field(default_factory=list)
    """The changed lines that the tests of each requirement have to do with, where that can be told."""
    notes: list[str] = Field(default_factory=list)
    """Told to people and critics, on the receipt; refuses nothing."""
    flaky: list[str] = Field(default_factory=list)
    """Tests seen green and red on this one tree: quarantined by name, they prove nothing and refuse nobody."""
    survivors: list[Survivor] = Field(default_factory=list)
    """Mutants of changed lines that live. Each sends the story back, unless a person has called it equivalent."""
    score: MutationScore | None = None
    pictures: list[Picture] = Field(default_factory=list)
    """Of pages. Those that look other than a person accepted are a person's to accept."""
    bodies: MutationScore | None = None
    """What became of the mutants of whole functions."""
    run: RunCounts | None = None
    """Of the run that the gate judged: its numbers, and the runner's own words."""
    tests_of: dict[str, list[MappedTest]] = Field(default_factory=dict)
    """By requirement the tests that belong to it, each with its outcome."""
    unmapped: dict[str, str] = Field(default_factory=dict)
    """By requirement why that can't be told."""
    contracts: list[JudgedContract] = Field(default_factory=list)
    """Each line of the task's test contract."""


class ChangedFile(BaseModel):
    """One path of a diff, as git tells it. status: A, M, D, T (type change)."""

    path: str
    status: str
    mode: str = "100644"


@dataclass(frozen=True)
class LandedBefore:
    """What a story that is built anew was when it landed: its commit, and the spec that it was built by."""

    commit: Sha
    spec: Spec
    raw: bytes
    path: str


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
    files: Callable[[Sha], Collection[str]]
    """Every path of a commit or tree."""
    logs: Path
    private_logs: Path
    env: Mapping[str, str] = field(default_factory=dict)
    acceptance: bytes | None = None
    red: GateResult | None = None
    full: bool = False
    """Critics look at it too: a requirement without a test is theirs and a person's matter, and a test that is expected
    to fail may be so where it is tagged EXT or FUTURE."""
    of_main: bool = False
    """It is main itself, with commits that no story landed: tasks answer for it, since a person may change the rest."""
    every_owner: bool = False
    """Dependencies changed: every story that landed is concerned, whatever files it owns."""
    landed: LandedBefore | None = None
    """Of a story that is built anew: what was proved of it then need not be red once more (gates/proved_before.py)."""
    given_up: Callable[[], bool] = lambda: False
    """Has another gate refused it already? Asked between the runs of a gate that makes many."""


class Gate(Protocol):
    """One check of one candidate. Order and fail-fast belong to the engine, which asks what a gate says of itself here
    and never what it is called."""

    name: GateName
    once_per_story: bool = False
    """Its answer stands though the candidate moves to another base: it is not asked again after a rebase."""
    again_at_review: bool = False
    """Asked of what a person or the forge changed in the pull, too."""
    opens_beside: bool = False
    """Once it has passed, the gates that stand beside the others begin."""

    asked_of_main: bool = False
    """Asked of main as well, after a commit that no story landed."""

    def check(self, candidate: Candidate) -> GateResult: ...
