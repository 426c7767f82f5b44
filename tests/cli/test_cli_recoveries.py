"""Answers that are things that happen: the three recoveries of a denial, and budgets that are raised."""

from pathlib import Path
from typing import Any

import pytest

from damascus.domain.ports import Usage
from tests.cli.conftest import Cli
from tests.engine.elsewhere import GREEN, Elsewhere, Far, Look
from tests.engine.metered import Metered, denied, trouble, works
from tests.engine.shell_stories import shell_story
from tests.yard import Yard


def blocked_by_a_denial(yard: Yard) -> int:
    yard.add(shell_story("one"))
    yard.work(Metered(trouble(denied(), denied(), files={"one.sh": "half done\n"})))
    return number(yard)


def number(yard: Yard, story: str = "one") -> int:
    found = yard.query("SELECT id FROM human_issues WHERE closed_at IS NULL AND item_id = %s", yard.item(story)["id"])
    return int(found[0]["id"])


def answers(yard: Yard) -> list[dict[str, Any]]:
    return yard.query("SELECT answer, owner, closed_at IS NOT NULL AS closed FROM human_issues ORDER BY id")


def set_config(yard: Yard, more: str) -> None:
    yard.commit({"damascus.toml": (yard.repo / "damascus.toml").read_text() + more}, "config")


# ── CI that could not judge ───────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W1")
def test_when_ci_is_mended_the_story_goes_on_where_it_was(
    tmp_path: Path, database_url: str, command: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    yard = Far(tmp_path, database_url, Elsewhere(then=Look({"test": "waiting"})))
    for name, value in yard.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(yard.repo)
    yard.go()
    told = command("inbox").out
    assert "[1] look at CI again (no agent is sent" in told
    assert "[2] retry with a new budget (" in told and "[3] cancel the story (" in told
    why = " ".join(command("why", "one").out.split())
    assert "Then it goes on in phase build where it was, and no agent is sent; until then nothing happens." in why
    ran = command("answer", str(number(yard)), "1")
    assert (ran.code, ran.err) == (0, "")
    assert "one goes on in phase build where it was; no agent is sent, CI is looked at again." in ran.out
    yard.elsewhere.then = GREEN
    assert yard.go()["phase"] == "done" and len(yard.told("agent.started")) == 1
    assert answers(yard) == [{"answer": "look at CI again", "owner": "you", "closed": True}]
    assert [body["milestone"] for body in yard.told("story.resumed")] == ["PUSHED_TO_CI"]


# ── W8 ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W8")
def test_a_denial_is_in_the_inbox_with_its_three_recoveries(yard: Yard, cli: Cli) -> None:
    issue = blocked_by_a_denial(yard)
    told = cli("inbox").out
    assert "asks: BLOCKED_PERMISSION: Bash - not granted. It tried: rm -rf build" in told
    listed = " ".join(told.split())
    assert "[1] fix the permission (say it when you have allowed the tool: a new run)" in listed
    assert "[2] respawn with other instructions (" in listed and "[3] hand to a person (" in listed
    why = " ".join(cli("why", "one").out.split())
    assert f"You must answer: damascus answer {issue} 1" in why and "after 0 counted tries" in why


@pytest.mark.req("W8")
def test_fixing_the_permission_tries_again_as_it_is(yard: Yard, cli: Cli) -> None:
    issue = blocked_by_a_denial(yard)
    ran = cli("answer", str(issue), "1")
    assert (ran.code, ran.err) == (0, "") and "one goes on in phase build: fix the permission" in ran.out
    agent = Metered(works())
    yard.work(agent)
    assert yard.item("one")["phase"] == "done"
    assert agent.given[0].known_issues == [], "nothing is told to the agent"
    assert answers(yard) == [{"answer": "fix the permission", "owner": "you", "closed": True}]
    assert [row["body"]["answer"] for row in yard.events("one", "issue.answered")] == ["fix the permission"]


@pytest.mark.req("W8")
def test_respawning_tells_the_next_agent_the_persons_words(yard: Yard, cli: Cli) -> None:
    issue = blocked_by_a_denial(yard)
    ran = cli("answer", str(issue), "2")
    assert ran.code == 2 and f"damascus answer {issue} 2 use the Edit tool" in ran.error
    assert yard.item("one")["phase"] == "blocked"
    assert cli("answer", str(issue), "2", "use", "Edit, not Bash").code == 0
    agent = Metered(works())
    yard.work(agent)
    assert yard.item("one")["phase"] == "done" and agent.given[0].known_issues == ["use Edit, not Bash"]


@pytest.mark.req("W8")
def test_a_story_handed_to_a_person_stays_theirs_until_they_give_it_back(yard: Yard, cli: Cli) -> None:
    issue = blocked_by_a_denial(yard)
    ran = cli("answer", str(issue), "3", "Ada")
    assert ran.code == 0 and "one is left to Ada" in ran.out and str(yard.project.worktrees / "one") in ran.out
    agent = Metered(works())
    yard.work(agent)
    assert (yard.item("one")["phase"], agent.given) == ("blocked", [])
    assert answers(yard) == [{"answer": None, "owner": "Ada", "closed": False}]
    assert [row["body"]["to"] for row in yard.events("one", "story.handed_over")] == ["Ada"]
    assert "Ada must answer" in " ".join(cli("why", "one").out.split())
    assert cli("answer", str(issue), "1").code == 0
    yard.work(agent)
    assert yard.item("one")["phase"] == "done"


# ── budgets ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("X5")
def test_a_raised_budget_of_the_story_lets_it_go_on(yard: Yard, cli: Cli) -> None:
    set_config(yard, "[budget]\nstory_tokens = 100\n")
    yard.add(shell_story("one"))
    yard.work(Metered(works(Usage(input_tokens=200))))
    issue = number(yard)
    assert "damascus answer" in cli("answer", str(issue), "1").error
    assert cli("answer", str(issue), "1", "plenty").code == 2 and yard.item("one")["phase"] == "blocked"
    ran = cli("answer", str(issue), "1", "1k")
    assert ran.code == 0 and "The budget is 1,000 tokens now. one goes on." in ran.out
    yard.work(Metered(works(Usage(input_tokens=200))))
    assert yard.item("one")["phase"] == "done" and len(yard.events("one", "budget.raised")) == 1


@pytest.mark.req("X5")
def test_one_answer_about_the_projects_budget_serves_every_story_that_asks(yard: Yard, cli: Cli) -> None:
    set_config(yard, "[budget]\nproject_tokens = 100\n")
    yard.add(shell_story("one"), shell_story("two"), shell_story("three"))
    yard.work(Metered(works(Usage(input_tokens=150), told=False)), slots=1)
    phases = sorted(yard.item(name)["phase"] for name in ("one", "two", "three"))
    assert phases == ["blocked", "blocked", "done"]
    asking = next(name for name in ("two", "three") if yard.item(name)["phase"] == "blocked")
    ran = cli("answer", str(number(yard, asking)), "1", "10k")
    assert ran.code == 0 and " go on." in ran.out and yard.questions() == []
    yard.work(Metered(works(Usage(input_tokens=150))))
    assert [yard.item(name)["phase"] for name in ("one", "two", "three")] == ["done"] * 3


@pytest.mark.req("X5")
def test_a_story_can_be_cancelled_instead(yard: Yard, cli: Cli) -> None:
    set_config(yard, "[budget]\nstory_tokens = 100\n")
    yard.add(shell_story("one"))
    yard.work(Metered(works(Usage(input_tokens=200))))
    assert cli("answer", str(number(yard)), "2").code == 0 and yard.item("one")["phase"] == "cancelled"


# ── what it costs ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("X5")
def test_status_show_and_stats_tell_cost_per_merged_story_and_a_forecast(yard: Yard, cli: Cli) -> None:
    yard.add(shell_story("one"))
    assert "spent" not in cli("status").out, "agents without a model have no cost"
    set_config(yard, "[models.prices]\nminimax-m3 = [1.0, 10.0]\n")
    yard.work(Metered(works(Usage(input_tokens=1_000_000, output_tokens=100_000))))
    yard.add(shell_story("open"))
    assert "spent $2.00 (1.1 M tokens) · $2.00 per merged story · no forecast yet" in cli("status").out
    yard.add(shell_story("two"), shell_story("three"))
    held = "state = 'waiting', wait_kind = 'hold', wait_key = 'x'"
    yard.query(f"UPDATE work_items SET {held} WHERE story_id = 'open' RETURNING id")
    yard.work(Metered(works(Usage(input_tokens=1_000_000)), works(Usage(input_tokens=4_000_000))), slots=1)
    told = cli("status").out
    assert "spent $7.00 (6.1 M tokens) · $2.33 per merged story · about $2.00 for 1 open story" in told
    cost = cli("status", "--json").json["cost"]
    assert (cost["tokens"], cost["usd"], cost["forecast"]["usd"], cost["unpriced_models"]) == (6_100_000, 7.0, 2.0, [])
    assert cli("stats", "--json").json["cost"] == cost and "cost" in cli("stats").out
    assert "$2.00 (1.1 M tokens) in 1 agent step" in cli("show", "one").out
    shown = cli("show", "one", "--json").json
    assert shown["cost"] == {"tokens": 1_100_000, "usd": 2.0, "unpriced_models": []}
    assert shown["dispatches"][0]["model"] == "minimax-m3"


@pytest.mark.req("X5")
def test_without_a_price_tokens_are_told_and_the_model_once(yard: Yard, cli: Cli) -> None:
    yard.add(shell_story("one"))
    yard.work(Metered(works(Usage(input_tokens=12_000), well=False), works(Usage(input_tokens=500))))
    told = cli("status").out
    assert "spent 12 k tokens · 12 k tokens per merged story" in told and "$" not in told
    assert told.count("no price for model minimax-m3") == 1
    assert "12 k tokens in 2 agent steps; no price for model minimax-m3" in cli("show", "one").out
    assert cli("show", "one", "--json").json["cost"]["usd"] is None
