"""The receipt of a build (`build_receipt.json`, docs/receipts.md): computed from evidence, the same bytes for the same
evidence. Its JSON Schema is made from these classes (docs/schemas/).

The first fields are those of the flow that it comes from, under their names; `proof` is what a sceptic needs to make
the receipt again.
"""

import base64
import binascii
import hashlib
import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from damascus.domain.critique import RequirementStatus, ReviewStatus
from damascus.domain.described import Described
from damascus.domain.run_counts import MutationNumbers, RunCounts, own_line
from damascus.domain.said import Said
from damascus.domain.survivors import Survivor

FORMAT = 1
SUMMARY = "test_summary.md"
HARD_CODED = "hard_coded"
EXIT_CODE = "exit_code"


class MutationStatus(Described):
    """What became of the mutation run itself; survivors lower their requirement, never this."""

    VERIFIED = "VERIFIED", "the tool came to its end"
    NOT_RUN = "NOT_RUN", "it is off, was left out, or nothing was there to change"
    BLOCKED = "BLOCKED", "it could not be run; why is in the notes"


class Strict(BaseModel):
    """A receipt with a field that nobody knows is no receipt."""

    model_config = ConfigDict(extra="forbid")


# ── the fields of the flow ────────────────────────────────────────────────────────────────────────────


class RequirementsOfReceipt(Strict):
    """`touched` are the requirements that this story answers for; those tagged FUTURE or SKIP and without a test are
    not."""

    touched: list[str] = Field(default_factory=list)
    untouched: list[str] = Field(default_factory=list)
    fr_status: dict[str, RequirementStatus] = Field(default_factory=dict)


class TestsOfReceipt(Strict):
    """Numbers are the runner's; null where it tells none."""

    __test__ = False

    status: ReviewStatus
    total: int | None = None
    passed: int | None = None
    failed: int | None = None
    xfailed: int | None = None
    xpassed: int | None = None
    skipped: int | None = None
    pytest_summary_source: Literal["test_summary.md (canonical)"] = "test_summary.md (canonical)"
    summary_file: str | None = None
    metrics_consistency: Literal["OK", "MISMATCH"] = "OK"

    @property
    def told(self) -> str:
        """The numbers of its report, in words; "": it has none."""
        counts = ((word, getattr(self, word)) for word in ("passed", "failed", "xfailed", "xpassed", "skipped"))
        return ", ".join(f"{count} {word}" for word, count in counts if count is not None)


class CodeOfReceipt(Strict):
    """How the code stands, by gates and critics."""

    status: ReviewStatus
    summary_file: str | None = None


class MutationOfReceipt(Strict):
    """`score` is the noticed share of the mutants that could run, in percent, cut after one decimal."""

    status: MutationStatus
    score: float | None = None
    killed: int | None = None
    total: int | None = None


class DocsOfReceipt(Strict):
    """Whether the diff touches a document."""

    updated: bool


# ── what a sceptic needs ──────────────────────────────────────────────────────────────────────────────


class RequirementLine(Strict):
    """One requirement: its tests, its code, how far it is proved. `computed` is what evidence gives, `critic` the
    lowest word of a critic, `status` the lower of both."""

    id: str
    text: str = ""
    status: RequirementStatus
    computed: RequirementStatus
    critic: RequirementStatus | None = None
    tests: list[str] = Field(default_factory=list)
    negative: list[str] = Field(default_factory=list)
    red_at: str = ""
    """The base that its tests were red on; "" where that can't be told."""
    landed_before: str = ""
    """It is unchanged, and proved by tests that named it when the story landed as this commit and that are green still;
    "" where it is proved by the change itself, or not at all."""
    green: bool = False
    code: list[str] = Field(default_factory=list)
    gap: str = ""
    """What keeps it from being more."""
    unmeasured: bool = False
    """UNKNOWN only because something can't be measured here: listed, and no reason to ask."""
    claimed: list[str] = Field(default_factory=list)
    """Tests and code that only a critic names."""


class SpecOfReceipt(Strict):
    """The spec to the byte (`content` in base64), and its hash."""

    path: str
    sha256: str
    content: str

    @field_validator("content")
    @classmethod
    def _is_base64(cls, value: str) -> str:
        try:
            base64.b64decode(value, validate=True)
        except binascii.Error as err:
            raise ValueError(f"the spec's content is no base64: {err}") from None
        return value

    @property
    def raw(self) -> bytes:
        return base64.b64decode(self.content)

    @classmethod
    def of(cls, path: str, raw: bytes) -> "SpecOfReceipt":
        return cls(path=path, sha256=hashlib.sha256(raw).hexdigest(), content=base64.b64encode(raw).decode())


class LandedOfReceipt(Strict):
    """The commit with which the story landed before it was built anew, and its spec then."""

    commit: str
    spec: SpecOfReceipt


class PolicyOfReceipt(Strict):
    """The rules that it was judged by: damascus.toml of the base, by its blob; "" where there is none."""

    file: str = "damascus.toml"
    blob: str = ""


class GateLine(Strict):
    """What one gate said. Times and logs are of one machine, so they are not here."""

    gate: str
    passed: bool
    command: str = ""
    exit_code: int | None = None
    tree: str = ""
    summary: str = ""
    unverified: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)


class PersonsWord(Strict):
    """What stands by a person's word and by no proof."""

    about: str
    words: str = ""
    mark: str = ""
    by: str = ""


class Proof(Strict):
    """What was judged, by which rules, and what everybody said."""

    format: Literal[1] = 1
    story: str
    title: str = ""
    kind: str = "feature"
    profile: str = "direct"
    commit: str
    tree: str
    base: str
    red_base: str = ""
    """Where its tests were red: main may have moved since."""
    change: str = ""
    """What the story changes, as a hash: the same wherever it sits."""
    spec: SpecOfReceipt
    built_before: LandedOfReceipt | None = None
    """Of a story that was built anew: what it was when it landed before."""
    policy: PolicyOfReceipt
    summary: str = ""
    """The runner's own last words, to the letter (test_summary.md)."""
    red_tests: list[str] = Field(default_factory=list)
    green_tests: list[str] = Field(default_factory=list)
    gates: list[GateLine] = Field(default_factory=list)
    unverified: list[str] = Field(default_factory=list)
    survivors: list[Survivor] = Field(default_factory=list)
    persons: list[PersonsWord] = Field(default_factory=list)
    left_out: list[str] = Field(default_factory=list)
    """Steps of the flow that were not taken."""
    left_open: list[str] = Field(default_factory=list)
    """Concerns that a run's budget kept from being cured."""
    said: list[Said] = Field(default_factory=list)
    """The last report of each agent step, without its prose: claims."""
    runs: list[RunCounts] = Field(default_factory=list)
    """What the tools told before the commit was made, and agents were shown: whose numbers they may quote."""
    mutations: list[MutationNumbers] = Field(default_factory=list)
    """The same of mutants."""
    unfinished: str = ""
    """Why the run ended before its commit was proved; "" for one that came to its end."""
    held_out: bool = False
    """There are tests that no agent has seen; they are not in the repository."""
    confinement: str = ""


class BuildReceipt(Strict):
    """All of it."""

    run_id: str
    branch: str
    timestamp: str
    """Of the evidence: when the judged commit was made."""
    status: ReviewStatus
    requirements: RequirementsOfReceipt
    tests: TestsOfReceipt
    code: CodeOfReceipt
    mutation: MutationOfReceipt
    docs: DocsOfReceipt
    metrics_binding: str
    """The runner whose report the numbers are from; exit_code: it tells none, so there are no numbers; hard_coded:
    numbers that nothing stands behind, and the receipt is UNVERIFIED."""
    notes: list[str] = Field(default_factory=list)
    requirement_lines: list[RequirementLine] = Field(default_factory=list)
    proof: Proof

    @property
    def own_line(self) -> str:
        """The runner's own line with its counts; "": it printed none, or numbers differ, and a test may have printed
        it."""
        return own_line(self.proof.summary) if self.tests.metrics_consistency == "OK" else ""

    @property
    def unproved(self) -> list[str]:
        """Why nobody but a person may let it land; empty: nothing is in the way. What only can't be measured is listed
        and is no reason."""
        why = [f"tests are {self.tests.status}"] if self.tests.status is not ReviewStatus.VERIFIED else []
        why += [f"code is {self.code.status}"] if self.code.status is not ReviewStatus.VERIFIED else []
        why += ["numbers are hard-coded"] if self.metrics_binding == HARD_CODED else []
        touched = set(self.requirements.touched)
        why += [
            f"{line.id} is {line.status} ({line.gap})" if line.gap else f"{line.id} is {line.status}"
            for line in self.requirement_lines
            if line.id in touched and not line.status.ready and not self._cannot_be_measured(line)
        ]
        return why

    @staticmethod
    def _cannot_be_measured(line: RequirementLine) -> bool:
        """A critic may have looked, and found nothing wrong."""
        return line.unmeasured and line.critic is not RequirementStatus.PARTIAL

    def as_bytes(self) -> bytes:
        """The one way in which it is written: same evidence, same bytes."""
        return canonical(self.model_dump(mode="json"))


def canonical(value: object) -> bytes:
    return (json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False) + "\n").encode()
