"""Whole stories by the real Claude Code through the real LiteLLM, against a scripted model on loopback."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.agents.litellm_gateway import UPSTREAM_KEY
from tests.model_server import INPUT_TOKENS, OUTPUT_TOKENS, Fault, ModelServer, rate_limited
from tests.scenarios.one_gateway import OneGateway
from tests.scenarios.stories import (
    CODE,
    RIGHT,
    STORY,
    TEST,
    builds,
    claude,
    claude_yard,
    everywhere,
    logged,
    made,
    run_folder,
    transcript,
    writes,
)  # fmt: skip
from tests.yard import Yard, story

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SECRET = "AKIA" + "Q3EGRJ7XK2PLMN5T"
WITH_SECRET = f'KEY = "{SECRET}"\n\n\n{RIGHT}'
REPAIRED = f'import os\n\nKEY = os.environ.get("KEY", "")\n\n\n{RIGHT}'


@dataclass
class Scenario:
    """A yard with one story, and the model that its agent will ask through the gateway."""

    yard: Yard
    model: ModelServer
    gateway: OneGateway
    proof: Path

    def work(self, boundary: Callable[[str, str], None] | None = None) -> dict[str, Any]:
        self.yard.work(claude(self.yard, self.gateway.key, self.proof), boundary=boundary)
        return self.yard.item(STORY)


@pytest.fixture
def scenario(tmp_path: Path, database_url: str, proof: Path, gateway: OneGateway) -> Iterator[Scenario]:
    with gateway.model() as model:
        yard = claude_yard(tmp_path, database_url)
        yard.add(story(STORY))
        model.script = builds(yard)
        yield Scenario(yard, model, gateway, proof)
        yard.db.close()


@pytest.mark.req("D5", "A14", "X5", "W9")
def test_a_story_is_built_and_merged(scenario: Scenario) -> None:
    item, yard = scenario.work(), scenario.yard

    assert (item["phase"], item["attempts"], item["merged_commit"]) == ("done", 0, yard.main())
    assert yard.on_main(CODE) == RIGHT.strip()
    log = logged(yard)
    assert [(entry.tool, entry.path, entry.verdict, entry.approved) for entry in log] == [
        ("Write", TEST, "applied", "policy"), ("Write", CODE, "applied", "policy"),
    ]  # fmt: skip
    assert all(entry.compile and entry.compile.ok for entry in log)
    trailers = yard.git("log", "-1", "--format=%(trailers)", "main").splitlines()
    assert {"Story: S-1", "Damascus-Run: 1", "Damascus-Attempt: 1", "Damascus-Step: implement"} <= set(trailers)
    assert f"Damascus-Item: {item['uuid']}" in trailers
    assert yard.subjects() == ["feat: Story S-1", "start"]


@pytest.mark.req("D5", "X5", "W9")
def test_what_it_said_and_used_is_known_and_its_keys_are_not(scenario: Scenario) -> None:
    yard, model = scenario.yard, scenario.model
    scenario.work()

    [row] = yard.query("SELECT * FROM spending")
    assert (row["model"], row["state"], row["turns"]) == ("minimax-m3", "settled", len(scenario.model.script))
    assert (row["input_tokens"], row["output_tokens"]) == (4 * INPUT_TOKENS, 4 * OUTPUT_TOKENS)
    step = made(yard)
    assert (step["confinement"], step["exit_code"], step["claims"]["subtype"]) == ("bubblewrap", 0, "success")
    told = transcript(yard)
    assert "First the test." in told and "1 passed" in told and "= completed after 4 turns" in told
    assert [each.body["model"] for each in model.asked] == ["minimax-m3"] * 4
    assert {each.headers.get("authorization") for each in model.asked} == {f"Bearer {UPSTREAM_KEY}"}
    assert everywhere(yard, UPSTREAM_KEY) == everywhere(yard, scenario.gateway.key.token) == []


@pytest.mark.req("A10")
def test_a_secret_in_a_write_is_refused_and_repaired_on_the_next_turn(scenario: Scenario) -> None:
    """It stands in the model's own words, which the stream beside the transcript keeps, and nowhere else."""
    yard, model = scenario.yard, scenario.model
    build = builds(yard)
    model.script = [build[0], [writes(yard, CODE, WITH_SECRET)], [writes(yard, CODE, REPAIRED)], *build[2:]]
    item = scenario.work()

    assert (item["phase"], item["attempts"]) == ("done", 0)
    assert yard.on_main(CODE) == REPAIRED.strip()
    assert [(entry.path, entry.verdict, entry.check) for entry in logged(yard)] == [
        (TEST, "applied", ""), (CODE, "refused", "secret"), (CODE, "applied", ""),
    ]  # fmt: skip
    advice = json.dumps(model.asked[2].body["messages"][-1])
    assert f"secret found: {CODE}:1" in advice and "environment" in advice
    assert everywhere(yard, SECRET) == [str(run_folder(yard) / "transcript.txt.jsonl")]


# ── a gateway in trouble ──────────────────────────────────────────────────────────────────────────────


def waits_seen(yard: Yard, then: Callable[[], None]) -> tuple[list[dict[str, Any]], Callable[[str, str], None]]:
    """Each wait as it stands in the row; then `then`, and it is over."""
    waits: list[dict[str, Any]] = []

    def boundary(step: str, point: str) -> None:
        if (step, point) != ("settle", "after"):
            return
        found = yard.query("SELECT *, not_before - updated_at AS pause FROM work_items WHERE not_before > now()")
        if found:
            waits.extend(found)
            then()
            yard.query("UPDATE work_items SET not_before = now() RETURNING id")

    return waits, boundary


class Trouble:
    """A fault that lasts until it is over."""

    def __init__(self, fault: Fault) -> None:
        self._fault: Fault | None = fault

    def over(self) -> None:
        self._fault = None

    def __iter__(self) -> Iterator[Fault]:
        return self

    def __next__(self) -> Fault:
        if self._fault is None:
            raise StopIteration
        return self._fault


@pytest.mark.req("T2", "X5", "W18")
@pytest.mark.parametrize(
    ("fault", "pause", "words"),
    [
        (rate_limited(90), 90, "429"),
        (Fault(status=500), 1, "500"),
        (Fault("drop"), 1, ""),
    ],
    ids=["429", "500", "dropped"],
)
def test_trouble_of_the_gateway_is_a_wait_and_no_attempt(
    scenario: Scenario, fault: Fault, pause: int, words: str
) -> None:
    yard, trouble = scenario.yard, Trouble(fault)
    scenario.model.faults = trouble
    waits, boundary = waits_seen(yard, trouble.over)
    item = scenario.work(boundary)

    assert (item["phase"], item["attempts"]) == ("done", 0)
    [wait] = waits
    assert (wait["wait_kind"], wait["attempts"], wait["phase"]) == ("backoff", 0, "build")
    assert "the model's provider is unavailable" in wait["wait_key"] and words in wait["wait_key"]
    assert abs(wait["pause"].total_seconds() - pause) < 12
    assert len(yard.events(STORY, "phase.transient_retry")) == 1
    assert yard.query("SELECT * FROM human_issues") == [] and yard.events(STORY, "attempt.rejected") == []


@pytest.mark.req("T2", "D5")
def test_a_fault_in_between_is_overcome_by_the_agent_itself(scenario: Scenario) -> None:
    scenario.model.faults = iter([Fault(status=500)])
    item = scenario.work()

    assert (item["phase"], item["attempts"]) == ("done", 0)
    assert scenario.yard.events(STORY, "phase.transient_retry") == []
    assert len(scenario.model.asked) == len(scenario.model.script) + 1
