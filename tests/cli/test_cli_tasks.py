"""damascus tasks add and status: a graph enters the queue whole, is edited, and is worked off."""

from pathlib import Path

import pytest

from damascus.people import task_graph
from damascus.people.acts import Actor
from tests.cli.conftest import Cli
from tests.tasks.graphs import BUILDER, graph, task
from tests.yard import Yard, story

pytestmark = pytest.mark.req("A1.1")
FILE = "TASK-GRAPH.md"
THREE = (task(1), task(2, [1], kinds=("unit", "integration")), task(3, [1]))


def put(yard: Yard, *tasks: str, name: str = FILE) -> str:
    yard.write({name: graph(*tasks)})
    return name


def queued(yard: Yard) -> dict[str, str]:
    return {row["story_id"]: row["spec_hash"] for row in yard.query("SELECT * FROM work_items ORDER BY id")}


# ── queueing ──────────────────────────────────────────────────────────────────────────────────────────


def test_every_task_is_a_story(yard: Yard, cli: Cli) -> None:
    told = cli("tasks", "add", put(yard, *THREE))
    assert told.code == 0 and "3 tasks are queued: TASK-001, TASK-002, TASK-003" in told.out, told
    second = yard.item("TASK-002")
    assert (second["spec_path"], second["graph"], second["graph_at"]) == (FILE, FILE, 1)
    assert second["file_scope"] == ["t2.py", "tests/test_t2_1.py", "tests/test_t2_2.py"]
    assert second["depends_on"] == [yard.item("TASK-001")["id"]]
    assert b"## Test Contract" in second["spec"] and b" tests/test_t2_1.py tests/test_t2_2.py\n" in second["spec"]


def test_a_graph_with_a_fault_queues_nothing_and_tells_all(yard: Yard, cli: Cli) -> None:
    odd = task(3, [9]).replace("tests/test_t3_1.py", "tests/a.feature")
    told = cli("tasks", "add", put(yard, task(1), task(2, [7]), odd))
    assert told.code == 2 and queued(yard) == {}
    assert "depends on TASK-007" in told.out and "depends on TASK-009" in told.out
    exempt = task(2, Test_contract_status="EXEMPT (words)")
    told = cli("tasks", "add", put(yard, task(1), exempt))
    assert told.code == 2 and queued(yard) == {} and "TASK-002 is EXEMPT" in told.out and f"{FILE}:" in told.out


def test_a_graph_outside_of_the_repository_is_refused(yard: Yard, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text(graph(task(1)))
    told = cli("tasks", "add", str(tmp_path / "elsewhere.md"))
    assert told.code == 2 and "outside of the repository" in told.error


def test_a_story_of_another_kind_keeps_its_id(yard: Yard, cli: Cli) -> None:
    yard.add(story("TASK-001"))
    before = queued(yard)
    told = cli("tasks", "add", put(yard, *THREE))
    assert told.code == 2 and "TASK-001 is a story by a spec of its own" in told.error and queued(yard) == before


def test_types_that_need_something_on_main_are_warned_about(yard: Yard, cli: Cli) -> None:
    told = cli("tasks", "add", put(yard, task(1, Task_type="api"), task(2, Task_type="ui")))
    assert told.code == 0 and "TASK-001: of type api or data" in told.error and "TASK-002: of type ui" in told.error


# ── edits ─────────────────────────────────────────────────────────────────────────────────────────────


def test_added_again_it_changes_nothing(yard: Yard, cli: Cli) -> None:
    cli("tasks", "add", put(yard, *THREE))
    before = queued(yard)
    told = cli("tasks", "add", FILE)
    assert told.code == 0 and "3 tasks are unchanged" in told.out and queued(yard) == before


def test_an_edit_changes_only_what_nobody_has_begun(yard: Yard, cli: Cli) -> None:
    cli("tasks", "add", put(yard, *THREE, task(4)))
    yard.query("UPDATE work_items SET claims = 1 WHERE story_id = 'TASK-001' RETURNING id")
    before = queued(yard)
    edited = (task(1, title="Another"), task(2, [3], kinds=("unit",)), task(3, [1]), task(5, [2]))
    told = cli("tasks", "add", put(yard, *edited))
    assert told.code == 0, told
    said = " ".join(told.out.split())
    assert "1 task is queued: TASK-005" in said and "1 task is unchanged" in said
    assert "TASK-002 changed before anybody began it: dependencies, Test Command, output files" in said
    assert "test contract (-TC-2)" in said
    assert "TASK-001 was edited (title) while it is worked on" in said and "damascus cancel TASK-001" in said
    assert "TASK-004 is no longer in the graph" in said and "damascus cancel TASK-004" in said
    after = queued(yard)
    assert {name for name in before if before[name] != after[name]} == {"TASK-002"}
    second = yard.item("TASK-002")
    assert second["depends_on"] == [yard.item("TASK-003")["id"]] and second["file_scope"] == [
        "t2.py",
        "tests/test_t2_1.py",
    ]
    assert second["state"] == "ready" and second["fence"] > 0


def test_what_others_brought_to_main_edits_nothing_that_was_begun(yard: Yard, cli: Cli) -> None:
    plain = task(1).replace(task(1).split("| tests/test_t1_1.py |")[1].split("|")[0], "  ")
    cli("tasks", "add", put(yard, plain))
    assert b"python3 -m pytest -q tests/test_t1_1.py" in yard.item("TASK-001")["spec"]
    yard.query("UPDATE work_items SET claims = 1 RETURNING id")
    config = yard.on_main("damascus.toml") or ""
    yard.commit({"damascus.toml": config.replace('command = "none"', 'command = "uv run pytest"')}, "a runner")
    assert "1 task is unchanged" in cli("tasks", "add", FILE).out
    yard.query("UPDATE work_items SET claims = 0 RETURNING id")
    assert "changed before anybody began it: Test Command" in cli("tasks", "add", FILE).out


@pytest.mark.req("A3")
def test_a_done_task_that_was_edited_is_stale_by_a_persons_word_alone(yard: Yard, cli: Cli) -> None:
    cli("tasks", "add", put(yard, *THREE))
    yard.query("UPDATE work_items SET phase = 'done', state = 'resting', claims = 1, pr_url = 'x', merged_commit = %s "
               "WHERE story_id = 'TASK-001' RETURNING id", yard.main())  # fmt: skip
    before = queued(yard)
    edited = (task(1, title="Another"), *THREE[1:], task(4))
    told = cli("tasks", "add", put(yard, *edited))
    assert "What that touches" in told.out and "TASK-002" in told.out
    assert "TASK-001 is DONE and was edited (title), and stays as it is" in told.out and "--yes" in told.out
    assert queued(yard).items() >= before.items() and yard.item("TASK-001")["phase"] == "done"
    told = cli("tasks", "add", FILE, "--yes")
    stale = yard.item("TASK-001")
    assert stale["phase"] == "stale" and "Another" in stale["change"]["new_spec"]["text"], told
    assert "4 tasks are unchanged" in cli("tasks", "add", FILE).out, "the change asks for just this"


@pytest.mark.req("A3.1")
def test_change_of_a_task_that_is_not_done_names_tasks_add(yard: Yard, cli: Cli) -> None:
    cli("tasks", "add", put(yard, *THREE))
    assert f"instead: damascus tasks add {FILE}." in cli("change", "TASK-003", "--why", "x", "--yes").error
    yard.query("UPDATE work_items SET claims = 1 RETURNING id")
    told = cli("change", "TASK-003", "--why", "x", "--yes").error
    assert f"instead: damascus cancel TASK-003, then damascus tasks add {FILE}." in told


def test_a_done_task_that_was_removed_is_told(yard: Yard, cli: Cli) -> None:
    cli("tasks", "add", put(yard, *THREE))
    yard.query("UPDATE work_items SET phase = 'done', state = 'resting', claims = 1, pr_url = 'x', merged_commit = %s "
               "WHERE story_id = 'TASK-003' RETURNING id", yard.main())  # fmt: skip
    told = " ".join(cli("tasks", "add", put(yard, *THREE[:2])).out.split())
    assert "TASK-003 is no longer in the graph. It is DONE and stays on main" in told and "cancel" not in told


def test_of_two_at_once_the_second_says_that_they_were_there(yard: Yard) -> None:
    file = yard.repo / put(yard, *THREE)
    both = [task_graph.compare(yard.db, yard.project, file) for _ in range(2)]
    first, second = (task_graph.add(yard.app, yard.project, one, Actor("Ada")) for one in both)
    assert first.said.startswith("3 tasks are queued") and first.following == "damascus run"
    assert second.said == "3 tasks were there already, queued by somebody else just now: TASK-001, TASK-002, TASK-003"
    assert second.following == "damascus tasks status"


def test_two_graphs_share_no_id_and_a_moved_one_is_the_same(yard: Yard, cli: Cli) -> None:
    cli("tasks", "add", put(yard, *THREE))
    other = put(yard, task(3), name="docs/OTHER.md")
    told = cli("tasks", "add", other)
    assert told.code == 2 and "TASK-003 is a task of TASK-GRAPH.md already" in told.error
    (yard.repo / FILE).rename(yard.repo / other)
    told = cli("tasks", "add", other)
    assert told.code == 0 and told.out.count("the graph's path") == 3


# ── working it off ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("A1.3")
def test_a_graph_is_worked_off_in_the_order_of_its_dependencies(yard: Yard, cli: Cli) -> None:
    """A dependency and two side by side, `damascus run` to DONE."""
    cli("tasks", "add", put(yard, *THREE))
    yard.commit({FILE: graph(*THREE)}, "the graph")
    told = cli("tasks", "status")
    assert "3 tasks · 3 PENDING · checkpoint 0 of 1" in told.out and "after TASK-001" in told.out
    assert "Halted: nothing. Goes on with TASK-001." in told.out
    agent = yard.agent("SKIPS = lambda name, k: False\n" + BUILDER)
    ran = cli("run", "--until-idle", "--agent", "command", "--agent-command", agent)
    assert ran.code == 0, (ran.out, yard.questions(), yard.item("TASK-002")["last_feedback"])
    told = cli("tasks", "status")
    assert "3 tasks · 3 DONE · checkpoint 0 of 1" in told.out and "Every task is DONE." in told.out, told.out
    second = next(line for line in told.out.splitlines() if "TASK-002" in line)
    assert "TC: 2/2 pass (1 unit, 1 integration)" in second
    assert yard.item("TASK-002")["merged_commit"][:7] in second
    landed = [event["id"] for name in ("TASK-001", "TASK-002") for event in yard.events(name, "story.landed")]
    begun = [event["id"] for event in yard.events("TASK-002", "item.claimed")]
    assert landed[0] < begun[0], "rule 3: no code for a task whose dependencies are not DONE"
    facts = cli("tasks", "status", "--json").json
    assert [facts["tasks"][0][key] for key in ("story_id", "status", "tc")] == [
        "TASK-001", "DONE", "TC: 1/1 pass (1 unit)",
    ]  # fmt: skip
    assert "TC: 2/2 pass" in cli("show", "TASK-002").out


@pytest.mark.req("A2.6")
def test_what_halts_is_told_with_what_ends_it(yard: Yard, cli: Cli) -> None:
    cli("tasks", "add", put(yard, *THREE))
    cli("hold", "not today")
    told = cli("tasks", "status").out
    assert "Halted: a person holds" in told and "not today" in told and "damascus release" in told
    assert "Goes on" not in told


@pytest.mark.req("A1.3")
def test_rule_1_never_done_without_all_tc_passing(yard: Yard, cli: Cli) -> None:
    cli("tasks", "add", put(yard, task(1, kinds=("unit", "integration"))))
    yard.query("UPDATE work_items SET budget_cycles = 1 RETURNING id")
    agent = yard.agent("SKIPS = lambda name, k: k == 2\n" + BUILDER)
    cli("run", "--until-idle", "--agent", "command", "--agent-command", agent)
    item = yard.item("TASK-001")
    assert (item["phase"], item["last_verdict"]) == ("blocked", "contract_unmet") and yard.on_main("t1.py") is None
    told = cli("tasks", "status").out
    assert "! TASK-001" in told and "1 BLOCKED" in told and "Nothing goes on by itself" in told
