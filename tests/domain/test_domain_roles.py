"""Who may write what, and which model a role gets: the table, and that it is the published one."""

import itertools
import re

import pytest

from damascus.domain.config import Models
from damascus.domain.errors import UsageError
from damascus.domain.roles import Role, Traits, may_write, model_for, role_of
from tests.rules.tree import document

F3 = {
    "context-loader", "clarifier", "test-author", "test-critic", "code-implementer", "code-critic", "mutator", "fixer",
    "doc-writer", "self-reviewer", "repo-operator", "reporter", "security-reviewer",
}  # fmt: skip
CODE = {"is_test": False, "is_doc": False, "accepted": False}
TEST = {"is_test": True, "is_doc": False, "accepted": False}
ACCEPTED = {"is_test": True, "is_doc": False, "accepted": True}
DOC = {"is_test": False, "is_doc": True, "accepted": False}
PATHS = {"code": CODE, "tests": TEST, "accepted tests": ACCEPTED, "docs": DOC}
ALLOWED = {
    "test-author": {"tests", "accepted tests"},
    "code-implementer": {"code", "tests", "docs"},
    "fixer": {"code", "tests", "docs"},
    "doc-writer": {"docs"},
    "planner": {"docs"},
}
MODELS = Models(fast="quick", strong="deep", roles={"fixer": "own"}, prices={})


@pytest.mark.req("F3")
def test_every_role_of_the_flow_is_there_and_nobody_else() -> None:
    assert set(Role) == F3 | {"spec-refiner", "planner", "plan-critic"}


@pytest.mark.req("F3")
@pytest.mark.parametrize("role", Role)
def test_a_role_may_write_exactly_what_the_table_says(role: str) -> None:
    may = {name for name, path in PATHS.items() if not may_write(role, **path)}
    assert may == ALLOWED.get(role, set())


@pytest.mark.req("F3")
def test_once_tests_are_accepted_an_implementer_adds_none_and_a_fixer_may() -> None:
    assert "adds none" in may_write("code-implementer", **TEST, closed=True)
    assert not may_write("code-implementer", **CODE, closed=True) and not may_write("fixer", **TEST, closed=True)
    assert not may_write("test-author", **ACCEPTED, closed=True)


@pytest.mark.req("F3")
def test_a_critic_never_fixes_and_a_test_in_the_docs_folder_is_still_a_test() -> None:
    for role in ("test-critic", "code-critic", "self-reviewer", "security-reviewer", "plan-critic"):
        for is_test, is_doc, accepted in itertools.product((True, False), repeat=3):
            assert may_write(role, is_test=is_test, is_doc=is_doc, accepted=accepted)
    assert may_write("doc-writer", is_test=True, is_doc=True, accepted=False)


@pytest.mark.req("F3")
def test_a_refusal_is_one_sentence_of_advice_and_an_unknown_role_is_refused() -> None:
    refusals = [may_write(role, **path) for role in (*Role, "king") for path in PATHS.values()]
    assert all(re.fullmatch(r"[A-Z][^.]+[:;,] [^.]+\.", text) for text in refusals if text)
    assert all(may_write("king", **path) for path in PATHS.values())
    with pytest.raises(UsageError, match="no role 'king'"):
        role_of("king")
    with pytest.raises(UsageError, match="no role 'king'"):
        model_for("king", MODELS, Traits())


@pytest.mark.req("F3", "W21")
def test_the_table_in_the_documents_is_that_of_the_code() -> None:
    lines = {line.strip() for line in document("docs/roles.md").splitlines()}
    rows = [f"| `{role}` | {role.writes} | {role.tier} | {role.means} |" for role in Role]
    assert [row for row in rows if row not in lines] == []
    told = [line for line in lines if line.startswith("| `") and line.split("`")[1] in set(Role)]
    assert len(told) == len(Role), "a role that is gone is still told of"


@pytest.mark.req("W21")
@pytest.mark.parametrize("role", ["spec-refiner", "clarifier", "test-critic", "code-critic", "self-reviewer"])
def test_planning_and_judging_get_the_strong_model(role: str) -> None:
    assert model_for(role, MODELS, Traits()).model == "deep"


@pytest.mark.req("W21")
@pytest.mark.parametrize(
    ("traits", "model", "why"),
    [
        (Traits(), "quick", "a fast role"),
        (Traits(complexity="low"), "quick", "a fast role"),
        (Traits(domain="billing"), "quick", "a fast role"),
        (Traits(complexity="high"), "deep", "raised by high complexity"),
        (Traits(critical_path=True), "deep", "raised by the critical path"),
        (Traits(domain="security"), "deep", "raised by security"),
        (Traits(cross_repo=True), "deep", "raised by work across repositories"),
        (Traits(conflict=True), "deep", "raised by a conflict with main"),
        (Traits(complexity="high", domain="security"), "deep", "raised by high complexity, security"),
    ],
)
def test_a_story_raises_its_fast_roles(traits: Traits, model: str, why: str) -> None:
    choice = model_for("code-implementer", MODELS, traits)
    assert choice.model == model and why in choice.why


@pytest.mark.req("W21")
def test_a_persons_word_for_a_role_wins_and_nothing_lowers_a_strong_one() -> None:
    assert model_for("fixer", MODELS, Traits(complexity="high")).model == "own"
    assert model_for("code-critic", MODELS, Traits(complexity="low")).model == "deep"
