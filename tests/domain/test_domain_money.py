"""Prices, budgets and forecasts: money is never promised twice, and an unknown price is never nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from damascus.domain import money, recovery
from damascus.domain.config import Budget, Models, parse_config
from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.money import BudgetStanding, Granted, Price, Reserved, Spent, allow
from damascus.domain.ports import Usage
from damascus.domain.recovery import Chosen

amounts = st.integers(0, 1000)


@pytest.mark.req("X5")
def test_a_cost_is_exact_in_millionths_and_rounded_up() -> None:
    config = parse_config("[models.prices]\nm = [0.3, 1.2, 0.03]\ntwo = [3.0, 15.0]\n")
    price = Price.of(config.models, "m")
    assert price == Price(0.3, 1.2, 0.03)
    assert price.cost(Usage(input_tokens=1_000_000, output_tokens=1_000_000, cached_tokens=1_000_000)) == 1_530_000
    assert price.cost(Usage(input_tokens=10)) == 3 and price.cost(Usage(input_tokens=1)) == 1
    assert Price.of(config.models, "two") == Price(3.0, 15.0, 3.0)
    assert Price.of(config.models, "another") is None


@pytest.mark.req("X5")
@pytest.mark.parametrize("listed", [[], [1.0], [1.0, 2.0, 3.0, 4.0], [1.0, -2.0]])
def test_a_price_that_makes_no_sense_is_refused_by_name(listed: list[float]) -> None:
    with pytest.raises(UsageError, match=r"\[models.prices\] m"):
        Price.of(Models(prices={"m": listed}), "m")  # type: ignore[call-arg]


@given(amounts, amounts, amounts, amounts, amounts, amounts)
@pytest.mark.req("X5")
def test_what_is_granted_always_fits_into_every_budget(
    step: int, story: int, project: int, spent: int, of_project: int, reserved: int
) -> None:
    at = BudgetStanding(step, story, project, spent, of_project, reserved)
    match allow(at):
        case Granted(amount, whose):
            assert amount > 0 or not (step or story or project)
            assert not step or amount <= step
            assert not story or spent + amount <= story
            assert not project or of_project + reserved + amount <= project
            assert amount == {"step": step, "story": story - spent, "project": project - of_project}[whose]
        case Spent(whose, limit, used):
            assert whose in ("story", "project") and used >= limit > 0
        case Reserved():
            assert reserved > 0 and of_project < project, "without the others it would have fitted"
            assert not isinstance(allow(BudgetStanding(step, story, project, spent, of_project, 0)), Reserved)


@given(st.integers(1, 500), st.integers(1, 2000), st.lists(st.tuples(st.booleans(), st.integers(0, 120)), max_size=60))
@pytest.mark.req("X5")
def test_steps_side_by_side_never_spend_more_than_the_project_has(
    step: int, project: int, moves: list[tuple[bool, int]]
) -> None:
    """Each move starts a step or ends the oldest with a part of what it was granted."""
    spent, running = 0, []
    for starts, part in moves:
        if starts:
            allowed = allow(
                BudgetStanding(step=step, project=project, project_spent=spent, project_reserved=sum(running))
            )
            running += [allowed.amount] if isinstance(allowed, Granted) else []
        elif running:
            spent += min(part * running[0] // 100, running.pop(0))
        assert spent + sum(running) <= project


@pytest.mark.req("X5")
def test_the_limits_of_a_budget_in_both_units() -> None:
    budget = Budget(step_usd=0.5, story_usd=2.0, project_usd=100.0)  # type: ignore[call-arg]
    assert money.limits(budget, "dollars") == (500_000, 2_000_000, 100_000_000)
    assert money.limits(budget, "tokens") == (5_000_000, 25_000_000, 0)


@pytest.mark.req("X5")
def test_a_forecast_is_the_median_times_what_is_open_and_needs_three() -> None:
    assert money.forecast([5, 1000], 4) is None
    assert money.forecast([5, 7, 1000], 4) == 28
    assert money.forecast([5, 7, 9, 1000], 10) == 80
    assert money.forecast([1, 2, 3], 0) == 0


@pytest.mark.parametrize(("count", "said"), [(0, "0 tokens"), (1, "1 token"), (9500, "9,500 tokens"),
                                            (12_400, "12 k tokens"), (31_240_000, "31.2 M tokens")])  # fmt: skip
def test_tokens_for_people(count: int, said: str) -> None:
    assert money.in_tokens(count) == said


@pytest.mark.parametrize(("amount", "said"), [(0, "$0.00"), (12, "under $0.01"), (12_400_000, "$12.40"),
                                             (1_234_567_890, "$1,234.57")])  # fmt: skip
def test_dollars_for_people(amount: int, said: str) -> None:
    assert money.in_dollars(amount) == said


@pytest.mark.parametrize(
    ("words", "tokens"), [("40000000", 40_000_000), ("40M", 40_000_000), ("500 k", 500_000), ("1,500", 1500)]
)
def test_a_persons_number_of_tokens(words: str, tokens: int) -> None:
    assert money.amount_of(words, "tokens") == tokens


def test_a_persons_number_of_dollars() -> None:
    assert money.amount_of("$12.50", "dollars") == money.amount_of("12.5", "dollars") == 12_500_000


@pytest.mark.parametrize("words", ["", "much", "-3", "0", "nan", "inf", "$"])
def test_what_is_no_amount_is_refused(words: str) -> None:
    with pytest.raises(UsageError, match="no amount"):
        money.amount_of(words, "tokens")


# ── what an answer means ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W8")
def test_the_three_recoveries_are_found_by_their_number_with_words_of_ones_own() -> None:
    options = list(recovery.DENIED)
    assert options == ["fix the permission", "respawn with other instructions", "hand to a person"]
    assert recovery.chosen(options, "1", 7) == Chosen("fix the permission", id="fix_permission")
    assert recovery.chosen(options, "2 use Edit", 7) == Chosen(recovery.RESPAWN, "use Edit", "respawn")
    assert recovery.chosen(options, "3 Ada", 7) == Chosen("hand to a person", "Ada", "hand_over")
    assert recovery.chosen(options, "hand_over", 7) == Chosen("hand to a person", id="hand_over")
    for words in ("use Edit", "respawn it", "fix the permission", "hand to a person"):
        assert recovery.chosen(options, words, 7) == Chosen("", words), "own words are an answer by themselves"
    with pytest.raises(UsageError, match="needs your words"):
        recovery.needed(Chosen(recovery.RESPAWN), 12)


@pytest.mark.req("X5")
def test_a_raise_is_found_by_its_option_and_other_questions_are_left_alone() -> None:
    option = recovery.raises("project", "dollars")
    assert recovery.RAISES[option] == ("project", "dollars")
    assert recovery.chosen([option, recovery.CANCEL], "1 50", 7) == Chosen(option, "50", "raise_budget")
    assert recovery.chosen([option, recovery.CANCEL], "2", 7).id == "cancel"
    assert recovery.chosen(["red", "blue"], "2 of them", 7) == Chosen("blue", "of them")
    with pytest.raises(DamascusError, match="has the options 1 to 1; 7 is none of them"):
        recovery.chosen(["red"], "7", 9)
