"""The worker contract's fourteen forbidden moves: each has a guard and a test, named in docs/VERIFICATION.md (W22)."""

import inspect
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.ids import Sha
from damascus.domain.ports import CiJob, CiRun, Forge, Job
from damascus.domain.verdict import Phase
from damascus.engine.agent_step import briefs
from damascus.engine.tools import nothing
from tests.engine.shell_stories import FILES, Watched, config, good, shell_story
from tests.rules.tree import document
from tests.rules.tree import test_names as names_of_tests
from tests.yard import Yard

MOVES = (
    "worker_exits_after_push_before_ci",
    "orchestrator_tracks_awaiting_ci",
    "done_without_ci_url",
    "assuming_radicle_synced",
    "parallel_dependent_workers",
    "upstream_worker_while_downstream_active",
    "downstream_worker_while_upstream_active",
    "querying_all_ci_runs",
    "caching_old_run_ids",
    "push_all_repos_at_once",
    "triggering_dependent_ci_before_dependency_green",
    "infinite_permission_retry_loop",
    "embedding_ci_context_at_spawn",
    "verbose_worker_prompt",
)


@pytest.mark.req("W22")
def test_every_forbidden_move_has_a_guard_and_a_test_that_is_there() -> None:
    rows = {}
    for line in document("docs/VERIFICATION.md").splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        if cells[0] in MOVES:
            rows[cells[0]] = cells[1:]
    assert sorted(set(MOVES) - set(rows)) == [], "moves without a row"
    assert [move for move, (guard, _) in rows.items() if not guard] == [], "moves without a guard"
    unproved = {}
    for move, (_, proof) in rows.items():
        named = re.findall(r"\btest_\w+", proof)
        if not named or not set(named) <= names_of_tests():
            unproved[move] = proof
    assert unproved == {}, "moves whose test is not there"


class SlowCi:
    """The forge, whose CI is not finished when it is asked for the first time."""

    def __init__(self, forge: Any) -> None:
        self.forge = forge
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.forge, name)

    def ci(self, sha: Sha, jobs: Mapping[str, Job]) -> CiRun:
        self.asked.append(sha)
        if len(self.asked) == 1:
            return CiRun(sha=sha, run_id="7", jobs=[CiJob(name="test", state="running")])
        found: CiRun = self.forge.ci(sha, jobs)
        return found


@pytest.mark.req("W22", "W5", "W16")
def test_a_worker_that_pushed_stays_with_its_ci(tmp_path: Path, database_url: str) -> None:
    """worker_exits_after_push_before_ci, orchestrator_tracks_awaiting_ci: the item waits in build, owned as before."""
    yard = Yard(tmp_path, database_url, files=FILES)
    yard.add(shell_story("one"))
    waiting: list[dict[str, Any]] = []

    def boundary(step: str, point: str) -> None:
        if (step, point) == ("settle", "after") and not waiting:
            waiting.extend(
                yard.query(
                    "SELECT i.phase, i.state, i.wait_kind, i.wait_key, w.milestone, w.worker_id,"
                    " (SELECT count(*) FROM active_scopes a WHERE a.item_id = i.id) AS spans,"
                    " (SELECT count(*) FROM leases) AS leases"
                    " FROM work_items i JOIN worker_records w ON w.item_id = i.id"
                )
            )
            yard.query("UPDATE work_items SET not_before = now() RETURNING id")

    worker = yard.worker(Watched(yard, {"one": [good("one")]}), boundary=boundary)
    forge = SlowCi(worker.tools.forge)
    worker.tools = replace(worker.tools, forge=forge)
    worker.run(nothing)

    [seen] = waiting
    assert (seen["phase"], seen["state"], seen["wait_kind"]) == ("build", "waiting", "ci")
    assert (seen["milestone"], seen["spans"], seen["leases"]) == ("PUSHED_TO_CI", 2, 0), "only the slot is free"
    item = yard.item("one")
    assert (item["phase"], item["attempts"], forge.asked) == ("done", 0, [item["merged_commit"]] * 2)
    assert seen["wait_key"] == item["merged_commit"], "CI is known by the full SHA"
    assert len(yard.events("one", "agent.started")) == len(yard.events("one", "build.pushed")) == 1
    assert not [phase for phase in Phase if "ci" in phase.value.split("_")]


@pytest.mark.req("W22", "W1")
def test_ci_is_asked_for_one_commit_only() -> None:
    """querying_all_ci_runs: a forge can be asked for one SHA's jobs and for nothing else about CI."""
    about_ci = [name for name in dir(Forge) if "ci" in name.split("_") or "runs" in name]
    assert about_ci == ["ci", "ci_log", "runs_ci"]
    assert list(inspect.signature(Forge.ci).parameters) == ["self", "sha", "jobs"]
    assert list(inspect.signature(Forge.ci_log).parameters) == ["self", "ci", "job"]


@pytest.mark.req("W22", "T5")
def test_an_agent_that_keeps_failing_is_ended_not_repeated(tmp_path: Path, database_url: str) -> None:
    """infinite_permission_retry_loop: the third equal failure blocks, whatever is left of the budget."""
    yard = Yard(tmp_path, database_url, files=FILES)
    yard.add(shell_story("one"), budget=50)
    yard.work(Watched(yard, {"one": [{"exit": 13, "say": "permission denied"}]}))
    item = yard.item("one")
    assert (item["phase"], item["attempts"], item["last_verdict"]) == ("blocked", 3, "agent_failed")
    assert len(yard.events("one", "agent.started")) == 3 and len(yard.questions()) == 1


@pytest.mark.req("W22")
def test_a_prompt_knows_nothing_of_ci_and_counts(tmp_path: Path, database_url: str) -> None:
    """embedding_ci_context_at_spawn: neither jobs nor addresses nor tokens; nor how often it may try."""
    jobs = '[ci.jobs]\ndeploy-preview = "true --endpoint ci.example.invalid"\n'
    yard = Yard(tmp_path, database_url, files=FILES, config=config(jobs))
    yard.add(shell_story("one"))
    agent = Watched(yard, {"one": [{}, good("one")]})
    yard.work(agent)
    assert yard.item("one")["phase"] == "done"
    for brief, prompt, _ in agent.given:
        seen = prompt + brief.model_dump_json()
        assert [
            word for word in ("deploy-preview", "ci.example.invalid", "DAMASCUS_DATABASE_URL") if word in seen
        ] == []
        assert not re.search(r"\b(CI|attempt \d|tries left|budget|pipeline)\b", prompt)


@pytest.mark.req("W22")
def test_our_own_words_in_a_prompt_are_few(tmp_path: Path, database_url: str) -> None:
    """verbose_worker_prompt: about 100 tokens of rules and 200 of task beside the spec itself."""
    yard = Yard(tmp_path, database_url, files=FILES)
    yard.add(shell_story("one"))
    agent = Watched(yard, {"one": [good("one")]})
    yard.work(agent)
    [(brief, prompt, _)] = agent.given
    ours = [part for part in briefs.parts(brief) if part.name in ("rules", "task")]
    assert brief.spec in prompt and all(part.text in prompt for part in ours)
    assert [(part.name, part.tokens <= limit) for part, limit in zip(ours, (100, 200), strict=True)] == [
        ("rules", True),
        ("task", True),
    ]
