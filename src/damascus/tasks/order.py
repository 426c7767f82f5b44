"""The order that dependencies give a task graph: who comes before whom, and circles. Sets are bits of a number."""

from collections import deque
from collections.abc import Callable, Sequence

Needs = Sequence[Sequence[int]]
"""For each task, by its number, those that it depends on."""


def in_order(needs: Needs) -> list[int]:
    """Every task after all that it depends on; those in a circle, and behind one, are left out."""
    waits = [len(each) for each in needs]
    after = dependents(needs)
    ready = deque(number for number, count in enumerate(waits) if not count)
    done = []
    while ready:
        number = ready.popleft()
        done.append(number)
        for other in after[number]:
            waits[other] -= 1
            if not waits[other]:
                ready.append(other)
    return done


def dependents(needs: Needs) -> list[list[int]]:
    after: list[list[int]] = [[] for _ in needs]
    for number, each in enumerate(needs):
        for need in each:
            after[need].append(number)
    return after


def ordered_with(needs: Needs) -> list[int]:
    """For each task the set of those that come before or after it, and itself; in a circle that is everybody."""
    everybody = (1 << len(needs)) - 1
    before, after = [everybody] * len(needs), [everybody] * len(needs)
    order, below = in_order(needs), dependents(needs)
    for number in order:
        before[number] = _joined(number, needs[number], before)
    for number in reversed(order):
        after[number] = _joined(number, below[number], after)
    return [one | other for one, other in zip(before, after, strict=True)]


def _joined(number: int, others: Sequence[int], sets: Sequence[int]) -> int:
    found = 1 << number
    for other in others:
        found |= sets[other]
    return found


def circles(needs: Needs) -> list[list[int]]:
    """One circle for every knot of tasks that depend on each other, along what each needs, back to its first."""
    return [_circle(knot, needs) for knot in _knots(needs) if len(knot) > 1 or min(knot) in needs[min(knot)]]


def _knots(needs: Needs) -> list[set[int]]:
    """Kosaraju's: backwards in the order in which tasks were left, whoever is reached belongs together."""
    known = set(in_order(needs))
    left = [number for number in range(len(needs)) if number not in known]
    ended: list[int] = []
    _visit(left, needs, set(), ended.append)
    seen: set[int] = set()
    knots: list[set[int]] = []
    below = dependents(needs)
    for number in reversed(ended):
        if number not in seen:
            knots.append(set())
            _visit([number], below, seen, knots[-1].add)
    return knots


def _visit(starts: Sequence[int], edges: Needs, seen: set[int], leave: Callable[[int], None]) -> None:
    """Depth first, without recursion: a chain may be as long as the graph."""
    for start in starts:
        if start in seen:
            continue
        seen.add(start)
        way = [(start, iter(edges[start]))]
        while way:
            number, further = way[-1]
            following = next((each for each in further if each not in seen), None)
            if following is None:
                way.pop()
                leave(number)
            else:
                seen.add(following)
                way.append((following, iter(edges[following])))


def _circle(knot: set[int], needs: Needs) -> list[int]:
    """In a knot each task needs another one of it: who follows that comes back to where it was."""
    seen: dict[int, int] = {}
    here = min(knot)
    while here not in seen:
        seen[here] = len(seen)
        here = next(need for need in needs[here] if need in knot)
    return [*list(seen)[seen[here] :], here]
