"""Two ranges overlap for PostgreSQL exactly when they do for us, whatever characters their paths are made of."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from damascus.domain.scope import Scope, Span
from damascus.store.db import Database

letters = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\U0010ffff", exclude_categories=["Cs"]), max_size=4
)
near = st.text('ab/"\\,()[]é\u00ff\uffff\U0001f600 ', max_size=4)
paths = st.one_of(letters, near)
spans = st.builds(
    lambda low, wide: Span(low, low + "\U0010ffff" if wide else None),
    paths.map(lambda text: "1/1:" + text),
    st.booleans(),
)


@pytest.mark.req("D17")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs=st.lists(st.tuples(spans, spans), min_size=10, max_size=40))
def test_overlap_means_the_same_to_us_and_to_the_database(db: Database, pairs: list[tuple[Span, Span]]) -> None:
    ours = [one.overlaps(other) for one, other in pairs]
    text = (
        "SELECT a && b AS overlap FROM unnest(%s::scope_span[], %s::scope_span[])"
        " WITH ORDINALITY AS t(a, b, n) ORDER BY n"
    )
    given_ = ([one.literal() for one, _ in pairs], [other.literal() for _, other in pairs])
    theirs = [row["overlap"] for row in db.run(lambda c: c.execute(text, given_).fetchall())]
    assert ours == theirs


@pytest.mark.req("D16", "D17")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(paths.filter(bool), min_size=1, max_size=20))
def test_a_path_that_a_scope_allows_is_a_point_inside_its_ranges(db: Database, names: list[str]) -> None:
    scope = Scope((*(f"dir/{name}" for name in names), "other/"))
    literals = [span.literal() for span in scope.spans("1/1")]
    points = [f"1/1:dir/{name}" for name in names] + ["1/1:other/x\uffff"]
    text = "SELECT p FROM unnest(%s::text[]) p WHERE NOT EXISTS (SELECT 1 FROM unnest(%s::scope_span[]) s WHERE s @> p)"
    assert db.run(lambda c: c.execute(text, (points, literals)).fetchall()) == []
