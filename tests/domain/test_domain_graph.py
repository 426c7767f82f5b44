"""The graph of repositories, pure: order, chains, refusals; and what a broken main asks for (W13, W20)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from damascus.domain import breakage
from damascus.domain.breakage import Breakage
from damascus.domain.errors import UsageError
from damascus.domain.graph import Declared, Graph, declared_graph, variable
from damascus.domain.spec import parse_spec
from damascus.domain.verdict import Kind

LETTERS = "abcdefgh"


def declared(needs: dict[str, set[str]]) -> list[Declared]:
    return [Declared(LETTERS.index(name), name, tuple(sorted(ups))) for name, ups in needs.items()]


@st.composite
def acyclic(draw: st.DrawFn) -> dict[str, set[str]]:
    """Each may need what comes before it in some order of the letters."""
    order = draw(st.permutations(LETTERS))
    return {name: draw(st.sets(st.sampled_from(order[:n]))) if n else set() for n, name in enumerate(order)}


@pytest.mark.req("W13")
@given(acyclic())
def test_roots_come_first_and_chains_are_closed(needs: dict[str, set[str]]) -> None:
    graph = declared_graph(Graph({}), declared(needs))
    order = graph.roots_first()
    assert sorted(order) == sorted(graph.names)
    for up, down in graph.edges:
        assert order.index(up) < order.index(down)
        assert {up} | graph.above(up) <= graph.above(down) and {down} | graph.below(down) <= graph.below(up)
    for repo in graph.names:
        assert not graph.above(repo) & ({repo} | graph.below(repo))


@pytest.mark.req("W13")
@given(acyclic(), st.data())
def test_a_circle_is_always_refused_and_told(needs: dict[str, set[str]], data: st.DataObject) -> None:
    graph = declared_graph(Graph({}), declared(needs))
    name = data.draw(st.sampled_from(LETTERS))
    below = sorted(graph.below(LETTERS.index(name))) or [LETTERS.index(name)]
    closing = graph.names[data.draw(st.sampled_from(below))]
    with pytest.raises(UsageError, match=r"in a circle: (\w → )+\w\. Correct"):
        declared_graph(graph, declared({name: needs[name] | {closing}}))


@pytest.mark.req("W13")
def test_names_are_compared_without_case_and_told_apart() -> None:
    known = Graph({1: "core", 2: "shop"}, frozenset({(1, 2)}))
    assert declared_graph(known, [Declared(2, "shop", ("CORE",))]).edges == {(1, 2)}
    with pytest.raises(UsageError, match="two repositories of this project are called Core"):
        declared_graph(known, [Declared(2, "Core")])
    with pytest.raises(UsageError, match="shop needs the repository 'tax', and this project has core"):
        declared_graph(known, [Declared(2, "shop", ("tax",))])


@pytest.mark.req("W13")
def test_who_says_nothing_keeps_its_edges() -> None:
    known = Graph({1: "core", 2: "shop", 3: "web"}, frozenset({(1, 2), (2, 3)}))
    assert declared_graph(known, [Declared(3, "web", ("core",))]).edges == {(1, 2), (1, 3)}


@pytest.mark.parametrize(("name", "said"), [("core", "CORE"), ("my-lib.v2", "MY_LIB_V2"), ("häuser", "H_USER")])
def test_the_variable_of_an_upstream_repository(name: str, said: str) -> None:
    assert variable(name) == f"DAMASCUS_UPSTREAM_{said}"


BROKEN = Breakage(
    2, "shop", "b" * 40, "job test failed", 1, "core", "a" * 40, 'Raise: the "price" # now',
    ["core.py", "tests/test_p.py"], ["tests/test_p.py"], "make test",
)  # fmt: skip


@pytest.mark.req("W20")
def test_a_revert_is_a_whole_spec_and_a_fix_a_rough_one() -> None:
    spec = parse_spec(breakage.revert_spec(BROKEN).encode())
    assert spec.scope is not None
    assert (spec.story, spec.scope.patterns, spec.kind) == (
        "revert-aaaaaaa",
        ("core.py", "tests/test_p.py"),
        Kind.REFACTOR,
    )
    assert (spec.may_remove, spec.test_command, spec.priority) == (("tests/test_p.py",), "make test", 0)
    assert spec.title == 'Revert aaaaaaa: Raise: the "price" # now'
    rough = parse_spec(breakage.fix_spec(BROKEN).encode(), rough=True)
    assert rough.missing() and "a" * 40 in rough.body


@pytest.mark.req("W20")
def test_the_question_names_the_commit_and_the_choices() -> None:
    assert "since the commit aaaaaaa of core" in breakage.question(BROKEN)
    assert [option.split(" ")[0] for option in breakage.options(BROKEN)] == ["revert", "fix", "coordinate:", "run"]
    nobody = Breakage(2, "shop", "b" * 40, "CI", note="its [ci.jobs] are green here")
    assert "its [ci.jobs] are green here" in breakage.question(nobody)
    assert not any("revert" in option for option in breakage.options(nobody))
