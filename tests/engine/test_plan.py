"""`damascus plan`: an idea becomes a task graph by planner and critic; nothing is built before a person approves."""

from pathlib import Path
from typing import Any

import pytest

from damascus.engine.flow.planning import CHECK_PLAN, CRITIQUE_PLAN, WRITE_PLAN
from damascus.people import changes, planning, stories
from damascus.people.acts import Actor
from damascus.tasks.planned import SAMPLE
from tests.engine.flow_stories import author, journal, unverified, verified
from tests.engine.shell_stories import FILES, Watched, config
from tests.yard import Yard

GRAPH = "TASK-GRAPH.md"
CIRCLE = SAMPLE.replace("**Dependencies:** none", "**Dependencies:** TASK-001")
BETTER = SAMPLE.replace("Prices of the shop", "Prices with tax")
ADA = Actor("Ada")


def planned(folder: Path, url: str, more: str = "") -> Yard:
    yard = Yard(folder, url, files=FILES, config=config(more))
    (folder / "IDEA.md").write_text("# A shop\n\nIt sells things.\n\n## Test Command\n```sh\nrm -rf x\n```\n")
    planning.plan(yard.db, yard.project, str(folder / "IDEA.md"))
    return yard


def agent(yard: Yard, *turns: dict[str, Any]) -> Watched:
    return Watched(yard, {"PLAN-1": list(turns)})


def writes(text: str) -> dict[str, Any]:
    return author("planner", {GRAPH: text})


def known(yard: Yard) -> list[str]:
    return [row["story_id"] for row in yard.query("SELECT story_id FROM work_items ORDER BY id")]


@pytest.mark.req("X15.2")
def test_a_graph_with_a_circle_goes_back_with_the_fault_and_nothing_is_queued_before_approve(
    tmp_path: Path, database_url: str
) -> None:
    yard = planned(tmp_path, database_url)
    agents = agent(yard, writes(CIRCLE), writes(SAMPLE), verified("plan-critic"))
    yard.work(agents)

    assert [brief.role for brief, _, _ in agents.given] == ["planner", "planner", "plan-critic"]
    assert "It sells things." in agents.given[0][1] and "The format of TASK-GRAPH.md" in agents.given[0][1]
    assert "can't be worked off" in agents.given[1][1] and f"{GRAPH} line " in agents.given[1][1]
    assert [bool(each.faults) for each in journal(yard, CHECK_PLAN)] == [True, False]

    assert yard.item("PLAN-1")["phase"] == "blocked" and yard.on_main(GRAPH) is None, "a person is asked, by this kind"
    (question,) = yard.questions()
    assert "Tasks: 1 new (TASK-001)." in question and "Files they may write: none that main has, 2 new." in question
    assert "Estimate: no story has landed here" in question
    assert known(yard) == ["PLAN-1"]

    done = stories.approve(yard.db, yard.project, "PLAN-1", ADA)
    assert f"damascus tasks add {GRAPH}" in done.following
    yard.work(agents)
    assert yard.item("PLAN-1")["phase"] == "done", yard.questions()
    assert yard.on_main(GRAPH) == SAMPLE.strip() and known(yard) == ["PLAN-1"], "the person adds its tasks"
    assert len(agents.given) == 3


@pytest.mark.req("X15.2")
@pytest.mark.parametrize("tries", ["clean", "after one out of scope"])
def test_the_plan_that_a_person_is_asked_about_is_shown(tmp_path: Path, database_url: str, tries: str) -> None:
    yard = planned(tmp_path, database_url)
    first = [author("planner", {GRAPH: SAMPLE, "plans/PLAN-1/evil.py": "x = 1\n"})] if tries != "clean" else []
    critics = [verified("plan-critic")] * (1 + len(first))
    yard.work(agent(yard, *first, writes(SAMPLE), *critics))
    assert "Shall it land?" in yard.questions()[0]

    shown = changes.change_of(yard.app, yard.project, "PLAN-1")
    assert shown.what == "candidate" and shown.head == yard.item("PLAN-1")["candidate"]
    assert b"+### TASK-001" in changes.patch(yard.project, shown)


@pytest.mark.req("X15.2")
def test_the_critic_ends_the_loop_by_its_word(tmp_path: Path, database_url: str) -> None:
    yard = planned(tmp_path, database_url)
    agents = agent(
        yard, writes(SAMPLE), writes(BETTER),
        unverified("plan-critic", "nothing charges tax"), unverified("plan-critic", "a bold idea", helps=False),
    )  # fmt: skip
    yard.work(agents)

    assert [brief.role for brief, _, _ in agents.given] == ["planner", "plan-critic"] * 2
    assert "nothing charges tax" in agents.given[2][1] and len(journal(yard, CRITIQUE_PLAN)) == 2
    assert yard.item("PLAN-1")["phase"] == "blocked" and "Shall it land?" in yard.questions()[0]
    assert (yard.project.folder / "runs/PLAN-1/build/plan_critique.md").read_text().count("a bold idea") == 1


def test_a_planner_that_never_gets_it_right_ends_by_the_budget_and_proposes_nothing(
    tmp_path: Path, database_url: str
) -> None:
    yard = planned(tmp_path, database_url, "[budget]\nrun_turns = 2\n")
    yard.query("UPDATE work_items SET budget_cycles = 1 RETURNING id")
    agents = agent(yard, writes(CIRCLE), writes(f"{CIRCLE}\nmore\n"), writes("no task at all\n"))
    yard.work(agents)

    item = yard.item("PLAN-1")
    assert (item["phase"], item["last_verdict"], item["pr_url"]) == ("blocked", "plan_faulty", None)
    assert len(journal(yard, WRITE_PLAN)) == 2 and len(journal(yard, CRITIQUE_PLAN)) == 0


@pytest.mark.parametrize("text", ["\u202e### TASK-1: x\n", "### TASK-../../etc: x\n"], ids=["turned round", "a path"])
def test_a_hostile_graph_is_never_proposed(tmp_path: Path, database_url: str, text: str) -> None:
    yard = planned(tmp_path, database_url, "[budget]\nrun_turns = 1\n")
    yard.query("UPDATE work_items SET budget_cycles = 1 RETURNING id")
    yard.work(agent(yard, writes(text)))
    assert yard.item("PLAN-1")["last_verdict"] == "plan_faulty" and yard.on_main(GRAPH) is None


def test_a_planner_writes_no_code(tmp_path: Path, database_url: str) -> None:
    yard = planned(tmp_path, database_url)
    yard.query("UPDATE work_items SET budget_cycles = 1 RETURNING id")
    code = author("planner", {GRAPH: SAMPLE, "plans/PLAN-1/evil.py": "x = 1\n"})
    yard.work(agent(yard, code, verified("plan-critic")))
    assert yard.item("PLAN-1")["last_verdict"] == "scope_violation" and yard.item("PLAN-1")["pr_url"] is None


def test_a_silent_critic_is_no_review(tmp_path: Path, database_url: str) -> None:
    yard = planned(tmp_path, database_url)
    yard.work(agent(yard, writes(SAMPLE), {"only_role": "plan-critic", "report": {}}))
    assert yard.item("PLAN-1")["phase"] == "blocked" and "could not review PLAN-1" in yard.questions()[0]


def test_what_lands_has_no_fault_although_main_moved(tmp_path: Path, database_url: str) -> None:
    """The graph is judged again where it was rebased: here main got the same task by hand, further down."""
    other = SAMPLE.partition("## Parallelism")[0]
    yard = planned(tmp_path, database_url)
    yard.commit({GRAPH: "# Tasks\n\n" + "\n" * 10 + "## End\n"}, "a beginning")
    text = f"# Tasks\n\n{other}" + "\n" * 10 + "## End\n"
    agents = agent(yard, writes(text), verified("plan-critic"))
    agents.before = lambda brief, _: (
        yard.commit({GRAPH: "# Tasks\n\n" + "\n" * 10 + f"## End\n{other}"}, "by hand")
        if brief.role == "plan-critic"
        else None
    )
    yard.query("UPDATE work_items SET budget_cycles = 1 RETURNING id")
    yard.work(agents)
    assert yard.item("PLAN-1")["last_verdict"] == "plan_faulty", yard.questions()
