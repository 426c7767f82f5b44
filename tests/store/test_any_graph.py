"""For any graph and any order of completion: nobody begins before what it needs is on main, no two share a file."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from damascus.domain.item import Item
from damascus.domain.scope import Scope
from damascus.domain.spec import parse_spec
from damascus.store import queueing
from damascus.store.db import Database
from tests.store.lane import Lane
from tests.yard import story

pytestmark = pytest.mark.req("A15.1")

Task = tuple[tuple[int, ...], tuple[str, ...]]
FILES = ("a.py", "b.py", "c.py", "src/", "src/d.py", "src/e.py", "*.md", "README.md")


@st.composite
def graphs(draw: st.DrawFn) -> list[Task]:
    """Of each task what it needs, of those before it, and the files that it writes."""
    count = draw(st.integers(2, 9))
    return [
        (
            tuple(draw(st.sets(st.integers(0, number - 1), max_size=3))) if number else (),
            tuple(draw(st.lists(st.sampled_from(FILES), min_size=1, max_size=2, unique=True))),
        )
        for number in range(count)
    ]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graphs(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_dependencies_are_on_main_first_and_files_have_one_holder(
    db: Database, graph: list[Task], slots: int, dice: random.Random
) -> None:
    lane = Lane(db)
    _add(lane, graph)
    running: dict[int, Item] = {}
    done: set[int] = set()
    while len(done) < len(graph):
        for item in lane.claim(slots - len(running)) if slots > len(running) else []:
            number = int(item.story_id[2:])
            assert set(graph[number][0]) <= done, "it began before what it needs was on main"
            mine = Scope(graph[number][1])
            assert not any(mine.overlaps(Scope(graph[other][1])) for other in running), "two have one file"
            running[number] = item
        assert running, "something can always begin"
        number = dice.choice(sorted(running))
        lane.land(running.pop(number))
        done.add(number)


def _add(lane: Lane, graph: list[Task]) -> None:
    raws = [
        story(f"T-{number}", scope=list(files), depends_on=[f"T-{need}" for need in needs]).encode()
        for number, (needs, files) in enumerate(graph)
    ]
    queueing.add(lane.db, lane.project, [queueing.NewStory(parse_spec(raw), raw, "s.md") for raw in raws], "feat/", 5)
