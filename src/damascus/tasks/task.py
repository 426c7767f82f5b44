"""What a task graph says, once it is read: tasks, batches, faults. `tasks.graph` hands these words on."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from damascus.domain.ids import StoryId
from damascus.domain.tasks import TaskType, TestContract
from damascus.tasks.fields import TaskField

Places = dict[tuple[str, str], int]
"""Lines by field and item; the field's own is that of the item ""."""


@dataclass(frozen=True, order=True)
class Fault:
    """What is wrong on a line of the file, and what to do: one sentence."""

    line: int
    text: str


@dataclass(frozen=True)
class Task:
    """One task as it is written."""

    id: StoryId
    title: str
    line: int
    status: str = ""
    """The word as written."""
    type: TaskType = TaskType.FEATURE
    platform: str = ""
    domain: str = ""
    depends_on: tuple[StoryId, ...] = ()
    can_parallel: bool = False
    output_files: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    contracts: tuple[TestContract, ...] = ()
    exempt: str = ""
    """Why it needs no test contract; "" where it needs one."""
    gate_commands: tuple[str, ...] = ()
    checkpoint: str = ""
    places: Mapping[tuple[str, str], int] = field(default_factory=dict, compare=False, repr=False)

    def line_of(self, name: TaskField, item: str = "") -> int:
        """Where that field, or an item of it, is written; else the line of the task."""
        return self.places.get((name, item)) or self.places.get((name, "")) or self.line


@dataclass(frozen=True)
class TaskGraph:
    """`faults` are those of reading, `tasks.check` finds the others. `notes` say what was left alone."""

    tasks: tuple[Task, ...]
    batches: tuple[tuple[StoryId, ...], ...] = ()
    faults: tuple[Fault, ...] = ()
    batch_lines: tuple[int, ...] = ()
    notes: tuple[Fault, ...] = ()
