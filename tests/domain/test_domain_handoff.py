"""The hand-off is packed into its budget: by priority, whole files first, and what is missing is named."""

import pytest
from hypothesis import given, strategies

from damascus.domain.handoff import BUDGET, NOTE, HandoffSection, Priority, cut, pack
from damascus.domain.tokens import count

LINES = strategies.lists(strategies.text(alphabet="ab c(é`", max_size=40), max_size=30).map("\n".join)
SECTIONS = strategies.lists(
    strategies.builds(
        HandoffSection,
        strategies.sampled_from(Priority),
        strategies.text(alphabet="abc/._", min_size=1, max_size=20),
        LINES,
        strategies.booleans(),
    ),
    max_size=12,
)
BUDGETS = strategies.integers(0, 1500)


def file(name: str, lines: int, priority: Priority = Priority.CODE) -> HandoffSection:
    return HandoffSection(priority, name, "\n".join(f"line {n} of {name}" for n in range(lines)), quoted=True)


@pytest.mark.req("W11")
@given(SECTIONS, BUDGETS, strategies.lists(strategies.text(alphabet="ab/", min_size=1, max_size=30), max_size=40))
def test_it_is_never_over_the_budget(sections: list[HandoffSection], budget: int, unread: list[str]) -> None:
    assert count(pack(sections, budget, unread).text) <= budget


@pytest.mark.req("W11")
@given(SECTIONS, BUDGETS)
def test_nothing_is_dropped_before_what_matters_less(sections: list[HandoffSection], budget: int) -> None:
    whole = [section for section in pack(sections, budget).sections if section in sections]
    missing = [section for section in sections if section not in whole]
    first_missing = min((section.priority for section in missing), default=Priority.HISTORY)
    assert all(section.priority <= first_missing for section in whole)


@pytest.mark.req("W11")
@given(SECTIONS, BUDGETS)
def test_the_order_is_kept_and_the_answer_always_the_same(sections: list[HandoffSection], budget: int) -> None:
    packed = pack(sections, budget)
    ordered = sorted(sections, key=lambda section: section.priority)
    at = iter(ordered)
    titles = [section.title for section in packed.sections if section.title in {each.title for each in sections}]
    assert all(any(title == each.title for each in at) for title in titles)
    assert pack(sections, budget) == packed


@pytest.mark.req("W11")
@given(SECTIONS, BUDGETS)
def test_what_is_missing_or_cut_is_named(sections: list[HandoffSection], budget: int) -> None:
    packed = pack(sections, budget)
    whole = [section.title for section in packed.sections if section in sections]
    assert sorted([*whole, *packed.left_out]) == sorted(section.title for section in sections)


@pytest.mark.req("W11")
def test_the_budget_is_that_of_the_contract() -> None:
    assert BUDGET == 50_000
    big = [file(f"src/part{n}.py", 3000) for n in range(10)]
    packed = pack(big)
    assert 45_000 < count(packed.text) <= BUDGET
    assert "[cut here: " in packed.text and "src/part9.py" in packed.left_out
    assert "# Not shown here, or not whole" in packed.text


@pytest.mark.req("W11")
def test_a_small_file_goes_whole_before_a_large_one_is_cut() -> None:
    large, small = file("a-large.py", 400), file("b-small.py", 5)
    tests = file("tests/test_it.py", 5, Priority.TESTS)
    packed = pack([large, small, tests], 800)
    assert small in packed.sections
    assert [section.title for section in packed.sections[:2]] == ["a-large.py", "b-small.py"]
    assert "of 400 lines are shown" in packed.sections[0].body
    assert tests not in packed.sections and packed.left_out == ("a-large.py", "tests/test_it.py")


@pytest.mark.req("W11")
def test_a_note_of_a_thousand_names_stays_in_its_share() -> None:
    names = [f"src/some/long/folder/name/module_{n}.py" for n in range(1000)]
    packed = pack([file("a.py", 1)], 1000, unread=names)
    assert count(packed.sections[-1].text) <= NOTE and "more" in packed.sections[-1].body
    assert len(packed.left_out) == 1000


def test_a_line_longer_than_the_room_is_cut_inside() -> None:
    piece = cut(HandoffSection(Priority.CODE, "bundle.js", "x" * 100_000), 300)
    assert piece is not None and 50 < count(piece.text) <= 300
    assert cut(HandoffSection(Priority.CODE, "bundle.js", "x" * 100_000), 60) is None


def test_a_file_with_fences_of_its_own_stays_in_its_block() -> None:
    text = HandoffSection(Priority.SPECS, "spec.md", "```sh\nmake\n```", quoted=True).text
    assert text == "# spec.md\n\n````\n```sh\nmake\n```\n````\n"
