"""The parts of a work plan, and what a run has used of its budget: both decide where a flow goes, so both are exact."""

import pytest

from damascus.domain.config import Budget
from damascus.domain.ports import Usage
from damascus.engine.agent_step.results import AgentResult
from damascus.engine.flow.inputs import MOST_SUBTASKS, WHOLE, subtasks
from damascus.engine.flow.work import used_up


@pytest.mark.req("F12")
@pytest.mark.parametrize(
    ("plan", "titles"),
    [
        ("", [WHOLE.title]),
        ("# Plan\n\nJust do it.\n", [WHOLE.title]),
        ("# Plan\n\n## Read\n\ntext\n\n## Write\n\n### how\n", ["Read", "Write"]),
        ("1. read it\n   with care\n2) write it\n", ["read it", "write it"]),
        ("- [ ] read it\n- [x] write it\n- no box\n", ["read it", "write it"]),
        ("## Only\n\n```md\n## no part: it is quoted\n```\n", ["Only"]),
    ],
)
def test_a_work_plan_is_its_headings_or_its_list(plan: str, titles: list[str]) -> None:
    assert [each.title for each in subtasks(plan)] == titles


@pytest.mark.req("F12")
def test_a_part_has_what_stands_below_it_and_a_long_plan_loses_nothing() -> None:
    read, write = subtasks("## Read\n\nby lines\n\n## Write\n\nby pages\n")
    assert (read.number, read.text, write.number, write.text) == (1, "by lines", 2, "by pages")
    many = subtasks("".join(f"## part {n}\n\ntext {n}\n" for n in range(MOST_SUBTASKS + 5)))
    assert len(many) == MOST_SUBTASKS and f"text {MOST_SUBTASKS + 4}" in many[-1].text


@pytest.mark.req("F4")
@pytest.mark.parametrize(
    ("limits", "used"),
    [
        ({}, ""),
        ({"run_turns": 7}, "7 of 7 turns"),
        ({"run_turns": 8}, ""),
        ({"run_seconds": 30.0}, "30 of 30 seconds"),
        ({"run_tokens": 100}, "120 of 100 tokens"),
        ({"run_usd": 0.5}, "0.6 of 0.5 dollars"),
        ({"run_usd": 0.5, "run_turns": 1}, "7 of 1 turns, 0.6 of 0.5 dollars"),
    ],
)
def test_a_run_ends_its_loops_by_time_turns_tokens_or_dollars(limits: dict[str, float], used: str) -> None:
    """An agent that counts no turns has taken one."""
    done = [
        AgentResult(seconds=20.0, usage=Usage(input_tokens=120, turns=6), cost=600_000),
        AgentResult(seconds=10.0),
    ]
    none = {"run_turns": 0, "run_seconds": 0.0, "run_tokens": 0, "run_usd": 0.0}
    assert used_up(Budget.model_validate({**none, **limits}), done) == used
