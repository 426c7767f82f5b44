"""Which task goes first among equals: the head of the longest chain, and nobody is overtaken for long."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from damascus.tasks.ordering import SPREAD, lateness, ranks

pytestmark = pytest.mark.req("A15.1")

graphs = st.integers(1, 12).flatmap(
    lambda n: st.tuples(*(st.sets(st.integers(0, max(0, i - 1)), max_size=3 if i else 0) for i in range(n)))
)


def test_the_head_of_the_longest_chain_is_first_and_a_loner_last() -> None:
    rank = ranks({"a": [], "b": ["a"], "c": ["b"], "loner": [], "heavy": []}, {"heavy": 5.0})
    assert rank == {"a": 6.0, "b": 4.0, "c": 2.0, "loner": 2.0, "heavy": 5.0}
    late = lateness(rank)
    assert late["a"] == timedelta(0) and late["c"] == late["loner"] == SPREAD
    assert late["a"] < late["heavy"] < late["b"] < late["c"]


def test_a_circle_and_unknown_names_are_no_trouble() -> None:
    assert ranks({"a": ["b"], "b": ["a"], "c": ["gone", "c"]}, {}) == {"a": 2.0, "b": 2.0, "c": 2.0}
    assert lateness({}) == {} and lateness({"a": 1.0, "b": 1.0}) == {"a": timedelta(0), "b": timedelta(0)}


@given(graphs)
def test_who_is_needed_goes_before_who_needs_it_and_nobody_is_later_than_the_spread(
    needs: tuple[set[int], ...],
) -> None:
    rank = ranks(dict(enumerate(needs)), {})
    late = lateness(rank)
    assert all(rank[need] > rank[task] for task, known in enumerate(needs) for need in known)
    assert all(timedelta(0) <= each <= SPREAD for each in late.values())


def test_a_chain_of_thousands_is_ranked() -> None:
    assert ranks({n: [n - 1] for n in range(5000)}, {})[0] == 10_000
