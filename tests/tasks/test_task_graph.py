"""A task graph as CodeSleuth's builder documents it, and every other way to write the same."""

import pytest

from damascus.domain.tasks import ContractKind, TaskType
from damascus.tasks.check import check_graph
from damascus.tasks.graph import read_graph

DOCUMENTED = """\
# TASK-GRAPH: reader

### TASK-001: Errors
**Status:** DONE
**Task type:** config
**Dependencies:** none
**output_files:** src/io/errors.py, tests/test_errors.py
**Test contract status:** REQUIRED
**Test contract:**
| # | Behavior description | Test type | Test file |
|---|---|---|---|
| TC-1 | bad input | unit | tests/test_errors.py |

### TASK-002: Read CSV
**Status:** PENDING
**Task type:** data
**Platform:** web
**Dependencies:** TASK-001
**depends_on:** TASK-001
**can_parallel:** true
**output_files:**
- src/io/csv.py
- tests/test_csv.py
**Acceptance criteria:**
- a quoted comma stays in its field
**Test contract status:** REQUIRED
**Test contract:**
| # | Behavior description | Test type | Test file |
|---|---|---|---|
| TC-1 | quoted comma | unit | tests/test_csv.py |
**Gate commands:**
pnpm agent:check
**Checkpoint:** <sha> <time>

## Parallelism Map
Batch 1 (no dependencies): [TASK-001]
Batch 2 (depends on Batch 1): [TASK-002]
"""


@pytest.mark.req("A1.4")
def test_the_documented_format_is_read_whole() -> None:
    graph = read_graph(DOCUMENTED.encode(), "TASK-GRAPH.md")
    assert check_graph(graph) == [] and graph.notes == ()
    first, second = graph.tasks
    assert (first.id, first.title, first.status, first.line) == ("TASK-001", "Errors", "DONE", 3)
    assert (first.type, first.depends_on, first.can_parallel) == (TaskType.CONFIG, (), False)
    assert first.output_files == ("src/io/errors.py", "tests/test_errors.py")
    assert (second.type, second.platform, second.depends_on) == (TaskType.DATA, "web", ("TASK-001",))
    assert second.can_parallel and second.criteria == ("a quoted comma stays in its field",)
    (contract,) = second.contracts
    assert (contract.id, contract.kind, contract.file) == ("TC-1", ContractKind.UNIT, "tests/test_csv.py")
    assert (second.gate_commands, second.checkpoint) == (("pnpm agent:check",), "<sha> <time>")
    assert graph.batches == (("TASK-001",), ("TASK-002",))
