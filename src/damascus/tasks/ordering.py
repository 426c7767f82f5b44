"""Which task goes first among equals: the one with the longest way to the end of the graph behind it.

Slots that are free take what is ready; if that is a task on which nothing rests while the head of a long chain waits,
the chain ends later, and the whole with it. So each task's rank is the estimated work on the longest chain that begins
with it. `store/queueing.py` asks for it whenever stories are added, and lets it decide inside their priority: the
highest rank keeps its deadline, the lowest is `SPREAD` later, the others lie between. No more than that can anybody be
overtaken for it, so nobody starves (docs/task-graph.md, docs/performance.md).
"""

from collections.abc import Collection, Hashable, Mapping
from datetime import timedelta
from typing import TypeVar

SPREAD = timedelta(minutes=30)
WORK = {"low": 1.0, "normal": 2.0, "high": 4.0}
"""Estimated, by the spec's complexity: only how they compare counts."""
Name = TypeVar("Name", bound=Hashable)


def ranks(needs: Mapping[Name, Collection[Name]], work: Mapping[Name, float]) -> dict[Name, float]:
    """By task the work of the longest chain that begins with it. `needs` are the dependencies of each; who is not a
    key is on main or unknown, and counts for nothing. In a circle nobody has a chain: each counts for itself."""
    waiting = {task: 0 for task in needs}
    for known in needs.values():
        for task in set(known) & needs.keys():
            waiting[task] += 1
    rank = {task: work.get(task, WORK["normal"]) for task in needs}
    free = [task for task, count in waiting.items() if count == 0]
    while free:
        task = free.pop()
        for above in set(needs[task]) & needs.keys():
            rank[above] = max(rank[above], rank[task] + work.get(above, WORK["normal"]))
            waiting[above] -= 1
            if waiting[above] == 0:
                free.append(above)
    return rank


def lateness(rank: Mapping[Name, float]) -> dict[Name, timedelta]:
    """How much later each is due than the first of them."""
    if not rank:
        return {}
    first, last = max(rank.values()), min(rank.values())
    width = (first - last) or 1.0
    return {task: SPREAD * ((first - each) / width) for task, each in rank.items()}
