"""Money (X5): reserved before an agent is sent, settled with what it used, refused when a budget is spent."""

import multiprocessing
import threading
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.errors import TransientError
from damascus.domain.ports import AgentRun, Brief, Usage, Watch
from damascus.engine.tools import nothing
from tests.engine.metered import Metered, killed_worker, works
from tests.engine.shell_stories import FILES, config, shell_story
from tests.waiting import eventually
from tests.yard import Yard

PRICES = "[models.prices]\nminimax-m3 = [1.0, 10.0, 0.1]\n"


def make(folder: Path, url: str, more: str = "") -> Yard:
    return Yard(folder, url, files=FILES, config=config(PRICES + more))


def spent(yard: Yard) -> list[dict[str, Any]]:
    return yard.query(
        "SELECT s.state, s.tokens, s.microdollars, s.reserved_tokens, s.reserved_microdollars, s.model, s.role, s.turns"
        " FROM spending s ORDER BY s.at, s.fence"
    )


def total(yard: Yard) -> int:
    return sum(row["tokens"] for row in spent(yard))


def no_waiting(yard: Yard) -> Any:
    def boundary(step: str, point: str) -> None:
        if (step, point) == ("settle", "after"):
            yard.query("UPDATE work_items SET not_before = now() WHERE not_before IS NOT NULL RETURNING id")

    return boundary


@pytest.mark.req("X5")
def test_a_step_is_reserved_before_its_agent_and_settled_with_what_it_used(tmp_path: Path, database_url: str) -> None:
    yard = make(tmp_path, database_url, "[budget]\nstep_tokens = 500\nstep_usd = 0.5\n")
    yard.add(shell_story("one"))
    before: list[dict[str, Any]] = []

    def act(brief: Brief, workspace: Path, watch: Watch) -> AgentRun:
        before.extend(spent(yard))
        return works(Usage(input_tokens=100, output_tokens=20, cached_tokens=30, turns=2))(brief, workspace, watch)

    yard.work(Metered(act))
    assert yard.item("one")["phase"] == "done"
    [reserved], [row] = before, spent(yard)
    assert (reserved["state"], reserved["reserved_tokens"], reserved["reserved_microdollars"]) == (
        "reserved",
        500,
        500_000,
    )
    assert (reserved["tokens"], reserved["model"], reserved["role"]) == (0, "minimax-m3", "code-implementer")
    assert (row["state"], row["tokens"], row["turns"], row["microdollars"]) == ("settled", 150, 2, 100 + 200 + 3)
    [event] = yard.events("one", "agent.finished")
    assert (event["body"]["tokens"], event["body"]["turns"]) == (150, 2)


@pytest.mark.req("X5")
def test_a_spent_budget_of_the_story_refuses_before_the_agent_is_sent(tmp_path: Path, database_url: str) -> None:
    yard = make(tmp_path, database_url, "[budget]\nstep_tokens = 80\nstory_tokens = 100\n")
    yard.add(shell_story("one"))
    agent = Metered(works(Usage(input_tokens=60), well=False, told=False))
    yard.work(agent)
    item = yard.item("one")
    assert (item["phase"], item["attempts"], len(agent.given)) == ("blocked", 2, 2), "the third was never sent"
    assert [row["reserved_tokens"] for row in spent(yard)] == [80, 40], "the second got what was left"
    [issue] = yard.query("SELECT question, options FROM human_issues WHERE closed_at IS NULL")
    assert issue["question"].startswith("one has spent its budget of tokens: 120 tokens of 100 tokens")
    assert issue["options"] == ["raise the story's budget of tokens to the number you add", "cancel the story"]
    assert len(yard.events("one", "blocked.budget")) == 1 and len(yard.events("one", "agent.started")) == 2


@pytest.mark.req("X5")
def test_the_budget_of_a_step_ends_the_agent_and_is_an_attempt(tmp_path: Path, database_url: str) -> None:
    yard = make(tmp_path, database_url, "[budget]\nstep_usd = 0.001\n")
    yard.add(shell_story("one"))
    yard.work(Metered(works(Usage(output_tokens=100)), works(Usage(output_tokens=10))))
    item = yard.item("one")
    assert (item["phase"], item["attempts"]) == ("done", 1)
    [event] = yard.events("one", "attempt.rejected")
    assert event["body"]["verdict"] == "agent_failed" and "used the money" in event["body"]["message"]


@pytest.mark.req("X5")
def test_what_is_left_of_the_story_ends_the_agent_with_a_question(tmp_path: Path, database_url: str) -> None:
    yard = make(tmp_path, database_url, "[budget]\nstory_tokens = 100\n")
    yard.add(shell_story("one"))
    agent = Metered(works(Usage(input_tokens=101)))
    yard.work(agent)
    item = yard.item("one")
    assert (item["phase"], item["attempts"], len(agent.given), total(yard)) == ("blocked", 0, 1, 101)
    assert "one has spent its budget of tokens" in yard.questions()[0]


@pytest.mark.req("X5")
def test_dollars_without_a_price_are_not_taken_for_nothing(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES, config=config("[budget]\nstory_usd = 5.0\n"))
    yard.add(shell_story("one"))
    yard.work(Metered(works(Usage(input_tokens=1))))
    assert yard.item("one")["phase"] == "blocked"
    assert "there is no price for model minimax-m3" in yard.questions()[0]
    assert [(row["tokens"], row["microdollars"]) for row in spent(yard)] == [(1, None)]


@pytest.mark.req("X5")
def test_a_story_waits_while_others_have_reserved_the_projects_budget(tmp_path: Path, database_url: str) -> None:
    yard = make(tmp_path, database_url, "[budget]\nstep_tokens = 100\nproject_tokens = 150\n")
    yard.add(shell_story("one"), shell_story("two"))
    waits: list[dict[str, Any]] = []
    first = threading.Lock()

    def act(brief: Brief, workspace: Path, watch: Watch) -> AgentRun:
        """The first one runs until the other waits for what it has reserved."""
        if first.acquire(blocking=False):
            found = eventually(lambda: yard.query("SELECT * FROM work_items WHERE wait_kind = 'budget'"), 30)
            waits.extend(found)
        return works(Usage(input_tokens=10))(brief, workspace, watch)

    agent = Metered(act)
    yard.work(agent, boundary=no_waiting(yard))
    assert [yard.item(name)["phase"] for name in ("one", "two")] == ["done", "done"]
    assert len(waits) == 1 and waits[0]["attempts"] == 0 and waits[0]["not_before"] is not None
    assert yard.query("SELECT * FROM human_issues") == [] and total(yard) == 20 and len(agent.given) == 2


@pytest.mark.req("X5")
@pytest.mark.parametrize("raised", [False, True], ids=["the agent says so", "its adapter raises"])
def test_an_outage_is_no_attempt_and_its_tokens_are_counted(tmp_path: Path, database_url: str, raised: bool) -> None:
    yard = make(tmp_path, database_url)
    yard.add(shell_story("one"))

    settled: list[tuple[str, int]] = []
    wake = no_waiting(yard)

    def boundary(step: str, point: str) -> None:
        if (step, point) == ("settle", "after") and not settled:
            settled.extend((row["state"], row["tokens"]) for row in spent(yard))
        wake(step, point)

    def away(brief: Brief, workspace: Path, watch: Watch) -> AgentRun:
        watch.overseer.saw("usage", usage=Usage(input_tokens=40))
        if raised:
            raise TransientError("the machine has no room for another process")
        return AgentRun(exit_code=1, unavailable="overloaded")

    yard.work(Metered(away, works(Usage(input_tokens=5))), boundary=boundary)
    assert (yard.item("one")["phase"], yard.item("one")["attempts"]) == ("done", 0)
    assert settled == [("settled", 40)], "before anybody claims it again"
    assert [(row["state"], row["tokens"]) for row in spent(yard)] == [("settled", 40), ("settled", 5)]


@pytest.mark.req("X5")
def test_the_refiners_step_is_paid_from_the_same_purse(tmp_path: Path, database_url: str) -> None:
    more = PRICES + "[budget]\nstory_tokens = 100\n"
    text = config(more).replace("[agent]\n", '[agent]\nrefiner = true\nrefiner_approval = "auto"\n')
    yard = Yard(tmp_path, database_url, files=FILES, config=text)
    yard.add("---\nstory: one\ntitle: One\n---\nSomething.\n", rough=True)

    def refines(brief: Brief, workspace: Path, watch: Watch) -> AgentRun:
        whole = shell_story("one").replace("title: Story one", "title: One")
        whole = whole.replace("---\n## ", "---\nSomething.\n\n## ", 1)
        Path(brief.artifacts, "spec.md").write_text(whole)
        return AgentRun(exit_code=0, usage=Usage(input_tokens=120))

    agent = Metered(refines, works())
    yard.work(agent)
    assert (yard.item("one")["phase"], [brief.role for brief in agent.given]) == ("blocked", ["spec-refiner"])
    assert [(row["role"], row["state"], row["tokens"]) for row in spent(yard)] == [("spec-refiner", "settled", 120)]
    assert "120 tokens of 100 tokens" in yard.questions()[0]


@pytest.mark.req("X5")
def test_an_idle_worker_spends_nothing(tmp_path: Path, database_url: str) -> None:
    """A story that waits, one that is blocked, and a worker that looks at them again and again."""
    yard = make(tmp_path, database_url)
    yard.add(shell_story("one"), shell_story("two"))
    waits = "state = 'waiting', wait_kind = 'backoff', wait_key = 'x', not_before = now() + interval '1 h'"
    blocked = "state = 'resting', phase = 'blocked', resume_phase = 'build'"
    for name, state in (("one", waits), ("two", blocked)):
        yard.query(f"UPDATE work_items SET {state} WHERE story_id = %s RETURNING id", name)
    agent = Metered(works(Usage(input_tokens=1)))
    worker = yard.worker(agent, until_idle=False)
    looks = 0

    def tick() -> None:
        nonlocal looks
        looks += 1
        if looks == 20:
            worker.stop()

    worker.run(tick)
    assert looks >= 20 and agent.given == [] and spent(yard) == []


@pytest.mark.req("X5")
@pytest.mark.parametrize(
    ("point", "lost"), [("after_intent", 0), ("while it runs", 70), ("after_effect", 70), ("after_done", None)]
)
def test_a_worker_that_dies_between_reserve_and_settle_loses_and_doubles_nothing(
    tmp_path: Path, database_url: str, point: str, lost: int | None
) -> None:
    """What its agent used counts once; the agent that goes on is another dispatch, with its own count."""
    yard = make(tmp_path, database_url, "[budget]\nproject_tokens = 1000\nstep_tokens = 900\n")
    yard.add(shell_story("one"))
    context = multiprocessing.get_context("spawn")
    dying = context.Process(target=killed_worker, args=(tmp_path, database_url, ("implement", point), 70))
    dying.start()
    dying.join(60)
    assert dying.exitcode == -9
    yard.worker(Metered(works(Usage(input_tokens=5))), slots=1).run(nothing)
    assert yard.item("one")["phase"] == "done"
    assert [(row["state"], row["tokens"]) for row in spent(yard)] == (
        [("settled", 70)] if lost is None else [("settled", lost), ("settled", 5)]
    )
