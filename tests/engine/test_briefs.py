"""What an agent is given: compact words of our own, the hand-off by priority, and nothing of loops, counts or CI."""

import re
from importlib import resources
from pathlib import Path

import pytest

from damascus.domain.feedback import Conflict, VerdictFeedback
from damascus.domain.ids import Sha
from damascus.domain.item import Item
from damascus.domain.ports import Brief
from damascus.domain.roles import Role, Traits
from damascus.domain.scope import Scope
from damascus.domain.spec import parse_spec
from damascus.domain.tokens import count
from damascus.domain.verdict import Milestone, Verdict
from damascus.engine.agent_step import briefs, context
from damascus.engine.agent_step.workspace import StartingPoint
from damascus.engine.run import Run
from damascus.store import rows
from tests.cli.states import asks, claim, landed, rejected
from tests.yard import HONEST, Yard, story

FILES = sorted(entry.name for entry in resources.files("damascus.engine").joinpath("prompts").iterdir())
UNSAID = re.compile(
    r"\b(loops?|iterations?|attempts?|tr(?:y|ies)|retr\w+|rounds?|cycles?|again and again|budget|times|tokens?|gateway|"
    r"password|https?|localhost|url)\b|://",
    re.IGNORECASE,
)
FIELD = "can_further_iteration_help"
MARKED = "MARK_OF_THE_CODE"


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    return Yard(tmp_path, database_url)


def run_of(yard: Yard, name: str = "S-1") -> Run:
    [item] = [item for item in claim(yard, 10) if item.story_id == name]
    return Run(item, yard.tools())


def given(run: Run, role: str = "code-implementer", start: str | None = None, was: str | None = None) -> Brief:
    spec = parse_spec(run.item.spec, rough=True)
    point = StartingPoint(base=run.tools.forge.main_tip(), start=start, was=was)
    return briefs.brief(run, spec, role, start=point)


def titles(brief: Brief) -> list[str]:
    return [section.title for section in brief.sections]


# ── our own words ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W10", "F3")
def test_every_role_has_its_file_and_nobody_else_has_one() -> None:
    assert sorted(f"{name}.md" for name in (*Role, briefs.RULES, briefs.REPORT, briefs.ADDENDUM)) == FILES


@pytest.mark.req("W10")
@pytest.mark.parametrize("name", [file.removesuffix(".md") for file in FILES])
def test_our_own_words_are_few(name: str) -> None:
    limit = {briefs.RULES: 100, briefs.ADDENDUM: 150}.get(name, 200)
    assert 30 < count(briefs.words(name)) <= limit


@pytest.mark.req("W10")
@pytest.mark.parametrize("name", [file.removesuffix(".md") for file in FILES])
def test_no_prompt_tells_of_loops_counts_addresses_or_tokens(name: str) -> None:
    assert UNSAID.findall(briefs.words(name).replace(FIELD, "")) == []


@pytest.mark.req("F3")
@pytest.mark.parametrize("role", Role, ids=str)
def test_a_roles_words_say_what_it_may_write(role: Role) -> None:
    text = " ".join(briefs.words(role).split())
    said = {
        "nothing": "Change no file",
        "artifacts": "artifacts folder",
        "tests": "nothing but tests",
        "docs": "Change documentation only",
        "scope": "Test Command",
        "code first": "Test Command",
    }
    assert said[role.writes] in text
    if role.writes in ("tests", "scope", "code first", "docs"):
        assert "the lists `changed`, `weak` and `open`" in text, "an author's summary has all three"


# ── the prompt ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W10")
def test_a_first_prompt_is_rules_task_and_hand_off(yard: Yard) -> None:
    yard.add(story("S-1"))
    brief = given(run_of(yard))
    assert [part.name for part in briefs.parts(brief)] == ["rules", "task", *titles(brief)]
    prompt = briefs.prompt(brief)
    assert prompt.startswith(briefs.words("rules") + "\n" + briefs.words("code-implementer"))
    assert UNSAID.findall(prompt) == [] and "CI" not in prompt


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("milestone", "added"),
    [
        (None, False),
        (Milestone.WORKING, False),
        (Milestone.PUSHED_TO_CI, True),
        (Milestone.FIXING_CI, True),
        (Milestone.DONE, False),
    ],
)
def test_the_addendum_comes_only_once_ci_has_spoken(yard: Yard, milestone: Milestone | None, added: bool) -> None:
    yard.add(story("S-1"))
    run = run_of(yard)
    run.milestone = milestone
    assert (briefs.words("ci-addendum") in briefs.prompt(given(run))) == added


@pytest.mark.req("W11")
def test_feedback_is_told_as_findings_without_a_count(yard: Yard) -> None:
    yard.add(story("S-1"))
    [item] = claim(yard)
    found = VerdictFeedback(
        message="one test is red", failing_tests=["tests/test_s1.py::test_a"], requirements=["REQ-001"],
        out_of_scope=["other.py"], test_output="E assert 1 == 2",
        conflict=Conflict(conflicting_files=["calc.py"], their_sha="a" * 40, details="<<<<<<< theirs"),
    )  # fmt: skip
    rejected(yard, item, Verdict.TESTS_FAILED, found)
    brief = given(run_of(yard))
    [text] = [section.text for section in brief.sections if section.title == "Findings"]
    told = ("one test is red", "tests/test_s1.py::test_a", "REQ-001", "other.py", "assert 1 == 2", "<<<<<<< theirs")
    assert [word for word in told if word not in text] == []
    assert UNSAID.findall(briefs.prompt(brief)) == [] and brief.attempt == 2
    assert brief.traits == Traits(conflict=True)


@pytest.mark.req("W11")
def test_an_answer_of_a_person_is_handed_over(yard: Yard) -> None:
    yard.add(story("S-1"))
    [item] = claim(yard)
    asks(yard, item, "which one?")
    yard.query(
        "UPDATE work_items SET answers = '{take the blue one}', phase = 'build', resume_phase = NULL, state = 'ready' "
        "RETURNING id"
    )
    assert "- take the blue one" in briefs.prompt(given(run_of(yard)))


# ── the hand-off ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W11")
def test_the_hand_off_has_what_the_contract_lists_in_its_order(yard: Yard) -> None:
    yard.commit({"lib/a.py": MARKED, "lib/test_a.py": "def test_a(): ...", "lib/logo.png": "\0"}, "lib: begun")
    yard.add(story("S-0"), story("P-1"))
    yard.query("UPDATE work_items SET state = 'resting', phase = 'cancelled' WHERE story_id = 'P-1' RETURNING id")
    landed(yard, "S-0")
    yard.query("UPDATE work_items SET merged_commit = %s WHERE story_id = 'S-0' RETURNING id", yard.main())
    yard.add(story("S-1", scope=["lib/", "tests/test_s1.py"], depends_on=["S-0"]), story("S-2"))
    brief = given(run_of(yard))
    assert titles(brief) == [
        "Story", "Spec", "lib/a.py", "lib/test_a.py", "Spec of S-0, which this builds on",
        "Last changes that it builds on", "Not shown here, or not whole",
    ]  # fmt: skip
    prompt = briefs.prompt(brief)
    assert MARKED in prompt and "- lib/logo.png" in prompt
    facts = ("S-1: Story S-1", "component: S-1", "repository: repo", "plan: specs/S-1.md", "a feature branch",
             "scope: lib/, tests/test_s1.py", "outside: everything else", "others at work: S-2")  # fmt: skip
    assert [fact for fact in facts if fact not in prompt] == []
    assert brief.recent_changes == [f"{yard.main()[:7]} S-0: Story S-0"]
    assert (brief.branch_strategy, brief.plan_ref) == ("feature_branch", "specs/S-1.md")
    assert brief.parallel_workers == ["S-2"]


@pytest.mark.req("W11")
def test_the_last_three_commits_that_touched_the_scope(yard: Yard) -> None:
    for n in range(5):
        yard.commit({"calc.py": f"# {n}\n"}, f"calc: {n}")
        yard.commit({f"other{n}.py": ""}, "elsewhere")
    yard.add(story("S-1", scope=["calc.py"]))
    told = given(run_of(yard)).recent_changes
    assert [line.split(" ", 1)[1] for line in told] == ["calc: 4", "calc: 3", "calc: 2"]


@pytest.mark.req("W11")
def test_the_work_so_far_is_told_and_shown_as_it_will_be_found(yard: Yard) -> None:
    yard.add(story("S-1", scope=["calc.py", "s1.py", "tests/test_s1.py"]))
    run = run_of(yard)
    mirror, base = run.tools.mirror, run.tools.forge.main_tip()
    begun = context.TreeEntry("100644", mirror.write_blob(b"begun = 1\n"))
    brief = given(run, start=mirror.objects.edit(base, {"s1.py": begun, "calc.py": None}))
    [so_far] = [section.body for section in brief.sections if section.title.startswith("Work on this story")]
    assert so_far == "- calc.py: deleted, 2 lines before, 0 now\n- s1.py: new, 0 lines before, 1 now"
    assert "begun = 1" in briefs.prompt(brief) and "def one()" not in briefs.prompt(brief)


@pytest.mark.req("W11")
def test_work_made_on_an_older_main_is_shown_merged_with_the_new_one(yard: Yard) -> None:
    yard.add(story("S-1", scope=["calc.py", "s1.py"]))
    run = run_of(yard)
    mirror, was = run.tools.mirror, run.tools.forge.main_tip()
    tree = mirror.objects.edit(was, {"s1.py": context.TreeEntry("100644", mirror.write_blob(b"begun = 1\n"))})
    yard.commit({"calc.py": "def two():\n    return 2\n"}, "a person's")
    prompt = briefs.prompt(given(run, start=tree, was=was))
    assert "begun = 1" in prompt and "def two()" in prompt and "def one()" not in prompt


@pytest.mark.req("W11")
def test_a_scope_larger_than_the_budget_is_cut_and_says_so(yard: Yard) -> None:
    large = {f"big/m{n:02}.py": f"value_{n} = {n}\n" * 2000 for n in range(20)}
    yard.commit({**large, "big/tests/test_m.py": "def test_m(): ..."}, "big")
    yard.add(story("S-1", scope=["big/"]))
    brief = given(run_of(yard))
    handed = "\n".join(section.text for section in brief.sections)
    assert 40_000 < count(handed) <= 50_000
    assert "[cut here: " in handed and titles(brief)[-1] == "Not shown here, or not whole"
    assert "big/tests/test_m.py" not in titles(brief), "no test before all of the code"


@pytest.mark.req("W11")
@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("a/b.py", ["a/b.py"]),
        ("a/", ["a/b.py", "a/c/d.py"]),
        ("a/*.py", ["a/b.py"]),
        ("**/*.py", ["a/b.py", "a/c/d.py", "e.py"]),
        ("{e,f}.py", ["e.py"]),
        ("a/b.py/", []),
        ("gone/x.py", []),
    ],
)
def test_only_files_of_the_scope_are_read(yard: Yard, pattern: str, found: list[str]) -> None:
    commit = yard.commit({"a/b.py": "", "a/c/d.py": "", "e.py": "", "a/n.txt": ""}, "files")
    tools = yard.tools()
    tools.forge.main_tip()
    listed = [path for path, _ in context.scoped(tools.mirror, Sha(commit), Scope((pattern,)))]
    assert [path for path in sorted(listed) if path not in ("calc.py", "tests/test_one.py", "a/n.txt")] == found


@pytest.mark.req("W21")
def test_traits_come_from_the_spec_and_the_queue(yard: Yard) -> None:
    yard.add(story("S-1", complexity="high", domain="Security"), story("S-2"))
    yard.add(story("S-3", depends_on=["S-2"]))
    run = run_of(yard)
    assert given(run).traits == Traits(complexity="high", domain="security")
    other = yard.query("SELECT id FROM work_items WHERE story_id = 'S-2'")[0]["id"]
    [item] = [Run(item, run.tools) for item in _leased(yard) if item.id == other]
    assert given(item).traits == Traits(critical_path=True)


def _leased(yard: Yard) -> list[Item]:
    ids = [row["id"] for row in yard.query("SELECT id FROM work_items WHERE state = 'leased'")]
    return [rows.item(row) for row in yard.db.all("items_by_id", ids=ids)]


@pytest.mark.req("W11", "D5")
def test_the_brief_file_does_not_repeat_the_hand_off(yard: Yard) -> None:
    yard.add(story("S-1"))
    yard.work(yard.agent(HONEST + "\nassert 'sections' not in brief and 'traits' not in brief\n"))
    assert yard.item("S-1")["phase"] == "done"
