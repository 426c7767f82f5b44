"""A task graph in words, as `tasks status` tells it: the head, a line for each task, what halts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from damascus.domain.ids import short
from damascus.domain.judged_contracts import JudgedContract, contract_line
from damascus.domain.verdict import TaskStatus
from damascus.domain.waits import ENDED_BY_A_PERSON, ItemState
from damascus.store.db import Row
from damascus.store.halted import Halt
from damascus.store.tasks import TaskRow
from damascus.store.views import StoryRow
from damascus.telling.halts import sentence
from damascus.telling.now import now
from damascus.telling.phrases import clock, listed, one_line, plural

NAMED = 5
NO_CONTRACT = "no test contract"


@dataclass(frozen=True)
class ToldTask:
    """One task: its row twice (as a task, as people see a story), and what its last judged run showed."""

    task: TaskRow
    row: StoryRow
    judged: tuple[JudgedContract, ...] = ()
    waits_for: tuple[str, ...] = ()
    """Tasks that it depends on and that are not on main."""

    @property
    def contract(self) -> str:
        return contract_line(self.judged)

    @property
    def status(self) -> TaskStatus:
        return self.task.status

    @property
    def goes_on(self) -> bool:
        """By itself: nobody has to act, and nothing is in its way but time and workers."""
        if self.status not in (TaskStatus.PENDING, TaskStatus.IN_PROGRESS) or self.waits_for:
            return False
        return self.row.state != ItemState.WAITING or self.row.wait_kind not in ENDED_BY_A_PERSON


def head(project: str, tasks: Sequence[ToldTask], every: int) -> str:
    """`shop · 8 tasks · 3 DONE · 2 IN-PROGRESS · checkpoint 1 of 2`"""
    counted = Counter(one.status for one in tasks)
    order = (TaskStatus.DONE, TaskStatus.IN_PROGRESS, TaskStatus.BLOCKED, TaskStatus.STALE, TaskStatus.PENDING)
    counts = [f"{counted[status]:,} {status.value}" for status in order if counted[status]]
    taken, of = checkpoint(tasks, every)
    return " · ".join([project, plural(len(tasks), "task"), *counts, f"checkpoint {taken} of {of}"])


def checkpoint(tasks: Sequence[ToldTask], every: int) -> tuple[int, int]:
    """How many full checkpoints there are, and how many there will be."""
    done = sum(one.status is TaskStatus.DONE for one in tasks)
    return done // every, ceil(len(tasks) / every)


def line(one: ToldTask) -> tuple[str, str]:
    """What is said of it now, and its commit or who acts."""
    row = one.row
    match one.status:
        case TaskStatus.DONE if not row.off_main:
            return one.contract or NO_CONTRACT, short(row.merged_commit)
        case TaskStatus.PENDING if one.waits_for:
            return f"after {listed(list(one.waits_for), NAMED)}", ""
        case TaskStatus.BLOCKED:
            why = one_line(str((row.last_feedback or {}).get("message") or row.last_verdict or ""))
            return (f"{now(row)}: {why}" if why else now(row)), ""
        case _:
            waiting = row.waiting_for
            return now(row), f"waits for {waiting.who or 'nobody'}" if waiting else ""


def halted(halts: Sequence[Halt], holds: Sequence[Row], tasks: Sequence[ToldTask]) -> list[str]:
    """`Halted: nothing. Goes on with TASK-004, TASK-007.`, or what halts, since when, and what ends it."""
    read_at = tasks[0].row.read_at
    told = [sentence(halt, read_at) for halt in halts]
    for hold in holds:
        since = clock(hold["created_at"], read_at)
        told.append(f"Halted: a person holds {hold['repo'] or 'the repository'} (since {since}): {hold['reason']}. "
                    "It ends when you say: damascus release")  # fmt: skip
    if holds or any(halt.story is None for halt in halts):
        return told
    return [*told, _going_on(tasks)] if told else [f"Halted: nothing. {_going_on(tasks)}"]


def _going_on(tasks: Sequence[ToldTask]) -> str:
    if all(one.status is TaskStatus.DONE for one in tasks):
        return "Every task is DONE."
    going = [one.task.story_id for one in tasks if one.goes_on]
    return f"Goes on with {listed(going, NAMED)}." if going else "Nothing goes on by itself."


def edited(rows: Sequence[Row]) -> list[str]:
    """A line for each status that somebody wrote into a graph."""
    return [
        one_line(
            f"{row['file']} said {row['found']} of {row['task']}, by hand: it is {row['status']}, as written there."
        )
        for row in rows
    ]
