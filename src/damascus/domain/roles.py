"""Who may write what, and which model each role gets: one table, published in docs/roles.md (F3, W21).

An author writes and a critic never fixes, so that nobody judges work of their own. What a role may not write is
refused before it is written, and looked for again in git's diff after the step.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, assert_never

from damascus.domain.described import Described
from damascus.domain.errors import UsageError

if TYPE_CHECKING:
    from damascus.domain.config import Models


class Writable(Described):
    """What a role may write."""

    NOTHING = "nothing", "no file; what it finds goes into its report"
    ARTIFACTS = "artifacts", "files in the run's artifacts folder, none of the repository"
    TESTS = "tests", "tests, by the stack's own folders and names and `[test] patterns`; also `features/` and `fuzz/`"
    CODE = "code", "everything in the scope but tests"
    DOCS = "docs", "documentation that is no test"
    CODE_FIRST = "code first", "everything in the scope; no test any more once a critic has accepted the story's tests"
    SCOPE = "scope", "everything in the scope except tests that a critic has accepted"


class Tier(Described):
    """Which of the two models of `[models]` a role gets."""

    STRONG = "strong", "`[models] strong`: for planning and judging"
    FAST = "fast", "`[models] fast`: for all else, as long as nothing about the story raises it"


class Role(Described):
    """What an agent is in a step. `writes` is about paths in the story's scope, which is checked before it."""

    writes: Writable
    tier: Tier

    def __new__(cls, value: str, means: str = "", writes: Writable = Writable.NOTHING, tier: Tier = Tier.FAST) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.means, member.writes, member.tier = means, writes, tier
        return member

    SPEC_REFINER = (
        "spec-refiner",
        "completes a rough story: scope, requirements, TDD plan, Test Command",
        Writable.ARTIFACTS,
        Tier.STRONG,
    )
    CONTEXT_LOADER = "context-loader", "lists what the story's work has to know", Writable.ARTIFACTS, Tier.FAST
    CLARIFIER = (
        "clarifier",
        "writes down open questions and the assumptions made instead",
        Writable.ARTIFACTS,
        Tier.STRONG,
    )
    TEST_AUTHOR = "test-author", "writes the tests of the requirements", Writable.TESTS, Tier.FAST
    TEST_CRITIC = (
        "test-critic",
        "judges whether the tests would catch a wrong implementation",
        Writable.NOTHING,
        Tier.STRONG,
    )
    CODE_IMPLEMENTER = (
        "code-implementer",
        "writes the code, and the tests as long as no critic has accepted any",
        Writable.CODE_FIRST,
        Tier.FAST,
    )
    CODE_CRITIC = "code-critic", "judges the code against the requirements", Writable.NOTHING, Tier.STRONG
    MUTATOR = (
        "mutator",
        "says what the mutants that live mean, and which test is missing",
        Writable.ARTIFACTS,
        Tier.FAST,
    )
    FIXER = "fixer", "repairs what critics, mutants and CI have shown", Writable.SCOPE, Tier.FAST
    DOC_WRITER = "doc-writer", "brings the documentation in line with the code", Writable.DOCS, Tier.FAST
    SELF_REVIEWER = "self-reviewer", "reads the whole change as a reviewer would", Writable.NOTHING, Tier.STRONG
    SECURITY_REVIEWER = (
        "security-reviewer",
        "reads every security finding of the story before it merges",
        Writable.NOTHING,
        Tier.STRONG,
    )
    REPO_OPERATOR = (
        "repo-operator",
        "watches branch, pull request and CI; git is Damascus' own work",
        Writable.NOTHING,
        Tier.FAST,
    )
    REPORTER = "reporter", "tells in prose what was built", Writable.ARTIFACTS, Tier.FAST
    PLANNER = "planner", "makes a task graph of an idea", Writable.DOCS, Tier.STRONG
    PLAN_CRITIC = "plan-critic", "judges whether the tasks come to the idea", Writable.NOTHING, Tier.STRONG


AGENT_STEPS = (
    "implement", "refine", "load_context", "clarify", "author_tests", "critique_tests", "critique_code",
    "explain_mutants", "fix", "docs", "self_review", "review_code", "review_security", "report",
    "write_plan", "critique_plan",
)  # fmt: skip
"""The steps in which an agent works, for whoever only reads a story's row."""


def role_of(name: str) -> Role:
    try:
        return Role(name)
    except ValueError:
        raise UsageError(f"there is no role {name!r}. Use one of: {', '.join(Role)} (docs/roles.md).") from None


def writes_files(role: str) -> bool:
    """May it change files of the repository? A critic answers in its report, a refiner in its artifacts."""
    return role_of(role).writes not in (Writable.NOTHING, Writable.ARTIFACTS)


def may_write(role: str, *, is_test: bool, is_doc: bool, accepted: bool, closed: bool = False) -> str:
    """Why this role may not write such a path, as one sentence of repair advice; "" if it may.

    `accepted`: a test that a critic has accepted. Only its author may still change it. `closed`: some tests are.
    """
    if role not in set(Role):
        return f"The role {role!r} is unknown, so it may write nothing; leave the file as it is."
    match Role(role).writes:
        case Writable.NOTHING:
            return f"A {role} never changes files: say what is wrong in your report instead."
        case Writable.ARTIFACTS:
            return f"A {role} changes no file of the repository: write into the artifacts folder instead."
        case Writable.TESTS:
            return "" if is_test else f"A {role} writes only tests: undo this, and say in your report what is needed."
        case Writable.DOCS:
            return "" if is_doc and not is_test else f"A {role} writes only documentation: leave code and tests alone."
        case Writable.CODE:
            return f"A {role} writes no tests: change the code until they pass." if is_test else ""
        case Writable.CODE_FIRST if closed and is_test and not accepted:
            return f"The tests are accepted: a {role} adds none, and says in its report what is missing."
        case Writable.SCOPE | Writable.CODE_FIRST:
            return f"This test was accepted: a {role} must leave it as it is and change the code." if accepted else ""
        case other:
            assert_never(other)


# ── models by role ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Traits:
    """What makes a story worth a stronger model than its role would get, as far as it is known."""

    complexity: str = "normal"
    domain: str = ""
    critical_path: bool = False
    cross_repo: bool = False
    conflict: bool = False


@dataclass(frozen=True)
class ModelChoice:
    """The model of one agent step, and the reason in words."""

    model: str
    why: str


def model_for(role: str, models: "Models", traits: Traits) -> ModelChoice:
    """A person's word for the role first; then upward by the story's traits; then the table. Never downward."""
    known = role_of(role)
    if role in models.roles:
        return ModelChoice(models.roles[role], f"[models.roles] names it for {role}")
    raised = raised_by(traits)
    if known.tier is Tier.STRONG:
        return ModelChoice(models.strong, f"{role} is a strong role")
    if raised:
        return ModelChoice(models.strong, f"{role} is a fast role, raised by {', '.join(raised)}")
    return ModelChoice(models.fast, f"{role} is a fast role")


def raised_by(traits: Traits) -> list[str]:
    reasons = {
        "high complexity": traits.complexity == "high",
        "the critical path": traits.critical_path,
        "security": traits.domain == "security",
        "work across repositories": traits.cross_repo,
        "a conflict with main": traits.conflict,
    }
    return [reason for reason, holds in reasons.items() if holds]
