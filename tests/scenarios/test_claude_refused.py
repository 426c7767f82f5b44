"""The real Claude Code before a gateway that refuses its key or its model: one question, no attempt, no budget."""

import itertools
from pathlib import Path

import pytest

from tests.model_server import Fault, ModelServer
from tests.scenarios.stories import builds, claude, claude_yard, transcript
from tests.yard import CONFIG, story

NAMES = ("S-1", "S-2", "S-3")


@pytest.mark.req("T1", "D5")
@pytest.mark.parametrize("status", [401, 403, 404])
@pytest.mark.parametrize("ping", ["true", "false"], ids=["pinged", "not pinged"])
def test_a_refusal_stops_the_queue_once(
    status: int, ping: str, tmp_path: Path, database_url: str, proof: Path
) -> None:  # fmt: skip
    with ModelServer(faults=itertools.repeat(Fault(status=status, message="not with this one"))) as model:
        yard = claude_yard(tmp_path, database_url, config=CONFIG.replace("ping = false", f"ping = {ping}"))
        yard.add(*(story(name) for name in NAMES))
        yard.work(claude(yard, model.url, proof), slots=1)

        [question] = yard.questions()
        for word in (str(status), model.url, "minimax-m3", "not with this one"):
            assert word in question
        assert [yard.item(name)["attempts"] for name in NAMES] == [0, 0, 0]
        assert [yard.item(name)["wait_kind"] for name in NAMES] == ["agent"] * 3
        sent = [name for name in NAMES if yard.events(name, "agent.started")]
        assert len(sent) == (0 if ping == "true" else 1), "no further agent is sent"
        assert str(status) in transcript(yard) and model.url in transcript(yard)
        assert yard.query("SELECT sum(tokens) AS n FROM spending")[0]["n"] in (None, 0)

        model.faults, model.script = iter(()), builds(yard)
        yard.query("UPDATE work_items SET phase = 'cancelled', state = 'resting', wait_kind = NULL, wait_key = NULL "
                   "WHERE story_id <> 'S-1' RETURNING id")  # fmt: skip
        yard.work(claude(yard, model.url, proof), slots=1)
        assert (yard.item("S-1")["phase"], yard.item("S-1")["attempts"]) == ("done", 0)
        assert yard.questions() == []
        yard.db.close()
