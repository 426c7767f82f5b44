"""What a person can reconstruct from a worker's log: claims, agents, gates, settlements, landings; no agent's words."""

import json
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.ports import Candidate, Gate, GateName, GateResult
from damascus.engine.maintenance import Housekeeping
from damascus.system.log_files import log_file
from damascus.system.worker_log import WorkerLog
from tests.engine.shell_stories import FILES, Watched, bad, good, shell_story
from tests.waiting import eventually
from tests.yard import Yard


def log_of(yard: Yard) -> list[dict[str, Any]]:
    [path] = (yard.app.home / "logs").glob("*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    return Yard(tmp_path, database_url, files=FILES)


def test_the_life_of_a_story_is_in_the_log_of_its_worker(yard: Yard) -> None:
    yard.add(shell_story("one"))
    tries = [{**bad("one", "mumble-mumble"), "say": "words of an agent"}, good("one")]
    worker = yard.worker(Watched(yard, {"one": tries}), slots=1)
    worker.run(lambda: None)
    found = log_of(yard)
    assert {line["worker"] for line in found} == {worker.id}
    assert [found[0]["event"], found[-1]["event"]] == ["worker started", "worker ended"]
    about = [line for line in found if line.get("story") == "one"]
    told = [(line["event"], line.get("to") or line.get("phase"), line.get("verdict")) for line in about]
    assert told[0] == ("claimed", "build", None)
    assert ("settled", "build", "tests_failed") in told and ("settled", "done", None) in told
    assert [line["event"] for line in about].count("agent started") == 2
    assert [line["event"] for line in about].count("agent ended") == 2
    judged = [(line["gate"], line["verdict"]) for line in about if line["event"] == "gate judged"]
    assert ("tests", "tests_failed") in judged and ("tests", "passed") in judged and ("scope", "passed") in judged
    [landed] = [line for line in about if line["event"] == "landed"]
    assert landed["commit"] == yard.item("one")["merged_commit"]
    text = log_file(yard.app.home, worker.id).read_text()
    assert "mumble" not in text and "words of an agent" not in text


def test_a_bug_of_ours_is_named_with_its_file_and_without_its_words(yard: Yard) -> None:
    from dataclasses import replace

    class Bug(Gate):
        name = GateName.TESTS

        def check(self, candidate: Candidate) -> GateResult:
            raise ZeroDivisionError("what an agent wrote")

    yard.add(shell_story("one"))
    worker = yard.worker(Watched(yard, {"one": [good("one")]}))
    worker.tools = replace(worker.tools, gates_after=(Bug(),))
    worker.run(lambda: None)
    [line] = [line for line in log_of(yard) if line["event"] == "surprised"]
    assert (line["story"], line["step"], line["error"]) == ("one", "verify", "ZeroDivisionError")
    assert "ZeroDivisionError: what an agent wrote" in Path(line["details"]).read_text()
    assert "what an agent wrote" not in json.dumps(log_of(yard))


def test_a_failing_service_is_in_the_file_with_its_traceback(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from damascus.engine import maintenance

    def bug(*_: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(maintenance, "look_after", bug)
    kept = WorkerLog(yard.app.home, "me")
    housekeeping = Housekeeping([replace(yard.tools(), log=kept.log)], "me", yard.worker("true").pace.lease)
    housekeeping.start()
    try:
        eventually(lambda: "service failed" in kept.path.read_text(), what="the line")
    finally:
        housekeeping.stop()
        kept.close()
    line = json.loads(kept.path.read_text().splitlines()[0])
    assert (line["service"], line["failures"]) == ("place", 1)
    assert line["cause"] == "ZeroDivisionError: division by zero" and "in bug" in line["exception"]
