"""The fields of a task in a task graph: their names, every spelling of them, and how a line of one is known."""

import re
from dataclasses import dataclass, field
from functools import lru_cache

from damascus.domain.described import Described
from damascus.tasks.lines import Placed


class TaskField(Described):
    """As the published format writes them (docs/task-graph.md)."""

    STATUS = "Status", "the state of the task. Damascus writes it; a word of yours here is reported, not obeyed"
    TYPE = "Task type", "what the task is about; `feature` where it is left out"
    PLATFORM = "Platform", "where it runs: `web`, `ios`, … Told to the agent"
    DOMAIN = "Domain", "what its code deals with: `auth`, `payment`, … Patterns are searched by it"
    DEPENDS_ON = "depends_on", "ids of the tasks that must be on main first: a list, or on the line with commas"
    CAN_PARALLEL = "can_parallel", "`true` promises that it shares no output file with a task that may run beside it"
    OUTPUT_FILES = "output_files", "the files, folders (`src/io/`) and globs that it may write, its test files too"
    CRITERIA = "Acceptance criteria", "a list: what must be true when it is done"
    CONTRACT_STATUS = "Test contract status", "`REQUIRED`, or `EXEMPT (reason)`; `REQUIRED` where it is left out"
    CONTRACT = "Test contract", "the table of its test contracts"
    GATES = "Gate commands", "commands of its own, one a line, that must exit with 0: plain, a list, or a fenced block"
    CHECKPOINT = "Checkpoint", "the commit on main that has it, and when it landed. Damascus writes it"


SPELLINGS = {
    **{name.lower().replace("_", " "): name for name in TaskField},
    "type": TaskField.TYPE,
    "dependencies": TaskField.DEPENDS_ON,
    "parallel": TaskField.CAN_PARALLEL,
    "output file": TaskField.OUTPUT_FILES,
    "acceptance criterion": TaskField.CRITERIA,
    "contract status": TaskField.CONTRACT_STATUS,
    "test contracts": TaskField.CONTRACT,
    "gate command": TaskField.GATES,
}
LISTS = frozenset(
    {TaskField.DEPENDS_ON, TaskField.OUTPUT_FILES, TaskField.CRITERIA, TaskField.CONTRACT, TaskField.GATES}
)
"""Fields that go on below their line."""
NAME = r"[A-Za-z][A-Za-z0-9 _/-]{0,40}"
BOLD = re.compile(rf"[ \t]{{0,8}}([-*+][ \t]{{1,4}})?(?:\*\*|__)({NAME})(?::(?:\*\*|__)|(?:\*\*|__)[ \t]{{0,4}}:)")
PLAIN = re.compile(rf"[ \t]{{0,8}}([-*+][ \t]{{1,4}})?({NAME}):(?=[ \t\r]|$)")


@dataclass(slots=True)
class FieldAt:
    """A field where it stands. `begins`: where its value does on its line; `bullet`: the indent of its mark, or -1.

    `name` is None for a field that the format does not know: it is left alone.
    """

    name: TaskField | None
    spelled: str
    line: int
    value: str
    begins: int
    bullet: int
    below: list[Placed] = field(default_factory=list)


def field_on(line: str, number: int) -> FieldAt | None:
    """The field that a line begins, whatever its name if that is bold; of plain lines only known names are fields."""
    found = BOLD.match(line)
    if found is None:
        found = PLAIN.match(line)
        if found is None or named(found[2]) is None:
            return None
    bullet = len(line) - len(line.lstrip()) if found[1] else -1
    return FieldAt(named(found[2]), found[2].strip(), number, line[found.end() :].strip(), found.end(), bullet)


@lru_cache(maxsize=256)
def named(words: str) -> TaskField | None:
    return SPELLINGS.get(" ".join(words.lower().replace("_", " ").replace("-", " ").split()))


def goes_on(field: FieldAt | None, with_: FieldAt) -> bool:
    """Is that line, which looks like a field, one item of this field's list? Only where the list has other marks."""
    return field is not None and field.name in LISTS and with_.bullet >= 0 and with_.bullet != field.bullet
