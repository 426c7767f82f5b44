"""`tasks commit`: the files beside the task graph become one commit on main, and no agent is sent."""

from pathlib import Path

import pytest

from damascus.domain.errors import UsageError
from damascus.engine.projecting import NAMES
from damascus.people.task_files import commit
from damascus.tasks.statuses import statuses_in
from tests.engine.shell_stories import Watched, good
from tests.engine.task_yard import GRAPH, project, statuses, task_yard
from tests.engine.test_projector import as_if_landed
from tests.engine.test_review_and_ci import run_as_if_killed
from tests.yard import Yard

FILES = sorted([GRAPH, *NAMES])


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    yard = task_yard(tmp_path, database_url, "TASK-1", "TASK-2")
    yard.work(Watched(yard, {"TASK-1": [good("TASK-1")], "TASK-2": [good("TASK-2")]}))
    return yard


@pytest.mark.req("A1.2", "A8.1", "A9.1")
def test_the_files_land_as_one_commit_without_an_agent(yard: Yard) -> None:
    before = yard.main()
    done = commit(yard.db, yard.project)
    assert (done.story, sorted(done.files)) == ("RECORDS-1", FILES)
    assert commit(yard.db, yard.project).story == "RECORDS-1", "under way"
    agent = Watched(yard, {})
    yard.work(agent)
    assert (yard.item("RECORDS-1")["phase"], agent.given) == ("done", []), yard.questions()
    assert yard.git("rev-list", "--count", f"{before}..main") == "1"
    assert yard.git("diff", "--name-only", before, "main").split() == FILES
    assert statuses_in((yard.on_main(GRAPH) or "").encode()) == {"TASK-1": "DONE", "TASK-2": "DONE"}
    assert yard.git("status", "--porcelain") == "", "the folder is what main has"
    again = commit(yard.db, yard.project)
    assert (again.story, again.said) == ("", "Nothing to commit: main has the files as they are.")
    assert project(yard) == []


@pytest.mark.req("A1.2")
def test_a_persons_uncommitted_words_are_no_part_of_it_and_hold_it(yard: Yard) -> None:
    path = yard.repo / GRAPH
    path.write_bytes(path.read_bytes() + b" and mine")
    project(yard)
    commit(yard.db, yard.project)
    worker = yard.worker(Watched(yard, {}))
    worker.run(lambda: worker.stop() if yard.questions() and not worker.stopping() else None)
    assert yard.item("RECORDS-1")["phase"] == "merge" and GRAPH in yard.questions()[0]
    candidate = yard.item("RECORDS-1")["candidate"]
    committed = yard.project.mirror.read(candidate, GRAPH) or b""
    assert b"and mine" not in committed and path.read_bytes().endswith(b" and mine")
    assert statuses_in(committed) == statuses(yard)


@pytest.mark.req("A1.2")
@pytest.mark.parametrize(("step", "point"), [("records", "after"), ("verify", "after"), ("land", "after_effect")])
def test_a_kill_anywhere_lands_it_once(yard: Yard, step: str, point: str) -> None:
    before = yard.main()
    commit(yard.db, yard.project)

    class Killed(Exception):
        pass

    def die(name: str, at: str) -> None:
        if (name, at) == (step, point):
            raise Killed

    with pytest.raises(Killed):
        run_as_if_killed(yard, die, Watched(yard, {}))
    yard.query("UPDATE leases SET expires_at = now() - interval '1 h' RETURNING item_id")
    yard.query("SELECT rescue_item(item_id, fence, 12, 'test') FROM leases")
    yard.work(Watched(yard, {}))
    assert yard.item("RECORDS-1")["phase"] == "done", yard.questions()
    assert yard.git("rev-list", "--count", f"{before}..main") == "1"


@pytest.mark.req("A1.2")
def test_what_somebody_else_committed_meanwhile_is_nothing_to_commit(yard: Yard) -> None:
    commit(yard.db, yard.project)
    yard.git("add", "-A")
    yard.git("commit", "-qm", "by hand")
    head = yard.main()
    yard.work(Watched(yard, {}))
    assert (yard.item("RECORDS-1")["phase"], yard.main()) == ("done", head)


def test_without_tasks_there_is_nothing_to_commit(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url)
    with pytest.raises(UsageError, match="damascus tasks add"):
        commit(yard.db, yard.project)


@pytest.mark.req("A8.2")
def test_with_each_full_checkpoint_where_the_project_says_so(tmp_path: Path, database_url: str) -> None:
    names = [f"TASK-{n}" for n in range(1, 8)]
    more = '[tasks]\ncheckpoint_every = 3\ncommit = "checkpoint"\n'
    yard = task_yard(tmp_path, database_url, *names, more=more)
    for name in names[:6]:
        as_if_landed(yard, name)
        project(yard)
    queued = yard.query("SELECT story_id FROM work_items WHERE story_id LIKE 'RECORDS%' ORDER BY id")
    assert [row["story_id"] for row in queued] == ["RECORDS-C1", "RECORDS-C2"]
