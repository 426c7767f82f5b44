"""How long a whole task graph takes: 200 tasks on the real claim function, with a clock of completions and no agents.

Against the lower bound that no order can beat: the longest chain of dependencies, or all work divided by the slots.
Beside it the same tasks first come, first served. How long a task takes is not known to the queue: it has the spec's
complexity, and what is simulated scatters around it.
"""

import heapq
import random
import statistics
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bench import queue_database
from bench.table import Result
from damascus.domain import policy
from damascus.domain.item import Item
from damascus.domain.outcome import Landed
from damascus.domain.spec import parse_spec
from damascus.store import leases, queueing, settle
from damascus.store.db import Database
from damascus.store.embedded.database import EmbeddedServer
from damascus.store.projects import ProjectRow
from damascus.tasks.ordering import WORK

TASKS = 200
SEEDS = range(1, 4)
SLOTS = {"wide": 12, "deep": 4, "late": 8}
"""Of each shape so many that its longest chain takes about as long as all work divided by them: there an order counts
most."""
MOST, GOAL = 1.10, 1.05
LEASE = timedelta(hours=1)
SHARED_FILES = 40
SCATTER = 0.4
SPEC = """---
story: {name}
title: {name}
scope: [{scope}]
depends_on: [{needs}]
complexity: {complexity}
---
## TDD Plan
Tests first.

## Test Command
```sh
true
```
"""


@dataclass(frozen=True)
class SimulatedTask:
    """What a graph says of a task, and how long it will take."""

    name: str
    complexity: str
    needs: tuple[str, ...]
    scope: tuple[str, ...]
    seconds: float

    def spec(self) -> bytes:
        told = {"name": self.name, "complexity": self.complexity}
        return SPEC.format(**told, scope=", ".join(self.scope), needs=", ".join(self.needs)).encode()


@dataclass(frozen=True)
class SimulatedGraph:
    """wide: joins over a long way; deep: over a short one; late: loners first, and the long chains at the end."""

    shape: str
    tasks: list[SimulatedTask]

    @property
    def slots(self) -> int:
        return SLOTS[self.shape]

    def lower_bound(self) -> float:
        ends: dict[str, float] = {}
        for task in self.tasks:
            ends[task.name] = task.seconds + max((ends[need] for need in task.needs), default=0.0)
        return max(*ends.values(), sum(task.seconds for task in self.tasks) / self.slots)


def measure() -> list[Result]:
    graphs = [random_graph(shape, seed) for shape in SLOTS for seed in SEEDS]
    with queue_database.server() as server:
        ours = [_ratio(server, graph, ranked=True) for graph in graphs]
        naive = [_ratio(server, graph, ranked=False) for graph in graphs]
    slots = ", ".join(f"{count} slots for {shape}" for shape, count in SLOTS.items())
    note = f"{TASKS} tasks, {len(graphs)} graphs, {slots}; goal {GOAL}; first come, first served"
    told = f"{note}: median {statistics.median(naive):.3f}, worst {max(naive):.3f}"
    return [
        Result(f"makespan / lower bound, {what}", value, f"≤ {MOST}", value <= MOST, told)
        for what, value in (("median", statistics.median(ours)), ("worst", max(ours)))
    ]


def random_graph(shape: str, seed: int) -> SimulatedGraph:
    """Each task has a file of its own, every third one that others want too."""
    dice = random.Random(f"{shape} {seed}")
    tasks: list[SimulatedTask] = []
    for number in range(TASKS):
        needs = _needs(dice, shape, tasks)
        shared = (f"shared/{dice.randrange(SHARED_FILES)}.py",) if dice.random() < 0.33 else ()
        complexity = dice.choice(tuple(WORK))
        seconds = WORK[complexity] * dice.lognormvariate(0, SCATTER)
        own = f"src/{number}.py"
        tasks.append(SimulatedTask(f"T-{number}", complexity, needs, (own, *shared), seconds))
    return SimulatedGraph(shape, tasks)


def _needs(dice: random.Random, shape: str, tasks: list[SimulatedTask]) -> tuple[str, ...]:
    near = {"wide": tasks[-60:], "deep": tasks[-12:], "late": tasks[TASKS // 2 :][-8:]}[shape]
    counts = {"wide": (0, 0, 1, 1, 1, 2, 3), "deep": (0, 1, 1, 1, 2, 3), "late": (1, 1, 2)}[shape]
    return tuple(one.name for one in dice.sample(near, min(len(near), dice.choice(counts))))


def _ratio(server: EmbeddedServer, graph: SimulatedGraph, *, ranked: bool) -> float:
    with queue_database.queue(server, 0) as (db, project):
        db.connection().execute(b"SET synchronous_commit = off")
        stories = [queueing.NewStory(parse_spec(raw := task.spec()), raw, f"{task.name}.md") for task in graph.tasks]
        queueing.add(db, project, stories, "feat/", 5)
        if not ranked:
            db.run(lambda c: c.execute("UPDATE work_items SET deadline_at = ready_at"))
        return makespan(db, project, graph) / graph.lower_bound()


def makespan(db: Database, project: ProjectRow, graph: SimulatedGraph) -> float:
    """The moment of the last completion: each one lets the free slots claim again."""
    seconds = {task.name: task.seconds for task in graph.tasks}
    running: list[tuple[float, int, Item]] = []
    now, done = 0.0, 0
    while done < len(seconds):
        for item in leases.claim(db, project.id, "bench", graph.slots - len(running), LEASE):
            heapq.heappush(running, (now + seconds[item.story_id], item.id, item))
        now, _, item = heapq.heappop(running)
        landed = Landed("b" * 40, "reachable", {"pr_url": "local://bench/pulls/1"})
        settle.settle(db, item, policy.decide(item, landed, datetime.now(UTC)))
        done += 1
    return now
