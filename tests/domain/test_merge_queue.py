"""The queue's rules, and five hundred entries by them: main is always green, and speculation pays what it should.

CI is simulated: all entries in the window are tested at once and take one unit of time. The rules are the real ones.
"""

import random
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from damascus.domain.ids import Sha
from damascus.domain.merge_queue import Move, QueueEntry, nearest, turn

MAIN = Sha("m" * 40)


def no_main() -> Sha:
    raise AssertionError("main was looked at although somebody is ahead")


def sha(name: str) -> Sha:
    return Sha(name.ljust(40, "."))


def entry(item: int, on: Sha, state: str = "testing") -> QueueEntry:
    return QueueEntry(item, on, sha(f"{item} on {on[:12].strip('.')}"), state)  # type: ignore[arg-type]


# ── the rules ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W1")
def test_who_comes_in_is_put_on_top_of_the_last_that_has_not_failed() -> None:
    one = entry(1, MAIN)
    two = entry(2, one.commit, "red")
    assert turn(None, [], lambda _: True, lambda: MAIN).ahead is None
    found = turn(None, [one, two], lambda _: False, no_main)
    assert (found.move, found.ahead) == (Move.STACK, one)
    assert nearest([two]) is None


@pytest.mark.req("W1")
def test_nobody_is_sent_back_while_something_unproven_is_ahead() -> None:
    one = entry(1, MAIN)
    two = entry(2, one.commit, "red")
    assert turn(two, [one], lambda _: True, no_main).move == Move.WAIT
    assert turn(two, [], lambda commit: commit == one.commit, lambda: one.commit).move == Move.LEAVE


@pytest.mark.req("W1")
def test_a_verdict_on_a_base_that_never_landed_is_void() -> None:
    one = entry(1, MAIN)
    two = entry(2, one.commit, "red")
    assert turn(two, [], lambda commit: commit == MAIN, lambda: MAIN).move == Move.STACK
    assert turn(replace(two, state="green"), [], lambda commit: commit == MAIN, lambda: MAIN).move == Move.STACK


@pytest.mark.req("W1")
def test_a_push_by_hand_builds_everybody_anew_and_sends_nobody_back() -> None:
    one, hand = entry(1, MAIN, "green"), sha("by hand")
    there = {MAIN, hand}
    assert turn(one, [], there.__contains__, lambda: hand).move == Move.STACK
    again = entry(1, hand)
    two = entry(2, one.commit, "green")
    found = turn(two, [again], there.__contains__, no_main)
    assert (found.move, found.ahead) == (Move.STACK, again)


@pytest.mark.req("W1", "D17")
def test_only_the_first_lands_and_only_what_was_green_on_main() -> None:
    one = entry(1, MAIN, "green")
    two = entry(2, one.commit, "green")
    assert turn(two, [one], lambda _: True, no_main).move == Move.WAIT
    assert turn(one, [], lambda commit: commit == MAIN, lambda: MAIN).move == Move.LAND
    assert turn(replace(one, state="testing"), [], lambda _: False, lambda: MAIN).move == Move.TEST
    landed_already = turn(one, [], lambda commit: commit in (MAIN, one.commit), lambda: one.commit)
    assert landed_already.move == Move.LAND, "a landing whose answer was lost is found, not repeated on top of itself"


# ── the simulation ────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Simulation:
    """A queue with a window of fixed width. A commit is red if a bad change is in it that main does not have."""

    bad: set[int]
    waiting: list[int]
    width: int
    line: list[QueueEntry] = field(default_factory=list)
    made: dict[Sha, frozenset[int]] = field(default_factory=lambda: {MAIN: frozenset()})
    history: list[Sha] = field(default_factory=lambda: [MAIN])
    ejected: list[int] = field(default_factory=list)
    green: set[Sha] = field(default_factory=lambda: {MAIN})
    rounds: int = 0

    def commit(self, item: int, on: Sha) -> QueueEntry:
        made = Sha(f"{len(self.made):040x}")
        self.made[made] = self.made[on] | {item}
        return QueueEntry(item, on, made)

    def settle(self) -> None:
        """Everybody does what the rules say, until all wait for tests."""
        moved = True
        while moved:
            moved = False
            while len(self.line) < self.width and self.waiting:
                self.line.append(self.commit(self.waiting.pop(0), self.base(len(self.line))))
                moved = True
            for place, mine in enumerate(self.line):
                found = turn(mine, self.line[:place], self.history.__contains__, lambda: self.history[-1])
                if found.move in (Move.TEST, Move.WAIT):
                    continue
                moved = True
                if found.move == Move.STACK:
                    self.line[place] = self.commit(mine.item, self.base(place))
                else:
                    self.leave(place, mine, found.move)
                break

    def base(self, place: int) -> Sha:
        before = nearest(self.line[:place])
        return before.commit if before else self.history[-1]

    def leave(self, place: int, mine: QueueEntry, move: Move) -> None:
        del self.line[place]
        if move == Move.LAND:
            assert mine.base == self.history[-1] and mine.commit in self.green
            self.history.append(mine.commit)
        else:
            self.ejected.append(mine.item)

    def test(self) -> None:
        """One unit of time: every entry that is not tested yet is."""
        self.rounds += 1
        for place, mine in enumerate(self.line):
            if mine.state == "testing":
                fine = not self.made[mine.commit] & self.bad
                self.line[place] = replace(mine, state="green" if fine else "red")
                if fine:
                    self.green.add(mine.commit)

    def run(self) -> "Simulation":
        self.settle()
        while self.line:
            self.test()
            self.settle()
        return self


def simulated(passing: float, width: int, entries: int = 500, seed: int = 1) -> Simulation:
    dice = random.Random(f"{seed} {passing}")
    bad = {item for item in range(entries) if dice.random() > passing}
    return Simulation(bad, list(range(entries)), width).run()


@pytest.mark.req("W1", "X4")
@pytest.mark.parametrize("passing", [0.99, 0.95, 0.9, 0.8])
@pytest.mark.parametrize("width", [1, 4, 8])
def test_five_hundred_entries_land_green_and_as_fast_as_speculation_can(passing: float, width: int) -> None:
    done = simulated(passing, width)
    assert all(not done.made[commit] & done.bad and commit in done.green for commit in done.history), "main was red"
    assert sorted(done.ejected) == sorted(done.bad), "only the bad ones were sent back, and all of them"
    assert [max(done.made[new] - done.made[old]) for old, new in zip(done.history, done.history[1:], strict=False)] == [
        item for item in range(500) if item not in done.bad
    ], "in order, one at a time"
    measured = 1 - len(done.bad) / 500
    speedup = simulated(passing, 1).rounds / done.rounds
    wanted = (1 - measured**width) / (1 - measured)
    assert speedup == pytest.approx(wanted, rel=0.1), f"×{speedup:.2f} instead of ×{wanted:.2f}"


@pytest.mark.req("W1")
@given(st.integers(1, 40), st.integers(1, 9), st.data())
def test_whatever_is_bad_only_that_is_sent_back(entries: int, width: int, data: st.DataObject) -> None:
    bad = data.draw(st.sets(st.integers(0, entries - 1)))
    done = Simulation(set(bad), list(range(entries)), width).run()
    assert sorted(done.ejected) == sorted(bad) and len(done.history) == 1 + entries - len(bad)
    assert not done.made[done.history[-1]] & bad
