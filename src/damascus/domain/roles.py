"""Who may write what, and which model each role gets: one table, published in docs/roles.md (F3, W21).

An author writes and a critic never fixes, so that nobody judges work of their own. What a role may not write is
refused before it is written, and looked for again in git's diff after the step.
"""

from dataclasses import dataclass
from typing import Literal, assert_never

from damascus.domain.config import Models
from damascus.domain.errors import UsageError

Writable = Literal["nothing", "tests", "code", "docs", "scope", "artifacts"]
Tier = Literal["strong", "fast"]
IMPLEMENTER = "code-implementer"
REFINER = "spec-refiner"


@dataclass(frozen=True)
class Role:
    """What an agent is in a step. `writes` is about paths in the story's scope, which is checked before it."""

    name: str
    writes: Writable
    tier: Tier
    does: str


ROLES = {
    role.name: role
    for role in (
        Role(REFINER, "artifacts", "strong", "completes a rough story: scope, requirements, TDD plan, Test Command"),
        Role("context-loader", "artifacts", "fast", "lists what the story's work has to know"),
        Role("clarifier", "artifacts", "strong", "writes down open questions and the assumptions made instead"),
        Role("test-author", "tests", "fast", "writes the tests of the requirements"),
        Role("test-critic", "nothing", "strong", "judges whether the tests would catch a wrong implementation"),
        Role(IMPLEMENTER, "scope", "fast", "writes the code, and the tests as long as no critic has accepted any"),
        Role("code-critic", "nothing", "strong", "judges the code against the requirements"),
        Role("mutator", "artifacts", "fast", "changes code in a throw-away copy and reports what no test noticed"),
        Role("fixer", "scope", "fast", "repairs what critics, mutants and CI have shown"),
        Role("doc-writer", "docs", "fast", "brings the documentation in line with the code"),
        Role("self-reviewer", "nothing", "strong", "reads the whole change as a reviewer would"),
        Role("security-reviewer", "nothing", "strong", "reads every security finding of the story before it merges"),
        Role("repo-operator", "nothing", "fast", "watches branch, pull request and CI; git is Damascus' own work"),
        Role("reporter", "artifacts", "fast", "tells in prose what was built"),
    )
}


def role_of(name: str) -> Role:
    try:
        return ROLES[name]
    except KeyError:
        raise UsageError(f"there is no role {name!r}. Use one of: {', '.join(ROLES)} (docs/roles.md).") from None


def may_write(role: str, *, is_test: bool, is_doc: bool, accepted: bool) -> str:
    """Why this role may not write such a path, as one sentence of repair advice; "" if it may.

    `accepted`: a test that a critic has accepted. Only its author may still change it.
    """
    known = ROLES.get(role)
    if known is None:
        return f"The role {role!r} is unknown, so it may write nothing; leave the file as it is."
    match known.writes:
        case "nothing":
            return f"A {role} never changes files: say what is wrong in your report instead."
        case "artifacts":
            return f"A {role} changes no file of the repository: write into the artifacts folder instead."
        case "tests":
            return "" if is_test else f"A {role} writes only tests: undo this, and say in your report what is needed."
        case "docs":
            return "" if is_doc and not is_test else f"A {role} writes only documentation: leave code and tests alone."
        case "code":
            return f"A {role} writes no tests: change the code until they pass." if is_test else ""
        case "scope":
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
class Choice:
    """The model of one agent step, and the reason in words."""

    model: str
    why: str


def model_for(role: str, models: Models, traits: Traits) -> Choice:
    """A person's word for the role first; then upward by the story's traits; then the table. Never downward."""
    known = role_of(role)
    if role in models.roles:
        return Choice(models.roles[role], f"[models.roles] names it for {role}")
    raised = raised_by(traits)
    if known.tier == "strong":
        return Choice(models.strong, f"{role} is a strong role")
    if raised:
        return Choice(models.strong, f"{role} is a fast role, raised by {', '.join(raised)}")
    return Choice(models.fast, f"{role} is a fast role")


def raised_by(traits: Traits) -> list[str]:
    reasons = {
        "high complexity": traits.complexity == "high",
        "the critical path": traits.critical_path,
        "security": traits.domain == "security",
        "work across repositories": traits.cross_repo,
        "a conflict with main": traits.conflict,
    }
    return [reason for reason, holds in reasons.items() if holds]
