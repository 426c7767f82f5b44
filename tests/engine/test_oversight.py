"""Command over a running agent, with real processes: more time on progress, an end when stuck, denials, outages."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.config import Config
from damascus.domain.money import Granted
from damascus.domain.oversight import StepLimits
from damascus.domain.ports import AgentRun, Usage
from damascus.engine.agent_step.oversight import StepOverseer, Traces, traces
from tests.engine.metered import Metered, denied, says, trouble, works
from tests.engine.shell_stories import FILES, config, shell_story
from tests.engine.test_spending import no_waiting
from tests.yard import HONEST, Yard, story


def make(folder: Path, url: str, time: str = "", timeout: float = 60.0) -> Yard:
    text = config(f"[time]\n{time}\n").replace("timeout_seconds = 60.0", f"timeout_seconds = {timeout}", 1)
    return Yard(folder, url, files=FILES, config=text)


def rejections(yard: Yard, name: str) -> list[tuple[str, str]]:
    return [(row["body"]["verdict"], row["body"]["message"]) for row in yard.events(name, "attempt.rejected")]


WRITES_FOR_3_SECONDS = """
for n in range(15):
    pathlib.Path("s1.py").write_text(f"n = {n}\\n")
    time.sleep(0.2)
"""
TALKS_FOR_EVER = """
while brief["attempt"] == 1:
    print("I am nearly done", flush=True)
    time.sleep(0.1)
"""


# ── real command agents ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W17")
def test_an_agent_that_writes_gets_more_time_and_lands(tmp_path: Path, database_url: str) -> None:
    limits = "extend_seconds = 1.0\nprogress_seconds = 1.0\nmost_seconds = 60.0"
    yard = make(tmp_path, database_url, limits, timeout=1.0)
    yard.add(story("S-1"))
    yard.work(yard.agent(WRITES_FOR_3_SECONDS + HONEST))
    item = yard.item("S-1")
    assert (item["phase"], item["attempts"]) == ("done", 0), rejections(yard, "S-1")
    extended = yard.events("S-1", "agent.extended")
    assert len(extended) >= 2 and len(yard.events("S-1", "agent.warned")) == 1
    assert "progress was seen" in extended[0]["body"]["message"]


@pytest.mark.req("W17")
def test_words_are_no_progress_and_a_stuck_agent_is_ended_at_its_limit(tmp_path: Path, database_url: str) -> None:
    yard = make(tmp_path, database_url, "progress_seconds = 0.5", timeout=1.5)
    yard.add(story("S-1"))
    yard.work(yard.agent(TALKS_FOR_EVER + HONEST))
    assert (yard.item("S-1")["phase"], yard.events("S-1", "agent.extended")) == ("done", [])
    [(verdict, message)] = rejections(yard, "S-1")
    assert verdict == "agent_failed" and message.startswith("the agent was ended after") and "time was up" in message
    [warned] = yard.events("S-1", "agent.warned")
    assert warned["body"]["message"].startswith("1 s are over; its limit is 2 s")
    assert yard.events("S-1", "agent.finished")[0]["body"]["ended"] == "time"


@pytest.mark.req("W18")
@pytest.mark.parametrize(
    ("limit", "body", "word"),
    [
        ("idle_seconds = 1.0", "time.sleep(60)", "no sign of life"),
        (
            "first_write_seconds = 1.0",
            "[time.sleep(print('thinking', flush=True) or 0.1) for _ in range(600)]",
            "nothing",
        ),
    ],
    ids=["idle", "no_write"],
)
def test_a_stuck_agent_is_a_failed_attempt_and_the_next_one_goes_on(
    tmp_path: Path, database_url: str, limit: str, body: str, word: str
) -> None:
    yard = make(tmp_path, database_url, limit)
    yard.add(story("S-1"))
    yard.work(yard.agent(f"if brief['attempt'] == 1:\n    {body}\n" + HONEST))
    assert (yard.item("S-1")["phase"], yard.item("S-1")["attempts"]) == ("done", 1)
    [(verdict, message)] = rejections(yard, "S-1")
    assert verdict == "agent_failed" and word in message


@pytest.mark.req("W17", "W14")
def test_a_warning_reaches_the_worker_record_while_the_agent_runs(tmp_path: Path, database_url: str) -> None:
    yard = make(tmp_path, database_url, timeout=2.0)
    yard.add(story("S-1"))
    seen: list[str] = []

    def boundary(step: str, point: str) -> None:
        if (step, point) == ("implement", "after_effect"):
            seen.extend(row["substate"] for row in yard.query("SELECT substate FROM worker_records"))

    yard.work(yard.agent("while brief['attempt'] == 1:\n    time.sleep(0.1)\n" + HONEST), boundary=boundary)
    assert seen[0] == "running_out_of_time"


# ── denials (W8) ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Iterator[Yard]:
    made = make(tmp_path, database_url)
    made.add(shell_story("one"))
    yield made
    made.db.close()


@pytest.mark.req("W8", "W22")
def test_the_same_tool_denied_twice_blocks_with_three_recoveries(yard: Yard) -> None:
    agent = Metered(trouble(denied(), denied(error="still\nnot granted"), files={"one.sh": "half done\n"}))
    yard.work(agent)
    item = yard.item("one")
    assert (item["phase"], item["attempts"], item["last_verdict"], len(agent.given)) == ("blocked", 0, None, 1)
    [issue] = yard.query("SELECT question, options FROM human_issues WHERE closed_at IS NULL")
    assert issue["question"] == "BLOCKED_PERMISSION: Bash - still not granted. It tried: rm -rf build"
    assert issue["options"] == ["fix the permission", "respawn with other instructions", "hand to a person"]
    assert len(yard.events("one", "blocked.permission")) == 1 and rejections(yard, "one") == []
    mirror = yard.project.mirror
    saved = mirror.git.out("for-each-ref", "--format=%(objectname)", "refs/damascus/snapshots/").split()
    assert saved and "half done" in mirror.git.out("show", f"{saved[-1]}:one.sh"), "its work was saved first"


@pytest.mark.req("W8")
def test_an_agent_that_gives_up_by_itself_after_two_denials_is_blocked_all_the_same(yard: Yard) -> None:
    """A run in which everything was denied may well end with exit code 0."""

    def act(brief: Any, workspace: Path, watch: Any) -> AgentRun:
        for sign, facts in (denied(), denied()):
            watch.overseer.saw(sign, **facts)
        return AgentRun(exit_code=0)

    yard.work(Metered(act))
    assert yard.item("one")["phase"] == "blocked" and yard.questions()[0].startswith("BLOCKED_PERMISSION: Bash")


@pytest.mark.req("W8", "W9")
def test_a_pipeline_that_did_not_answer_passes_nothing(yard: Yard) -> None:
    """Fail closed: perfect files and exit code 0, but nobody checked the writes."""

    def act(brief: Any, workspace: Path, watch: Any) -> AgentRun:
        done = works()(brief, workspace, watch)
        watch.overseer.saw("hook_failed")
        return done

    yard.work(Metered(act, works()))
    assert (yard.item("one")["phase"], yard.item("one")["attempts"]) == ("done", 1)
    [(verdict, message)] = rejections(yard, "one")
    assert verdict == "agent_failed" and "pipeline did not answer" in message


# ── the provider ──────────────────────────────────────────────────────────────────────────────────────

LIMITED = ("api_error", {"status": 429, "resets_in": 7200.0})
AWAY = ("api_error", {"status": 503, "resets_in": None})


@pytest.mark.req("T1", "T2", "X5")
@pytest.mark.parametrize(
    ("act", "wait"),
    [
        (says(AgentRun(exit_code=1, unavailable="429: slow down", resets_in=7200.0)), 7200),
        (trouble(LIMITED), 7200),
        (trouble(*[AWAY] * 4), 1),
        (says(AgentRun(exit_code=75)), 1),
    ],
    ids=["told by the adapter", "seen by the overseer", "away", "exit 75"],
)
def test_a_rate_limit_waits_until_it_ends_and_burns_no_attempt(yard: Yard, act: Any, wait: int) -> None:
    waits: list[dict[str, Any]] = []
    wake = no_waiting(yard)

    def boundary(step: str, point: str) -> None:
        if (step, point) == ("settle", "after"):
            waits.extend(
                yard.query("SELECT *, not_before - updated_at AS pause FROM work_items WHERE not_before > now()")
            )
        wake(step, point)

    agent = Metered(act, works())
    yard.work(agent, boundary=boundary)
    assert (yard.item("one")["phase"], yard.item("one")["attempts"], len(agent.given)) == ("done", 0, 2)
    [row] = waits
    assert (row["wait_kind"], row["attempts"]) == ("backoff", 0)
    assert abs(row["pause"].total_seconds() - wait) < 5 and "unavailable" in row["wait_key"]
    assert yard.query("SELECT * FROM human_issues") == []


@pytest.mark.req("T1")
def test_a_gateway_that_refuses_the_key_is_a_question_not_a_day_of_waiting(yard: Yard) -> None:
    refused = ("api_error", {"status": 401, "resets_in": None})
    yard.work(Metered(trouble(*[refused] * 4)))
    assert (yard.item("one")["wait_kind"], yard.item("one")["attempts"]) == ("agent", 0)
    assert "answers 401 for model minimax-m3" in yard.questions()[0]


@pytest.mark.req("T1")
def test_a_gateway_that_refuses_the_requests_of_one_story_is_that_storys_question(yard: Yard) -> None:
    refused = ("api_error", {"status": 413, "resets_in": None})
    yard.work(Metered(trouble(*[refused] * 4)))
    assert (yard.item("one")["phase"], yard.item("one")["attempts"]) == ("blocked", 0)
    assert "answers one with status 413" in yard.questions()[0]


# ── the overseer itself ───────────────────────────────────────────────────────────────────────────────


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


LIMITS = StepLimits.of(Config(), Granted(), Granted(), None)


@pytest.mark.req("W17")
def test_the_disk_is_looked_at_every_five_seconds_however_often_it_is_asked() -> None:
    clock, looks = Clock(), []

    def look() -> Traces:
        looks.append(clock.now)
        return Traces(len(looks), 1, 0)

    overseer = StepOverseer(LIMITS, look, clock)
    for _ in range(300):
        clock.now += 0.1
        assert overseer.end() == ""
    assert len(looks) == 1 + 5 and overseer.seen.first_write is not None


@pytest.mark.req("W8", "X5")
def test_signs_from_many_threads_are_all_counted() -> None:
    overseer = StepOverseer(LIMITS, lambda: Traces(0, 0, 0))

    def tell() -> None:
        for _ in range(500):
            overseer.saw("usage", usage=Usage(input_tokens=1))
            overseer.end()

    threads = [threading.Thread(target=tell) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert overseer.usage().input_tokens == 4000
    told = AgentRun(exit_code=0, usage=Usage(input_tokens=10, output_tokens=7))
    assert overseer.usage(told) == Usage(input_tokens=4000, output_tokens=7)


@pytest.mark.req("W17")
def test_what_an_agent_does_in_git_is_no_write_and_a_huge_workspace_costs_little(tmp_path: Path) -> None:
    workspace, log = tmp_path / "w", tmp_path / "log"
    (workspace / ".git").mkdir(parents=True)
    (workspace / "src").mkdir()
    before = traces(workspace, log)
    (workspace / ".git" / "index").write_text("x")
    (workspace / "loop").symlink_to(workspace)
    os.utime(workspace / "loop", ns=(1, 1), follow_symlinks=False)
    inside = traces(workspace, log)
    assert inside.newest == before.newest and inside.entries == before.entries + 1
    (workspace / "src" / "a.py").write_text("x")
    log.write_text("said\n")
    after = traces(workspace, log)
    assert after.newest > before.newest and after.said == 5
    for n in range(50):
        (workspace / f"f{n}").write_text("")
    assert traces(workspace, log, most=20).entries == 20
    assert traces(tmp_path / "gone", log).entries == 0
