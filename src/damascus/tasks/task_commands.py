"""The Test Command of a task: its contract's own commands, else what runs the contract's test files in their stack."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from damascus.domain.tasks import TestContract
from damascus.stacks import REGISTRY, Stack, stack_of
from damascus.stacks.stack import BaseFiles
from damascus.tasks.fields import TaskField
from damascus.tasks.task import Fault, Task

NOT_PLAIN = re.compile(r"[;&|#\n]")
"""What would mean something else beside another command."""
PYTEST = re.compile(r"(?:^|[\s/])(?:pytest|py\.test)(?=\s|$)")
SEVERAL_CALLS = (
    "is proved by several calls of pytest, of which only the last would report its tests. Write the same call for each "
    "row, with the test file at its end, or leave those cells empty."
)


@dataclass(frozen=True)
class TestGround:
    """What main and the whole graph say of tests. `suite` is the project's whole test command, "" where there is none;
    `suite_later` the one that there will be once the graph's other tasks are on main."""

    __test__ = False

    files: BaseFiles
    suite: str = ""
    suite_later: str = ""


def command_of(task: Task, ground: TestGround) -> str | Fault:
    """In shell, or why nobody can tell it."""
    if not task.contracts:
        return _of_the_project(task, ground)
    commands = _merged([one for one in task.contracts if one.command])
    for stack, contracts in _by_stack(task.contracts):
        files = list(dict.fromkeys(_named(one.file) for one in contracts))
        told = stack.file_command()(files, ground.files) if stack and stack.file_command else ""
        if not told:
            return _unknown(task, contracts[0])
        commands.append(told)
    if sum(PYTEST.search(each) is not None for each in commands) > 1:
        return Fault(task.line_of(TaskField.CONTRACT), f"{task.id} {SEVERAL_CALLS}")
    return _joined(commands)


def _merged(contracts: Sequence[TestContract]) -> list[str]:
    """Commands that differ in the file at their end alone are one call for all of these files."""
    found: dict[str, dict[str, None]] = {}
    for one in contracts:
        start = one.command.removesuffix(one.file)
        ends = one.file if start != one.command and start.endswith(" ") and not NOT_PLAIN.search(start) else ""
        found.setdefault(start if ends else one.command, {})[ends] = None
    return [f"{start}{' '.join(filter(None, files))}" for start, files in found.items()]


def _of_the_project(task: Task, ground: TestGround) -> str | Fault:
    """For a task without a contract; one that depends on others will find their tests there."""
    found = ground.suite or (ground.suite_later if task.depends_on else "")
    text = (
        f"{task.id} is EXEMPT, so the project's whole test command must hold for it, and main has none. Name one "
        "([test] command in damascus.toml, on main), or give it a test contract."
    )
    return found or Fault(task.line_of(TaskField.CONTRACT_STATUS), text)


def _by_stack(contracts: Sequence[TestContract]) -> list[tuple[Stack | None, list[TestContract]]]:
    found: dict[str, list[TestContract]] = {}
    for one in contracts:
        stack = stack_of(one.file)
        if not one.command:
            found.setdefault(stack.name if stack else "", []).append(one)
    return [(REGISTRY.get(name), each) for name, each in found.items()]


def _named(path: str) -> str:
    """No file is taken for an option."""
    return f"./{path}" if path.startswith("-") else path


def _unknown(task: Task, contract: TestContract) -> Fault:
    text = (
        f"nobody can tell which command runs {contract.file} ({contract.id} of {task.id}). Write it into the fifth "
        "cell of that row."
    )
    return Fault(task.line_of(TaskField.CONTRACT, contract.id), text)


def _joined(commands: list[str]) -> str:
    """Each is run, though one before it failed: without the code all of them must be seen to fail."""
    if len(commands) == 1:
        return commands[0]
    each = [f"(\n{one}\n)" if NOT_PLAIN.search(one) else one for one in commands]
    return "\n".join(["failed=0", *(f"{one} || failed=$?" for one in each), "exit $failed"])
