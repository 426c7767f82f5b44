"""`why` answers for every phase and every wait: what, since when, who must act, what next (X3)."""

import subprocess
import sys

import pytest
from psycopg.types.json import Jsonb

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.outcome import NeedsPerson
from damascus.domain.policy import RETRY_OPTIONS
from damascus.domain.verdict import Verdict
from damascus.system.hostid import WorkerLock, new_worker_id
from tests.cli import states
from tests.cli.conftest import Cli
from tests.yard import Yard, story

pytestmark = pytest.mark.req("X3")

NOBODY = "Nobody needs to act."


def why(cli: Cli, name: str) -> str:
    ran = cli("why", name)
    assert ran.code == 0, ran.err
    assert f"damascus show {name}" in ran.out
    told = cli("why", name, "--json").json
    assert told["story_id"] == name and told["item"]["story_id"] == name
    return " ".join(ran.out.split())


def two_that_want_the_same_file(yard: Yard) -> None:
    yard.add(story("S-1", scope=["src/io/"]))
    yard.add(story("S-2", scope=["src/io/csv.py"]))


def test_ready_and_no_worker_runs(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"), story("S-2"))
    told = why(cli, "S-2")
    assert "S-2 has been ready in phase build since" in told and "has not been claimed" in told
    assert "1 story is ahead of it." in told
    assert "No worker runs. You must start one: damascus run" in told


def test_ready_and_all_slots_are_busy(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"), story("S-2"), story("S-3"))
    states.claim(yard, 2)
    assert f"All 2 slots are busy. {NOBODY} It is taken when one is free." in why(cli, "S-3")


def test_ready_and_a_slot_is_free(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"), story("S-2"))
    states.claim(yard, 1)
    assert f"{NOBODY} A slot is free: it is taken within seconds." in why(cli, "S-2")


def test_ready_after_a_try_that_failed(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    item = states.claim(yard)[0]
    states.rejected(yard, item, Verdict.TESTS_FAILED, VerdictFeedback(message="1 test is red"))
    told = why(cli, "S-1")
    assert "may go on and has not been claimed again" in told
    assert "Its last try (1 of 5) came to tests_failed: 1 test is red." in told


def test_ready_after_a_rescue(yard: Yard, cli: Cli) -> None:
    from damascus.store.leases import Lease, rescue

    yard.add(story("S-1"))
    item = states.claim(yard)[0]
    rescue(yard.db, Lease(item.id, item.fence, states.WORKER, True), "it was killed")
    assert "It was taken from a worker that is gone at" in why(cli, "S-1")


def test_at_work(yard: Yard, cli: Cli) -> None:
    from damascus.store.journal import write_intent
    from damascus.store.settle import write_record

    yard.add(story("S-1"))
    item = states.claim(yard)[0]
    yard.db.run(lambda c: write_intent(c, item, "implement", "", {}))
    yard.db.run(lambda c: write_record(c, item.id, {"step": "implement", "line": "WORKING: Story S-1"}))
    told = why(cli, "S-1")
    assert "S-1 is in phase build, in step implement since" in told
    assert "process 4242 on elsewhere has had it since" in told
    assert "Its worker reports: WORKING: Story S-1." in told
    assert f"{NOBODY} If the worker dies, another takes over after" in told


def test_its_lease_ran_out(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    states.claim(yard, seconds=-90)
    told = why(cli, "S-1")
    assert "Its lease ran out" in told and NOBODY in told
    assert "It is renewed, or another worker takes it over." in told


def test_its_worker_is_gone_but_the_lease_still_holds(yard: Yard, cli: Cli) -> None:
    """A worker of this host that died: its lock is free, so that nobody has to wait for the lease."""
    yard.add(story("S-1"))
    code = (
        "import sys; from pathlib import Path; from damascus.system.hostid import WorkerLock, new_worker_id;"
        "name = new_worker_id(); WorkerLock.hold(Path(sys.argv[1]), name); print(name)"
    )
    folder = yard.folder / "home" / "workers"
    gone = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    states.claim(yard, worker=gone.stdout.strip())
    told = why(cli, "S-1")
    assert f"That worker is gone. {NOBODY} Any running worker takes it over at once, and no try is lost." in told
    assert "no worker runs" in cli("status").out


def test_a_living_worker_of_this_host_counts(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    lock = WorkerLock.hold(yard.folder / "home" / "workers", new_worker_id())
    states.claim(yard, worker=new_worker_id())
    assert "1 of 2 slots busy" in cli("status").out
    lock.release()


def test_waits_for_the_files_of_another(yard: Yard, cli: Cli) -> None:
    two_that_want_the_same_file(yard)
    first = states.claim(yard, 2)[0]
    states.waits(yard, first, "ci", states.SHA, 8)
    told = why(cli, "S-2")
    assert "S-2 has not been claimed: it wants src/io/csv.py, which S-1 holds until it is on main." in told
    assert "S-1: CI of 91ab33f" in told
    assert f"{NOBODY} It is woken when the files are free." in told
    waiting = cli("why", "S-2", "--json").json["item"]["waiting_for"]
    assert waiting == {"kind": "scope", "key": "S-1", "who": "S-1", "wake_at": None}


def test_waits_behind_another_for_the_same_files(yard: Yard, cli: Cli) -> None:
    two_that_want_the_same_file(yard)
    yard.add(story("S-3", scope=["src/io/csv.py"]))
    states.claim(yard, 3)
    assert yard.item("S-3")["wait_kind"] == "behind"
    told = why(cli, "S-3")
    assert "which S-1 holds" in told
    assert "Another story that wants the same files is ahead of it." in told


def test_waits_for_files_of_a_story_that_is_not_there_any_more(yard: Yard, cli: Cli) -> None:
    two_that_want_the_same_file(yard)
    states.claim(yard, 2)
    yard.query("UPDATE work_items SET wait_kind = 'behind', wait_key = 'x' WHERE story_id = 'S-2' RETURNING id")
    yard.query("DELETE FROM active_scopes RETURNING item_id")
    assert "stories ahead of it want the same files" in why(cli, "S-2")


def with_dependency(yard: Yard) -> None:
    yard.add(story("S-1"), story("S-2", depends_on=["S-1"]))


def test_waits_for_a_dependency(yard: Yard, cli: Cli) -> None:
    with_dependency(yard)
    states.claim(yard, 2)
    told = why(cli, "S-2")
    assert "S-2 has not been claimed: it depends on S-1, which is not on main yet." in told
    assert "S-1 is at its beginning, with process 4242 on elsewhere." in told
    assert f"{NOBODY} It is woken when S-1 is on main." in told


def test_waits_for_a_dependency_that_is_blocked(yard: Yard, cli: Cli) -> None:
    with_dependency(yard)
    number = states.asks(yard, states.claim(yard, 2)[0], "Which colour?", "red", "blue")
    told = why(cli, "S-2")
    assert f"S-1 is blocked: question {number}: Which colour?" in told
    assert f"You must act on S-1: damascus answer {number}" in told
    assert NOBODY not in told


def chain_of(yard: Yard, count: int) -> None:
    """S-1, and each further one depends on the one before it; workers have seen them all."""
    yard.add(story("S-1"), *(story(f"S-{n}", depends_on=[f"S-{n - 1}"]) for n in range(2, count + 1)))


@pytest.mark.parametrize("deep", [2, 3, 9])
@pytest.mark.parametrize("parked", [False, True])
def test_who_waits_for_a_blocked_storys_dependent_is_told_who_must_act(
    deep: int, parked: bool, yard: Yard, cli: Cli
) -> None:
    chain_of(yard, deep + 1)
    [first] = states.claim(yard, deep if parked else 1)
    question = states.asks(yard, first, "Which colour?", "red", "blue")
    told = why(cli, f"S-{deep + 1}")
    assert f"it depends on S-{deep}, which is not on main yet" in told
    assert f"S-1 is blocked: question {question}: Which colour?" in told
    assert f"You must act on S-1: damascus answer {question} …" in told
    assert NOBODY not in told
    assert ("4 stories wait for one another between these." in told) is (deep == 9)


def test_the_end_of_a_chain_that_moves_needs_nobody(yard: Yard, cli: Cli) -> None:
    chain_of(yard, 3)
    states.claim(yard, 3)
    told = why(cli, "S-3")
    assert "S-2: waits for S-1 to land" in told and "S-1 is at its beginning" in told
    assert f"{NOBODY} It is woken when S-2 is on main." in told


def test_a_circle_ends(yard: Yard, cli: Cli) -> None:
    """`add` refuses one; a database that has one all the same is still told of."""
    yard.add(story("S-1"), story("S-2", depends_on=["S-1"]))
    one, two = (yard.item(name)["id"] for name in ("S-1", "S-2"))
    yard.query("UPDATE work_items SET depends_on = ARRAY[%s::bigint] WHERE id = %s RETURNING id", two, one)
    assert "S-1 has not been claimed: it depends on S-2" in why(cli, "S-1")


def test_the_chain_names_what_a_person_must_do(yard: Yard, cli: Cli) -> None:
    chain_of(yard, 3)
    [first] = states.claim(yard, 3)
    states.waits(yard, first, "dirty", "calc.py", 8)
    assert "You must commit or stash calc.py; then S-1 lands by itself." in why(cli, "S-3")


def test_waits_for_a_dependency_that_was_cancelled(yard: Yard, cli: Cli) -> None:
    with_dependency(yard)
    states.claim(yard, 2)
    assert cli("cancel", "S-1").code == 0
    told = why(cli, "S-2")
    assert "S-1 has been cancelled since" in told
    assert "You must act: add S-1 again" in told
    assert "waits for S-1, which is cancelled" in cli("status").out


def test_waits_for_its_turn_to_land(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"), story("S-2"))
    first, second = states.claim(yard, 2)
    target = f"{yard.row.repo_id} main"
    entry = {"item": first.id, "base": "a", "commit": "b", "state": "testing", "most": 1}
    yard.db.one("queue_put", repo=yard.row.repo_id, target="main", **entry)
    states.waits(yard, second, "landing", target)
    told = why(cli, "S-2")
    assert "S-2 is built and has waited since" in told and "S-1 is ahead of it in the queue." in told
    assert f"{NOBODY} It lands after S-1, by itself." in told
    assert "waits to land after S-1" in cli("status").out


def test_waits_for_a_hold(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    yard.query(
        "INSERT INTO repo_holds (repo_id, reason) VALUES (%s, 'a key was pushed') RETURNING id", yard.row.repo_id
    )
    assert states.claim(yard) == []
    told = why(cli, "S-1")
    assert "its repository has been held since" in told and "a key was pushed" in told
    assert "You must fix that" in told
    assert cli("why", "S-1", "--json").json["item"]["waiting_for"]["who"] == "you"


def test_waits_out_an_outage(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    states.outage(yard, states.claim(yard)[0], "gateway said 503")
    told = why(cli, "S-1")
    assert "S-1 met trouble outside it, 1 time since" in told and "gateway said 503" in told
    assert f"{NOBODY} No try is counted. Tried again at" in told
    assert "gateway said 503 (not counted)" in cli("status").out
    waiting = cli("why", "S-1", "--json").json["item"]["waiting_for"]
    assert waiting["kind"] == "backoff" and waiting["who"] is None and waiting["wake_at"].endswith("Z")


def test_behind_a_story_that_waits_for_an_agent_the_sentence_ends_once(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"), story("S-2", depends_on=["S-1"]))
    states.waits(yard, states.claim(yard)[0], "agent", "my-agent is not there. Correct it.", 10)
    told = why(cli, "S-2")
    assert "my-agent is not there. Correct it, since" in told and ".," not in told


def test_waits_for_a_dirty_path(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    states.waits(yard, states.claim(yard)[0], "dirty", "src/io/csv.py", 10)
    told = why(cli, "S-1")
    assert "S-1 is proved and has waited since" in told and "src/io/csv.py has changes of yours" in told
    assert "You must commit or stash that. Looked at again at" in told


def test_waits_for_ci(yard: Yard, cli: Cli) -> None:
    from damascus.store.settle import write_record

    yard.add(story("S-1"))
    item = states.claim(yard)[0]
    yard.query("UPDATE work_items SET pr_url = 'local://repo/pulls/44' WHERE id = %s RETURNING id", item.id)
    yard.db.run(lambda c: write_record(c, item.id, {"progress": {"jobs_passed": 4, "total_jobs": 6}}))
    states.waits(yard, item, "ci", states.SHA, 10)
    told = why(cli, "S-1")
    assert "S-1 has waited for CI of 91ab33f on PR 44 since" in told and "(4 of 6 jobs green)" in told
    assert f"{NOBODY} Looked at again at" in told
    assert "CI of 91ab33f, 4 of 6 green, PR 44" in cli("status").out


def test_a_wait_that_has_no_words_yet_is_still_told(yard: Yard, cli: Cli) -> None:
    """Of a newer release, which has changed the database first."""
    yard.db.run(lambda c: c.execute(b"ALTER TABLE work_items DROP CONSTRAINT work_items_wait_kind_check"))
    yard.add(story("S-1"))
    states.waits(yard, states.claim(yard)[0], "moon", "full", 10)
    assert "S-1 waits for moon full." in why(cli, "S-1")


def test_a_wait_that_nobody_looks_at_says_so(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    states.outage(yard, states.claim(yard)[0], "gateway said 503")
    yard.db.do("end_worker", id=states.WORKER)
    assert "No worker runs, so nothing moves until you start one: damascus run" in why(cli, "S-1")


def test_blocked(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    number = states.asks(yard, states.claim(yard)[0], "Which colour?", "red", "blue")
    told = why(cli, "S-1")
    assert "S-1 has been blocked since" in told
    assert f"Question {number}: Which colour? [1] red [2] blue" in told
    assert f"You must answer: damascus answer {number} 1" in told
    assert "Then it goes on in phase build with a new budget" in told


@pytest.mark.parametrize(
    ("verdict", "options"),
    [
        (Verdict.REQUIREMENT_UNTESTED, RETRY_OPTIONS),
        (Verdict.SPEC_WRONG, ("edit the spec and add it again", "cancel the story")),
    ],
)
def test_a_trouble_of_the_spec_is_not_answered_by_another_try(
    verdict: Verdict, options: tuple[str, ...], yard: Yard, cli: Cli
) -> None:
    yard.add(story("S-1"), story("S-2", depends_on=["S-1"]))
    states.came_to(yard, states.claim(yard)[0], NeedsPerson(verdict, "Why?", options, VerdictFeedback()))
    assert "its spec" in why(cli, "S-1") and "damascus add specs/S-1.md" in why(cli, "S-1")
    assert ("damascus answer 1 1" in why(cli, "S-1")) is (options == RETRY_OPTIONS)
    assert cli("inbox").out.splitlines()[-1] == "Next: damascus add specs/S-1.md"
    assert "You must act on S-1: damascus add specs/S-1.md" in why(cli, "S-2")


def test_after_the_answer_edit_the_spec_it_says_to_add_it(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    number = states.asks(yard, states.claim(yard)[0], "Red again.", *RETRY_OPTIONS)
    assert f"damascus answer {number} 1" in why(cli, "S-1")
    assert cli("answer", str(number), "2").code == 0
    told = why(cli, "S-1")
    assert "You have answered: edit the spec and add it again." in told
    assert "correct its spec, then add it again: damascus add specs/S-1.md" in told
    assert f"damascus answer {number} 1" not in told
    assert "needs you: damascus add specs/S-1.md" in cli("status").out
    assert "open: damascus add specs/S-1.md" in cli("show", "S-1").out
    assert cli("inbox").out.splitlines()[-1] == "Next: damascus add specs/S-1.md"


def test_done(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    states.landed(yard, "S-1")
    told = why(cli, "S-1")
    assert f"S-1 is done: on main as {yard.main()[:7]} (PR 44) since" in told
    assert "Proof: it is reachable from main." in told


@pytest.mark.req("X4")
@pytest.mark.parametrize(
    ("kind", "words"), [("story.not_on_main", "no longer on main"), ("story.reverted", "reverted")]
)
def test_done_but_not_on_main_is_an_alarm(kind: str, words: str, yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    states.landed(yard, "S-1")
    yard.query(
        "INSERT INTO events_outbox (project_id, item_id, kind) VALUES (%s, %s, %s) RETURNING id",
        yard.row.id, yard.item("S-1")["id"], kind,
    )  # fmt: skip
    told = why(cli, "S-1")
    assert "Alarm: it" in told and words in told and "You must look at main." in told
    assert NOBODY not in told


def test_cancelled(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    cli("cancel", "S-1")
    told = why(cli, "S-1")
    assert "S-1 was cancelled by a person at" in told and "damascus rescue list S-1" in told


def test_stale(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    change = Jsonb({"why": "prices have changed", "by": "Ada"})
    yard.query("UPDATE work_items SET phase = 'stale', state = 'resting', change = %s RETURNING id", change)
    assert "You must decide, it is never built anew without your word: damascus approve S-1" in why(cli, "S-1")


@pytest.mark.req("A15.2")
def test_a_task_is_told_which_file_it_waits_for_and_who_has_it(yard: Yard, cli: Cli) -> None:
    """Of all that it wants, the one file that both want is named."""
    task = {"graph": "TASK-GRAPH.md", "task_type": "feature"}
    yard.add(story("TASK-1", scope=["src/a.py", "src/shared.py"], **task))
    yard.add(story("TASK-2", scope=["src/b.py", "src/c.py", "src/shared.py", "tests/test_b.py"], **task))
    states.claim(yard, 2)
    told = why(cli, "TASK-2")
    assert "TASK-2 has not been claimed: it wants src/shared.py, which TASK-1 holds until it is on main." in told
    assert "waits for the files of TASK-1 (src/shared.py)" in cli("status").out
