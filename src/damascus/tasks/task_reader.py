"""One task of a task graph, read field by field; whatever can't be read is a fault with its line."""

from collections.abc import Callable, Sequence

from damascus.domain.errors import UsageError
from damascus.domain.ids import STORY_MAX, StoryId
from damascus.domain.scope import checked_pattern
from damascus.domain.tasks import HEAD, TaskType, TestContract, cells, contract_of, is_head
from damascus.domain.verdict import TaskStatus
from damascus.domain.visible import visible
from damascus.tasks.blocks import Block
from damascus.tasks.fields import FieldAt, TaskField
from damascus.tasks.lines import Seen
from damascus.tasks.task import Fault, Places, Task
from damascus.tasks.values import (
    FALSE,
    LONGEST,
    NOTHING,
    TRUE,
    Item,
    commands,
    is_task_id,
    known_status,
    listed,
    path_of,
    quoted,
    sentences,
    word_of,
)

MOST_ITEMS = 500
RULE = "|:- \t\r"
"""What the line below the head of a table is made of."""
LONGEST_PATH = 400
ONCE = tuple(name for name in TaskField if name is not TaskField.DEPENDS_ON)
TYPES = {str(each): each for each in TaskType}
REQUIRED, EXEMPT = "REQUIRED", "EXEMPT"


class TaskReader:
    """Reads one block; `faults` are in the order in which they were met."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._id = block.id[: STORY_MAX + 1]
        self.faults: list[Fault] = []
        self.places: Places = {}
        self._fields: dict[TaskField, list[FieldAt]] = {}
        for each in block.fields:
            if each.name is not None:
                self._fields.setdefault(each.name, []).append(each)
                self.places.setdefault((each.name, ""), each.line)

    def read(self) -> Task:
        self._refuse_heading()
        self._refuse_fields_twice()
        exempt = self._exempt()
        return Task(
            id=StoryId(self._id),
            title=self._block.title,
            line=self._block.line,
            status=self._status(),
            type=self._type(),
            platform=self._word(TaskField.PLATFORM),
            domain=self._word(TaskField.DOMAIN).lower(),
            depends_on=self._dependencies(),
            can_parallel=self._can_parallel(),
            output_files=self._output_files(),
            criteria=tuple(self._items(TaskField.CRITERIA, sentences)),
            contracts=self._contracts(),
            exempt=exempt,
            gate_commands=tuple(self._items(TaskField.GATES, commands)),
            checkpoint=self._text(TaskField.CHECKPOINT),
            places=self.places,
        )

    # ── the heading ───────────────────────────────────────────────────────────────────────────────────

    def _refuse_heading(self) -> None:
        if not is_task_id(self._id):
            self._fault(
                self._block.line, f"{quoted(self._id)} is no id of a task. Write it like TASK-001 or TASK-CICD-1"
            )
        if not visible(self._block.title):
            self._fault(self._block.line, f"{quoted(self._id)} has no title. Write: ### {self._id}: what it does")

    def _refuse_fields_twice(self) -> None:
        for name in ONCE:
            for again in self._fields.get(name, ())[1:]:
                self._say(again.line, f"has {quoted(again.spelled)} twice. Keep one of them")

    # ── words ─────────────────────────────────────────────────────────────────────────────────────────

    def _status(self) -> str:
        word = word_of(self._text(TaskField.STATUS))
        if word and known_status(word) is None:
            self._say(
                self._at(TaskField.STATUS),
                f"has the unknown status {quoted(word)}. Use one of: {', '.join(TaskStatus)}",
            )
        return word

    def _type(self) -> TaskType:
        word = self._word(TaskField.TYPE).lower()
        known = TYPES.get(word)
        if word and known is None:
            self._say(
                self._at(TaskField.TYPE), f"is of the unknown type {quoted(word)}. Use one of: {', '.join(TaskType)}"
            )
        return known or TaskType.FEATURE

    def _can_parallel(self) -> bool:
        word = self._word(TaskField.CAN_PARALLEL).lower()
        if word not in (*TRUE, *FALSE):
            self._say(self._at(TaskField.CAN_PARALLEL), f"says can_parallel {quoted(word)}. Write true or false")
        return word in TRUE

    def _exempt(self) -> str:
        """The reason, "" where a contract is required."""
        text = self._text(TaskField.CONTRACT_STATUS).strip("*`")
        word = text[: len(EXEMPT)].upper()
        if not text or text.upper().startswith(REQUIRED):
            return ""
        reason = visible(text[len(EXEMPT) :].strip("()[]:.,;-–—*` \t"))
        at = self._at(TaskField.CONTRACT_STATUS)
        if word != EXEMPT:
            self._say(at, f"has the unknown test contract status {quoted(text)}. Write REQUIRED, or EXEMPT (reason)")
        elif not reason:
            self._say(at, "is EXEMPT from test contracts without a reason. Write: EXEMPT (the reason)")
        elif self._rows():
            self._say(at, "is EXEMPT and has test contracts. Write REQUIRED, or take the table out")
        return reason if word == EXEMPT else ""

    # ── lists ─────────────────────────────────────────────────────────────────────────────────────────

    def _dependencies(self) -> tuple[StoryId, ...]:
        found: dict[StoryId, None] = {}
        for number, text in self._listed(TaskField.DEPENDS_ON):
            word = word_of(text).strip("`*[]. ")
            if is_task_id(word.upper()):
                found[StoryId(word)] = None
                self.places.setdefault((TaskField.DEPENDS_ON, word), number)
            elif word.lower() not in NOTHING:
                self._say(number, f"depends on {quoted(word)}, which is no id of a task. Write ids, or none")
        return tuple(found)

    def _output_files(self) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for number, text in self._listed(TaskField.OUTPUT_FILES):
            path = path_of(text)
            try:
                checked = checked_pattern(path[: LONGEST_PATH + 1])
            except UsageError as err:
                self._say(number, str(err).replace("scope", "names the output file", 1).rstrip("."))
                continue
            if len(path) > LONGEST_PATH:
                self._say(number, f"names a path of more than {LONGEST_PATH} characters. Name the folder")
            found[checked] = None
            self.places.setdefault((TaskField.OUTPUT_FILES, checked), number)
        return tuple(found)

    def _listed(self, name: TaskField) -> list[Item]:
        return self._few(name, [item for each in self._fields.get(name, ()) for item in listed(each)])

    def _items(self, name: TaskField, read: Callable[[FieldAt], list[Item]]) -> list[str]:
        found = self._few(name, [item for each in self._fields.get(name, ())[:1] for item in read(each)])
        for number, text in found:
            if len(text) > LONGEST:
                self._say(number, f"has an item of more than {LONGEST:,} characters. Write it shorter")
        return list(dict.fromkeys(text for _, text in found))

    def _few(self, name: TaskField, found: list[Item]) -> list[Item]:
        if len(found) > MOST_ITEMS:
            self._say(self._at(name), f"lists more than {MOST_ITEMS} {name}. Split the task, or name folders")
        return found[:MOST_ITEMS]

    # ── test contracts ────────────────────────────────────────────────────────────────────────────────

    def _contracts(self) -> tuple[TestContract, ...]:
        found: dict[str, TestContract] = {}
        for number, row in self._few(TaskField.CONTRACT, self._rows()):
            one = self._contract(number, row)
            if one is None:
                continue
            if found.setdefault(one.requirement, one) is not one:
                self._say(number, f"has {one.id} twice in its test contract. Give each row its own id")
            else:
                self.places.setdefault((TaskField.CONTRACT, one.id), number)
        return tuple(found.values())

    def _contract(self, number: int, row: str) -> TestContract | None:
        """None for the head, and what can't be read."""
        told = cells(row)
        if is_head(told):
            return None
        if len(told) > len(HEAD):
            self._say(
                number, f"has a row of {len(told)} cells in its test contract. Write \\| for a pipe in one of them"
            )
            return None
        try:
            return contract_of(told, self._id)
        except UsageError as err:
            self.faults.append(Fault(number, str(err)))
            return None

    def _rows(self) -> list[Item]:
        """The table may follow on either line: `Test contract` itself, or its status."""
        fields = [*self._fields.get(TaskField.CONTRACT, ()), *self._fields.get(TaskField.CONTRACT_STATUS, ())]
        return sorted(
            (number, line.strip())
            for each in fields
            for number, line, place in each.below
            if place is Seen.TEXT and line.lstrip().startswith("|") and line.strip(RULE)
        )

    # ── small things ──────────────────────────────────────────────────────────────────────────────────

    def _text(self, name: TaskField) -> str:
        fields: Sequence[FieldAt] = self._fields.get(name, ())
        text = fields[0].value if fields else ""
        if len(text) > LONGEST:
            self._say(fields[0].line, f"has more than {LONGEST:,} characters in {name}. Write it shorter")
        return text[:LONGEST]

    def _word(self, name: TaskField) -> str:
        word = word_of(self._text(name)).strip("`*")
        return "" if word.lower() in NOTHING else word

    def _at(self, name: TaskField) -> int:
        return self.places.get((name, ""), self._block.line)

    def _say(self, line: int, text: str) -> None:
        self._fault(line, f"{self._id} {text}")

    def _fault(self, line: int, text: str) -> None:
        self.faults.append(Fault(line, f"{text}." if not text.endswith((".", ")")) else text))
