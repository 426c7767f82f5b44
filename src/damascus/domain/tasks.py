"""Words of the application builder (docs/task-graph.md): what a task is, and what its test contract promises.

A task is a story, and everything that is known of it stands in its frozen spec: nothing is modelled twice.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from posixpath import dirname, join

from damascus.domain.described import Described
from damascus.domain.errors import UsageError

CELLS = re.compile(r"(?<!\\)\|")
RULE = re.compile(r"^[\s:|-]+$")
CONTRACT_ID = re.compile(r"TC-\d{1,6}")
PROJECTED = ("CHECKPOINT.md", "DECISIONS.md", "ASSUMPTIONS.md", "FILE_OWNERSHIP_MAP.md")
"""What Damascus writes beside a task graph."""
HEAD = ("TC", "Behaviour", "Kind", "Test file", "Command")


def beside(*graphs: str) -> tuple[str, ...]:
    """These graphs, and what is written beside each: no task's to write."""
    places = [path for graph in graphs for path in (graph, *(join(dirname(graph), name) for name in PROJECTED))]
    return tuple(dict.fromkeys(places))


class TaskType(Described):
    """What a task is about; some types bring a gate of their own."""

    API = "api", "an interface that others call: gate `contracts` must have checked something"
    DATA = "data", "a data model: gate `contracts` must have checked something"
    UI = "ui", "what people see: gate `visual` must have looked at a page"
    AUTH = "auth", "who may do what"
    INFRA = "infra", "what the application runs on"
    CONFIG = "config", "settings"
    FEATURE = "feature", "anything else that the application does"
    CICD = "cicd", "how it is built and delivered"
    OBS = "obs", "logs, metrics, traces"
    TEST = "test", "tests alone"
    DOCS = "docs", "documents alone"


class ContractKind(Described):
    """How much of the application a test of the contract runs."""

    UNIT = "unit", "one part by itself"
    INTEGRATION = "integration", "several parts together"
    E2E = "e2e", "the application as its user meets it"
    VISUAL = "visual", "how a page looks"


KINDS = {str(kind): kind for kind in ContractKind}


@dataclass(frozen=True)
class TestContract:
    """One line of a task's test contract: a behaviour, and the test file in which a test proves it."""

    __test__ = False

    id: str
    behaviour: str
    kind: ContractKind
    file: str
    command: str = ""

    @property
    def requirement(self) -> str:
        """TC-3 is proved by the tests that name REQ-003."""
        return f"REQ-{int(self.id.partition('-')[2]):03d}"


def parse_contracts(text: str, name: str) -> tuple[TestContract, ...]:
    """The table below `## Test Contract`: TC, behaviour, kind, test file, and a command where one is there."""
    rows = [line.strip() for line in text.splitlines() if line.strip().startswith("|")]
    told = [cells(row) for row in rows if not RULE.match(row)]
    found = tuple(contract_of(row, name) for row in told if not is_head(row))
    twice = next((one.id for n, one in enumerate(found) if one.id in {each.id for each in found[:n]}), "")
    if twice:
        raise UsageError(f"{name}: the test contract has {twice} twice. Give each row its own id.")
    return found


def contract_table(contracts: Sequence[TestContract]) -> str:
    """As `parse_contracts` reads it."""
    rows = [(one.id, one.behaviour, one.kind, one.file, one.command) for one in contracts]
    lines = [HEAD, ("---",) * len(HEAD), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in lines)


def cells(row: str) -> list[str]:
    """The cells of one line of a Markdown table."""
    inside = row.strip().strip("|")
    if "\\" not in inside:
        return [cell.strip() for cell in inside.split("|")]
    return [cell.strip().replace("\\|", "|") for cell in CELLS.split(inside)]


def is_head(row: Sequence[str]) -> bool:
    return row[0].lower() in ("#", "tc", "id", "tc id")


def contract_of(row: Sequence[str], name: str) -> TestContract:
    """The cells of one row; raises with one sentence where they make no contract."""
    told = [*row, "", "", "", ""]
    ident, behaviour, kind, file, command = told[0].upper(), told[1], told[2].lower(), told[3].strip("`"), told[4]
    if not CONTRACT_ID.fullmatch(ident):
        raise UsageError(f"{name}: {told[0]!r} is no id of a test contract. Write TC-1, TC-2, … (docs/task-graph.md).")
    if kind not in KINDS:
        known = ", ".join(ContractKind)
        raise UsageError(f"{name}: {ident} is of the kind {kind!r}. Use one of: {known} (docs/task-graph.md).")
    if not behaviour or not file:
        lacks = "behaviour" if not behaviour else "test file"
        raise UsageError(f"{name}: {ident} names no {lacks}. Fill that cell (docs/task-graph.md).")
    return TestContract(ident, behaviour, KINDS[kind], file, command.strip("`"))
