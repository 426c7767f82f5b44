"""damascus prompt: what the next agent step would be told, from durable facts, measured in tokens."""

import pytest

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.tokens import count
from damascus.domain.verdict import Verdict
from damascus.engine.agent_step.briefs import words
from tests.cli.conftest import Cli
from tests.cli.states import claim, landed, rejected
from tests.yard import HONEST, Yard, story

ROWS = "SELECT work_items::text AS r FROM work_items UNION ALL SELECT journal::text FROM journal"


@pytest.mark.req("W10")
def test_the_prompt_goes_to_stdout_and_its_cost_to_stderr(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1", scope=["calc.py", "tests/test_one.py"]))
    told = cli("prompt", "S-1")
    assert told.code == 0
    assert told.out.startswith(words("rules")) and words("code-implementer") in told.out
    assert "def one():" in told.out and "REQ-001: it works" in told.out
    assert words("ci-addendum") not in told.out
    assert "S-1 as code-implementer, on minimax-m3: code-implementer is a fast role" in told.err
    assert "rules" in told.err and "50000" in told.err


@pytest.mark.req("W10")
def test_as_json_every_part_has_its_tokens(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    told = cli("prompt", "S-1", "--role", "code-critic", "--json").json
    assert (told["role"], told["model"], told["why"]) == ("code-critic", "minimax-m3", "code-critic is a strong role")
    rules, task = told["parts"][:2]
    assert rules == {"name": "rules", "tokens": count(words("rules")), "limit": 100}
    assert task == {"name": "task", "tokens": count(words("code-critic")), "limit": 200}
    assert told["tokens"] == sum(part["tokens"] for part in told["parts"]) >= count(told["prompt"]) - len(told["parts"])


def test_no_model_is_named_where_the_agent_is_a_command(yard: Yard, cli: Cli) -> None:
    settings = (yard.repo / "damascus.toml").read_text()
    agent = "[agent]\ncommand = './agent'\nroles = { code-critic = 'codex' }\n"
    yard.commit({"damascus.toml": settings.replace("[agent]\n", agent)}, "settings")
    yard.add(story("S-1"))
    assert "S-1 as code-implementer: the command agent knows its model itself" in cli("prompt", "S-1").err
    assert cli("prompt", "S-1", "--json").json["model"] is None
    assert "S-1 as code-critic, on minimax-m3" in cli("prompt", "S-1", "--role", "code-critic").err


@pytest.mark.req("W11")
def test_it_shows_what_the_last_work_came_to_and_what_is_left_of_it(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    numbered = HONEST.replace("def value():", "# as of {brief['attempt']}\\ndef value():").replace(
        'write_text("', 'write_text(f"'
    )
    yard.work(yard.agent(numbered.replace("== 42", "== 43")), slots=1)
    assert yard.item("S-1")["phase"] == "blocked"
    told = cli("prompt", "S-1")
    assert "# Findings" in told.out and "test_REQ_001_value" in told.out
    assert "- s1.py: new, 0 lines before, 3 now" in told.out
    last = yard.item("S-1")["attempts"]
    assert last > 1 and f"# as of {last}" in told.out, "the work so far is what it will find"


@pytest.mark.req("W10", "F3")
def test_a_story_that_no_agent_is_next_for_says_so_and_an_unknown_role_is_refused(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    landed(yard, "S-1")
    told = cli("prompt", "S-1")
    assert told.code == 1 and "S-1 is in phase done: no agent is next." in told.error
    assert cli("prompt", "S-1", "--role", "code-implementer").code == 0
    wrong = cli("prompt", "S-1", "--role", "king")
    assert wrong.code == 2 and "there is no role 'king'" in wrong.error and "code-critic" in wrong.error


def test_looking_changes_nothing(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    [item] = claim(yard)
    rejected(yard, item, Verdict.TESTS_FAILED, VerdictFeedback(message="one test is red"))
    before = yard.query(ROWS)
    assert "one test is red" in cli("prompt", "S-1").out
    assert yard.query(ROWS) == before


def test_a_rough_story_is_the_refiners(yard: Yard, cli: Cli) -> None:
    yard.add("---\nstory: R-1\ntitle: dark mode\n---\nnights are dark\n", rough=True)
    told = cli("prompt", "R-1")
    assert words("spec-refiner") in told.out and "nights are dark" in told.out
