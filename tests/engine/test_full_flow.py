"""Profile `full`: twelve steps under their names, loops that a critic ends, artifacts in table and folder."""

import json
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.critique import ReviewStatus
from damascus.domain.roles import AGENT_STEPS
from damascus.engine.flow.critics import CRITIQUE_TESTS
from damascus.engine.flow.full import STEPS
from damascus.engine.flow.said import left_open, left_out, said
from damascus.engine.run import Run
from damascus.engine.step import agent_steps
from damascus.store import artifacts, rows
from tests.engine.flow_stories import (
    CODE,
    ELEVEN,
    FULL,
    TEST,
    author,
    committed,
    full_story,
    journal,
    story_of,
    turn,
    unverified,
    verified,
)
from tests.engine.shell_stories import FILES, Watched
from tests.engine.test_review_and_ci import run_as_if_killed
from tests.rules.tables import OF_OTHER_TESTS
from tests.yard import Yard

TAKEN = [step.name for step in STEPS if step.name != "fix"]
BUILDING = {step.name for step in STEPS} | {"explain_mutants"}
WEAK_TEST = "# REQ-001\nsh one.sh\n"


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    return yard_with(tmp_path, database_url)


def yard_with(folder: Path, url: str, more: str = "", files: dict[str, str] | None = None, **parts: Any) -> Yard:
    yard = Yard(folder, url, files={**FILES, **(files or {})}, config=FULL + more)
    yard.add(full_story(**parts))
    return yard


def steps(yard: Yard) -> list[str]:
    rows = yard.query("SELECT step FROM journal WHERE phase = 'build' AND status = 'done' ORDER BY done_at, step")
    return [row["step"] for row in rows]


def roles(agent: Watched) -> list[str]:
    """Of the build; who reads the pull request afterwards is tested in test_reviewers.py."""
    return [brief.role for brief, _, _ in agent.given if brief.step in BUILDING]


def paper(yard: Yard, name: str) -> str:
    found = artifacts.latest(yard.db, yard.item("one")["id"], f"build/{name}")
    assert found is not None
    return found.content.decode()


def run_of(yard: Yard) -> Run:
    row = yard.db.all("items_by_id", ids=[yard.item("one")["id"]])[0]
    return Run(rows.item(row), yard.tools())


# ── the twelve steps ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("F1.1", "F3.1")
def test_a_story_goes_through_the_steps_under_their_names(yard: Yard) -> None:
    agent = Watched(yard, story_of())
    yard.work(agent)

    assert yard.item("one")["phase"] == "done", yard.questions()
    taken = steps(yard)
    until = [name for name in taken[: taken.index("red")] if name != "run_tests"]
    assert until == ["prepare", *TAKEN]
    assert roles(agent) == [
        "context-loader", "clarifier", "test-author", "test-critic", "code-implementer", "code-critic", "doc-writer",
        "self-reviewer",
    ]  # fmt: skip
    assert yard.on_main("docs/one.md") == "says hello" and len(yard.git("log", "--format=%H", "main").split()) == 2
    assert "Damascus-Step: commit" in yard.git("log", "-1", "--format=%B", "main")


def test_the_names_are_those_of_the_source() -> None:
    assert [step.name for step in STEPS] == [
        "branch", "load_context", "clarify", "author_tests", "critique_tests", "implement", "critique_code", "mutate",
        "fix", "docs", "self_review", "commit",
    ]  # fmt: skip
    flow = {step.name for step in agent_steps()} - set(OF_OTHER_TESTS)
    assert set(AGENT_STEPS) == flow


@pytest.mark.req("F1.2")
def test_every_step_leaves_its_artifact_in_table_and_folder(yard: Yard) -> None:
    yard.work(Watched(yard, story_of()))
    kept = {each.name: each for each in artifacts.all_latest(yard.db, yard.item("one")["id"])}
    assert [name for name in ELEVEN if name not in kept] == []
    folder = yard.project.folder / "runs" / "one"
    assert {name: (folder / name).read_bytes() for name in ELEVEN} == {name: kept[name].content for name in ELEVEN}
    versions = {name: each.version for name, each in kept.items() if name in ELEVEN}
    assert versions == dict.fromkeys(ELEVEN, 1) | {"build/build_receipt.json": 2}, "again with the reviewers' words"


@pytest.mark.req("F3.5")
def test_an_authors_summary_has_changed_weak_and_open_and_gits_files(yard: Yard) -> None:
    yard.work(Watched(yard, story_of()))
    text = paper(yard, "impl_changes_summary.md")
    assert "- one.sh\n" in text and "code-implementer did it" in text
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Files of the story so far, by git", "## Changed", "## Weak", "## Open",
    ]  # fmt: skip


@pytest.mark.req("F1.1")
def test_a_spec_chooses_its_profile_against_the_projects(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES, config=FULL)
    yard.add(full_story(flow="direct"))
    agent = Watched(
        yard, story_of(code_implementer=author("code-implementer", {"one.sh": CODE, "tests/test_one.sh": TEST}))
    )
    yard.work(agent)
    assert yard.item("one")["phase"] == "done" and roles(agent) == ["code-implementer"]
    assert said(run_of(yard)) == []
    assert left_out(run_of(yard)) == ["critique_tests", "critique_code", "review_code", "review_security"]


def test_what_is_skipped_is_named_and_not_verified(tmp_path: Path, database_url: str) -> None:
    skip = 'skip = ["critique_tests", "clarify", "docs", "self_review"]\n'
    yard = yard_with(tmp_path, database_url, skip)
    agent = Watched(yard, story_of())
    yard.work(agent)
    assert yard.item("one")["phase"] == "done"
    assert roles(agent) == ["context-loader", "test-author", "code-implementer", "code-critic"]
    assert left_out(run_of(yard)) == ["clarify", "critique_tests", "docs", "self_review"]
    assert paper(yard, "test_critique.md") == "Not verified: the step critique_tests was left out by [flow] skip.\n"


# ── what critics are shown ────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("F4", "F9.1")
def test_each_critic_sees_what_our_own_run_of_the_tests_showed(yard: Yard) -> None:
    agent = Watched(yard, story_of())
    yard.work(agent)
    told = {brief.role: prompt for brief, prompt, _ in agent.given if brief.step in BUILDING}
    assert "- gate tests: refused" in told["test-critic"] and "the Test Command failed" in told["test-critic"]
    assert "it says \n" in told["test-critic"], "what the runner printed, without the code"
    for role in ("code-critic", "self-reviewer"):
        assert "- gate tests: passed" in told[role] and "it says hello one" in told[role], role
    assert all("- gate tests: " not in told[role] for role in ("test-author", "code-implementer", "doc-writer"))


# ── what a story was given ────────────────────────────────────────────────────────────────────────────

INPUTS = {
    "swarm/runs/one/signal/requirements.md": "REQ-001 is about greeting\n",
    "swarm/runs/one/signal/features/hello.feature": "Feature: hello\n",
    "swarm/runs/one/plan/work_plan.md": "# Plan\n\n## Say it\n\nprint hello\n\n## Say whom\n\nprint one\n",
    "swarm/runs/one/plan/adr.md": b"\xff\xfe no text".decode("latin-1"),
}


@pytest.mark.req("F2", "F12")
def test_inputs_are_read_from_the_base_and_what_is_absent_is_listed(tmp_path: Path, database_url: str) -> None:
    yard = yard_with(tmp_path, database_url, files=INPUTS)
    agent = Watched(yard, story_of())
    yard.work(agent)
    told = json.loads(paper(yard, "subtask_context_manifest.json"))
    assert [each["name"] for each in told["inputs"]] == [
        "signal/requirements.md", "plan/adr.md", "plan/work_plan.md", "signal/features/hello.feature",
    ]  # fmt: skip
    assert "plan/schema.md" in told["absent"] and told["subtasks"] == ["Say it", "Say whom"]
    assert told["notes"] == "one.sh prints" and all(len(each["sha256"]) == 64 for each in told["inputs"])
    folder = yard.project.folder / "runs" / "one"
    assert (folder / "signal/requirements.md").read_text() == "REQ-001 is about greeting\n"
    prompts = {brief.role: prompt for brief, prompt, _ in agent.given if brief.step in BUILDING}
    assert "REQ-001 is about greeting" in prompts["test-author"] and "Feature: hello" in prompts["code-critic"]


@pytest.mark.req("F12")
def test_each_subtask_of_the_work_plan_has_both_loops(tmp_path: Path, database_url: str) -> None:
    yard = yard_with(tmp_path, database_url, files=INPUTS)
    agent = Watched(yard, story_of())
    yard.work(agent)
    assert yard.item("one")["phase"] == "done", yard.questions()
    pair = ["test-author", "test-critic", "code-implementer", "code-critic"]
    assert roles(agent)[2:10] == pair * 2
    assert "Part to do now: Say it" in agent.given[2][1] and "Part to do now: Say whom" in agent.given[6][1]
    assert paper(yard, "test_critique.md").count("Status: VERIFIED") == 2
    assert [(each.subtask, each.round) for each in said(run_of(yard)) if each.step == "implement"] == [
        ("1", 1),
        ("2", 1),
    ]


# ── the loops ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("F4")
def test_a_critic_sends_tests_back_until_it_is_content(yard: Yard) -> None:
    weak = author("test-author", {"tests/test_one.sh": WEAK_TEST})
    concern = {"what": "it passes whatever is printed", "where": "tests/test_one.sh:2", "requirement": "REQ-001"}
    agent = Watched(
        yard,
        story_of(
            test_author=[weak, author("test-author", {"tests/test_one.sh": TEST})],
            test_critic=[unverified("test-critic", concern), verified("test-critic")],
        ),
    )
    yard.work(agent)
    assert yard.item("one")["phase"] == "done" and yard.item("one")["attempts"] == 0
    assert roles(agent)[2:6] == ["test-author", "test-critic", "test-author", "test-critic"]
    brief, prompt, files = agent.given[4]
    assert "REQ-001: it passes whatever is printed (tests/test_one.sh:2)" in prompt
    assert brief.feedback is not None and brief.feedback.requirements == ["REQ-001"]
    assert files["tests/test_one.sh"] == WEAK_TEST.encode(), "it goes on with what it wrote"
    assert paper(yard, "test_critique.md").startswith("Status: VERIFIED")
    reviews = [each.word.status for each in journal(yard, CRITIQUE_TESTS)]
    assert reviews == [ReviewStatus.UNVERIFIED, ReviewStatus.VERIFIED]


@pytest.mark.req("F4", "F5.2")
def test_what_no_round_can_cure_goes_to_the_fixer_and_on_record(yard: Yard) -> None:
    agent = Watched(
        yard,
        story_of(
            code_critic=[
                unverified("code-critic", "the greeting is hard-coded", helps=False),
                verified("code-critic"),
            ],
            fixer=author("fixer", {"one.sh": "name=one\necho hello $name\n"}),
        ),
    )
    yard.work(agent)
    assert committed(yard, "one.sh") == "name=one\necho hello $name\n"
    assert roles(agent).count("code-implementer") == 1 and roles(agent).count("fixer") == 1
    assert "the greeting is hard-coded" in agent.given[roles(agent).index("fixer")][1]
    told = {each.step: each for each in said(run_of(yard))}
    assert told["critique_code"].critique and told["critique_code"].critique.status is ReviewStatus.UNVERIFIED
    assert steps(yard).count("mutate") == 2, "what the fixer changed is run again"


@pytest.mark.req("F5")
def test_the_fixer_repairs_what_our_own_gates_found_before_an_attempt_is_spent(yard: Yard) -> None:
    wrong = author("code-implementer", {"one.sh": "echo bye\n"})
    agent = Watched(yard, story_of(code_implementer=wrong))
    yard.work(agent)
    assert yard.item("one")["phase"] == "done" and yard.item("one")["attempts"] == 0
    assert "it says bye" in agent.given[roles(agent).index("fixer")][1]


@pytest.mark.req("F6")
@pytest.mark.parametrize(
    "does", [{"exit": 3}, {"report": "no JSON"}, {"report": {"questions": ["why?"], "concerns": ["who?"]}}]
)
def test_neither_questions_nor_a_crash_of_the_clarifier_stop_a_build(yard: Yard, does: dict[str, Any]) -> None:
    yard.work(
        Watched(yard, story_of(clarifier=turn("clarifier", **does), context_loader=turn("context-loader", exit=9)))
    )
    assert yard.item("one")["phase"] == "done" and yard.questions() == []
    told = paper(yard, "clarification_questions.md")
    assert ("exit 3" in told) == ("exit" in does) and ("why?" in told) == ("questions" in str(does))
    assert "exit 9" in json.loads(paper(yard, "subtask_context_manifest.json"))["notes"]


@pytest.mark.req("F4")
def test_the_runs_budget_ends_a_loop_that_its_critic_never_ends(tmp_path: Path, database_url: str) -> None:
    yard = yard_with(tmp_path, database_url, "[budget]\nrun_turns = 9\n")
    never = unverified("test-critic", {"what": "one more case", "requirement": "REQ-001"})
    agent = Watched(yard, story_of(test_critic=never))
    yard.work(agent)
    assert committed(yard, "one.sh") == CODE, "the gates decide, and what is open is on record"
    assert roles(agent).count("test-critic") == 4, "two agents before the loop, two in each round"
    assert left_open(run_of(yard)) == ["the run's budget was used up (10 of 9 turns): REQ-001: one more case"]
    assert "one more case" in paper(yard, "test_critique.md")


@pytest.mark.req("F4", "D21")
def test_whoever_goes_on_after_a_budget_ended_a_loop_decides_the_same(tmp_path: Path, database_url: str) -> None:
    yard = yard_with(tmp_path, database_url, "[budget]\nrun_turns = 5\n")
    drafts = [author("test-author", {"tests/test_one.sh": f"{TEST}# draft {n}\n"}) for n in (1, 2, 3)]
    script = story_of(test_author=drafts, test_critic=unverified("test-critic", "one more case"))

    def killed(step: str, point: str) -> None:
        if (step, point) == ("implement", "before_intent"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_as_if_killed(yard, killed, Watched(yard, script))
    yard.query("UPDATE leases SET expires_at = now() - interval '1 h' RETURNING item_id")
    yard.query("SELECT rescue_item(item_id, fence, 12, 'test') FROM leases")
    heir = Watched(yard, script)
    yard.work(heir)
    assert "test-author" not in roles(heir)
    assert committed(yard, "tests/test_one.sh").endswith("# draft 2\n"), "of the last round, not of the first"
    assert len(left_open(run_of(yard))) == 1


# ── nobody learns of a loop ───────────────────────────────────────────────────────────────────────────


@pytest.mark.req("F4.2")
def test_no_prompt_and_no_brief_tells_of_loops_or_rounds(yard: Yard) -> None:
    again = unverified("code-critic", "not yet")
    agent = Watched(yard, story_of(code_critic=[again, again, verified("code-critic")]))
    yard.work(agent)
    assert roles(agent).count("code-implementer") == 3
    for brief, prompt, _ in agent.given:
        whole = (prompt + brief.model_dump_json()).replace("can_further_iteration_help", "").lower()
        found = [
            word for word in ("loop", "round", "iteration", "again and again") if word in whole.replace("around", "")
        ]
        assert found == [], (brief.role, found)
    first, second, third = (brief for brief, _, _ in agent.given if brief.role == "code-implementer")
    assert (
        first.model_dump(exclude={"feedback"})
        == second.model_dump(exclude={"feedback"})
        == third.model_dump(exclude={"feedback"})
    )


@pytest.mark.req("F3", "W21")
def test_a_role_may_be_played_by_another_agent(tmp_path: Path, database_url: str) -> None:
    told = tmp_path / "critic.json"
    told.write_text(json.dumps({"one": [verified("test-critic", summary="another agent says so")]}))
    others = FULL.replace("[agent]\n", f'[agent]\ncommand = "{told}"\n')
    yard = Yard(tmp_path, database_url, files=FILES, config=others + '[agent.roles]\ntest-critic = "scripted"\n')
    yard.add(full_story())
    agent = Watched(yard, story_of(test_critic=turn("test-critic", exit=9)))
    yard.work(agent)
    assert yard.item("one")["phase"] == "done", yard.questions()
    assert "test-critic" not in roles(agent) and "another agent says so" in paper(yard, "test_critique.md")
