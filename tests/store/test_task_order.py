"""For any task graph, whatever the order of completion and whatever is edited meanwhile: nobody starts before its
dependencies are on main, no two with a common output file are worked at once, and everything is worked off."""

from dataclasses import replace
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from damascus.domain.ids import StoryId
from damascus.domain.item import Item
from damascus.domain.tasks import ContractKind, TestContract
from damascus.store import queueing
from damascus.store.db import Database
from damascus.store.projects import register
from damascus.store.queueing import NewStory
from damascus.tasks.specs import parsed, spec_of
from damascus.tasks.task import Task
from tests.store.lane import Lane

FILES = ("src/a.py", "src/b.py", "src/", "lib/c.py", "lib/d.py")
COMMAND = "python3 -m pytest -q tests/t.py"


@st.composite
def tasks(draw: st.DrawFn) -> list[Task]:
    count = draw(st.integers(2, 7))
    return [draw(one_task(number)) for number in range(count)]


@st.composite
def one_task(draw: st.DrawFn, number: int) -> Task:
    """Dependencies are lower numbers: any graph without circles can be numbered so."""
    needs = draw(st.lists(st.integers(0, number - 1), max_size=3, unique=True)) if number else []
    files = draw(st.lists(st.sampled_from(FILES), min_size=1, max_size=2, unique=True))
    contract = TestContract("TC-1", "works", ContractKind.UNIT, f"tests/test_{number}.py")
    return Task(
        _id(number),
        f"task {number}",
        number,
        depends_on=tuple(map(_id, sorted(needs))),
        output_files=tuple(files),
        contracts=(contract,),
    )


def _id(number: int) -> StoryId:
    return StoryId(f"TASK-{number:03d}")


def story(task: Task) -> NewStory:
    return NewStory(parsed(task, "G.md", COMMAND), spec_of(task, "G.md", COMMAND), "G.md", place=task.line)


def overlap(one: Task, other: Task) -> bool:
    return any(a == b or (a.endswith("/") and b.startswith(a)) or (b.endswith("/") and a.startswith(b))
               for a in one.output_files for b in other.output_files)  # fmt: skip


@pytest.mark.req("A1.1", "A15")
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(tasks(), st.data())
def test_rule_3_never_code_for_a_task_whose_dependencies_are_not_done(
    db: Database, graph: list[Task], data: st.DataObject
) -> None:
    lane = Lane(db, register(db, uuid4(), f"p{uuid4()}", f"/nowhere/{uuid4()}", ("main", "a" * 40), repo=uuid4()))
    known = {task.id: task for task in graph}
    queueing.add(db, lane.project, [story(task) for task in data.draw(st.permutations(graph))], "feat/", 5)
    active: dict[StoryId, Item] = {}
    begun: set[StoryId] = set()
    done: set[StoryId] = set()
    while len(done) < len(graph):
        claimed = lane.claim(data.draw(st.integers(1, 3)))
        assert claimed or active, f"nothing moves: {lane.states()}"
        for item in claimed:
            task = known[StoryId(item.story_id)]
            assert set(task.depends_on) <= done, f"{task.id} was begun before {set(task.depends_on) - done}"
            clash = [other for other in active if overlap(task, known[other])]
            assert clash == [], f"{task.id} and {clash} have files in common"
            active[task.id] = item
            begun.add(task.id)
        unbegun = sorted(set(known) - begun)
        if unbegun and data.draw(st.booleans()):
            edited = data.draw(st.sampled_from(unbegun).flatmap(lambda ident: one_task(int(ident[5:]))))
            known[edited.id] = replace(edited, title="edited")
            queueing.add(db, lane.project, [story(known[edited.id])], "feat/", 5, unbegun=True)
        if active:
            landed = data.draw(st.sampled_from(sorted(active)))
            lane.land(active.pop(landed))
            done.add(landed)


@pytest.mark.req("A1.1")
def test_a_chain_as_long_as_the_graph_is_queued(db: Database) -> None:
    """No recursion: 3,000 tasks, each after the one before."""
    lane, length = Lane(db), 3_000
    contract = TestContract("TC-1", "works", ContractKind.UNIT, "tests/t.py")
    chain = [
        Task(_id(n), "t", n, depends_on=(_id(n - 1),) if n else (), output_files=(f"f{n}.py",), contracts=(contract,))
        for n in range(length)
    ]
    queueing.add(db, lane.project, [story(task) for task in reversed(chain)], "feat/", 5)
    assert lane.query("SELECT count(*) AS n FROM work_items") == [{"n": length}]
    assert [item.story_id for item in lane.claim(5)] == ["TASK-000"]


@pytest.mark.req("A1.1", "A15")
def test_who_waited_behind_an_edited_task_is_not_forgotten(db: Database) -> None:
    """Of those that want the same files one stands in line and the others behind it. Edited, it stands elsewhere."""
    lane = Lane(db)
    contracts = [(TestContract("TC-1", "works", ContractKind.UNIT, "tests/t.py"),)] * 3
    held, first, behind = (
        Task(_id(n), "t", n, output_files=("src/a.py" if n else "src/",), contracts=each)
        for n, each in enumerate(contracts)
    )
    queueing.add(db, lane.project, [story(task) for task in (held, first, behind)], "feat/", 5)
    [item] = lane.claim(3)
    assert sorted(lane.states().values()) == ["behind", "leased", "scope"]
    waits = next(name for name, state in lane.states().items() if state == "scope")
    elsewhere = replace(
        held, id=StoryId(waits), output_files=("b.py",), contracts=(replace(contracts[0][0], file="tests/u.py"),)
    )
    queueing.add(db, lane.project, [story(elsewhere)], "feat/", 5, unbegun=True)
    assert [each.story_id for each in lane.claim(3)] == [waits]
    lane.land(item)
    assert len(lane.claim(3)) == 1, lane.states()
