"""A commit that no story landed breaks a task on main: the task is STALE, with a report; who needs it waits (A7)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.ports import Candidate, Gate, GateName, GateResult
from damascus.engine.maintenance.regressions import look_at_main
from damascus.store import owners
from tests.engine.shell_stories import Watched
from tests.yard import Yard, story

pytestmark = pytest.mark.req("A7.2")

SAYS = "echo hello\n"
TEST = '# REQ-001\ntest "$(sh one.sh)" = hello\n'
FILES = {"README": "a yard\n"}


def task(name: str, *scope: str, command: str = "sh tests/test_one.sh", **front: Any) -> str:
    """A task whose contract is its Test Command: shell scripts name no single test."""
    told = {"graph": "TASK-GRAPH.md", "contract_exempt": "its Test Command says it all", **front}
    return story(name, scope=list(scope), command=command, **told)


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    """TASK-1 is on main, and main was looked at."""
    yard = Yard(tmp_path, database_url, files=FILES)
    yard.add(task("TASK-1", "one.sh", "tests/test_one.sh"))
    yard.work(Watched(yard, {"TASK-1": [{"write": {"one.sh": SAYS, "tests/test_one.sh": TEST}}]}))
    assert yard.item("TASK-1")["phase"] == "done", yard.questions()
    assert owners.looked_up_to(yard.db, yard.row.repo_id) == yard.main()
    return yard


def idle(yard: Yard) -> None:
    """`damascus run` where no story can move."""
    yard.work(Watched(yard, {}))


def test_the_owner_of_what_a_person_broke_on_main_is_stale_with_the_report(yard: Yard) -> None:
    broke = yard.commit({"one.sh": "echo bye\n", "other.txt": "x"}, "by hand")
    yard.add(task("TASK-2", "two.sh", "tests/test_two.sh", depends_on=["TASK-1"]))
    yard.add(task("TASK-3", "one.sh", "tests/test_three.sh"))
    look_at_main(yard.tools())
    idle(yard)
    row = yard.item("TASK-1")
    assert (row["phase"], row["state"]) == ("stale", "resting")
    assert row["change"]["regression"] and row["change"]["by"] == "damascus"
    assert row["change"]["report"] == {
        "tests": ["`sh tests/test_one.sh`"],
        "files": ["one.sh"],
        "commit": broke,
        "whose": "Ada",
    }
    [event] = yard.events("TASK-1", "regression.found")
    assert (event["body"]["owner"], event["body"]["commit"]) == ("TASK-1", broke)
    [question] = yard.questions()
    assert "TASK-1 is STALE, its tests fail on main" in question and f"since {broke[:7]} by Ada" in question
    waits = {name: yard.item(name)["wait_kind"] for name in ("TASK-2", "TASK-3")}
    assert waits == {"TASK-2": "dependency", "TASK-3": "scope"}, "dependents and sharers of its files are halted"


def test_a_worker_looks_before_it_ends_and_marks_once(yard: Yard) -> None:
    yard.commit({"one.sh": "echo bye\n"}, "by hand")
    idle(yard)
    assert yard.item("TASK-1")["phase"] == "stale"
    idle(yard)
    assert len(yard.events("TASK-1", "story.stale")) == 1


class Never(Gate):
    name = GateName.IMPACT
    asked_of_main = True

    def check(self, candidate: Candidate) -> GateResult:
        raise AssertionError("nothing came from elsewhere")


def test_what_stories_landed_and_a_main_that_stands_still_cost_no_run(yard: Yard) -> None:
    tools = replace(yard.tools(), gates_after=(Never(),))
    assert look_at_main(tools) == []
    yard.add(task("TASK-2", "two.sh", "tests/test_two.sh", command="sh tests/test_two.sh"))
    test = TEST.replace("one", "two")
    yard.work(Watched(yard, {"TASK-2": [{"write": {"two.sh": SAYS, "tests/test_two.sh": test}}]}))
    first = yard.git("rev-parse", "main~1")
    owners.note_looked(yard.db, yard.row.repo_id, first)
    assert look_at_main(tools) == []
    assert owners.looked_up_to(yard.db, yard.row.repo_id) == yard.main()


def test_what_was_cured_since_and_what_nobody_owns_marks_nobody(yard: Yard) -> None:
    yard.commit({"one.sh": "echo bye\n"}, "by hand")
    yard.commit({"one.sh": SAYS + "# as before\n", "free.txt": "x"}, "cured by hand")
    assert look_at_main(yard.tools()) == []
    yard.commit({"free.txt": "y"}, "nobody's")
    assert look_at_main(yard.tools()) == []
    assert yard.item("TASK-1")["phase"] == "done"


def test_a_change_of_dependencies_concerns_every_task(yard: Yard) -> None:
    yard.commit({"requirements.txt": "", "tests/test_one.sh": f"{TEST}test ! -s requirements.txt\n"}, "asks for none")
    assert look_at_main(yard.tools()) == []
    yard.commit({"requirements.txt": "left-pad\n"}, "needs a package")
    assert look_at_main(yard.tools()) == ["TASK-1"]


def test_a_plain_story_answers_for_its_candidate_alone(tmp_path: Path, database_url: str) -> None:
    """Who has no task graph changes main by hand as they like."""
    yard = Yard(tmp_path, database_url, files=FILES)
    yard.add(story("S-1", scope=["one.sh", "tests/test_one.sh"], command="sh tests/test_one.sh"))
    yard.work(Watched(yard, {"S-1": [{"write": {"one.sh": SAYS, "tests/test_one.sh": TEST}}]}))
    yard.commit({"one.sh": "echo bye\n"}, "by hand")
    assert look_at_main(yard.tools()) == [] and yard.item("S-1")["phase"] == "done"


def test_on_stale_halt_stops_everything(yard: Yard) -> None:
    config = (yard.repo / "damascus.toml").read_text()
    halting = config.replace("[tasks]\n", '[tasks]\non_stale = "halt"\n')
    yard.commit({"damascus.toml": halting, "one.sh": "echo bye\n"}, "by hand")
    assert look_at_main(yard.tools()) == ["TASK-1"]
    held = yard.query("SELECT halt FROM repo_holds WHERE released_at IS NULL")
    assert [row["halt"] for row in held] == ["stale"]
