"""A task graph as CodeSleuth's builder documents it, and every other way to write the same."""

from collections.abc import Callable

import pytest

from damascus.domain.tasks import ContractKind, TaskType
from damascus.tasks.check import check_graph
from damascus.tasks.graph import Task, read_graph
from tests.rules.tree import document

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


def read_one(*fields: str) -> Task:
    """The only task of a graph with these lines below its heading."""
    (task,) = read_graph("\n".join(["### TASK-1: one", *fields]).encode(), "g").tasks
    return task


@pytest.mark.req("A1.4")
@pytest.mark.parametrize(
    "line",
    [
        "**Status:** IN-PROGRESS", "**status**: IN-PROGRESS", "__Status:__ IN-PROGRESS", "Status: IN-PROGRESS",
        "- **Status:** IN-PROGRESS", "* **STATUS**: IN-PROGRESS", "- Status: IN-PROGRESS", "**Status:** IN-PROGRESS\r",
        "**Status:** IN-PROGRESS (since Monday)", "  **Status:**   IN-PROGRESS  ",
    ],
)  # fmt: skip
def test_a_field_is_known_however_its_name_is_marked(line: str) -> None:
    assert read_one(line).status == "IN-PROGRESS"


@pytest.mark.req("A1.4")
@pytest.mark.parametrize("none", ["none", "None", "-", "", "[]", "n/a", "—", "none (foundation)"])
@pytest.mark.parametrize("name", ["Dependencies", "depends_on", "Depends on", "DEPENDS-ON"])
def test_no_dependency_is_written_in_many_ways(name: str, none: str) -> None:
    assert read_graph(f"### TASK-1: one\n**{name}:** {none}\n".encode(), "g").faults == ()
    assert read_one(f"**{name}:** {none}").depends_on == ()


@pytest.mark.req("A1.4")
@pytest.mark.parametrize(
    "lines",
    [
        ["**Dependencies:** TASK-2, TASK-CICD-1"],
        ["**depends_on:** [TASK-2, TASK-CICD-1]"],
        ["**depends_on:** `TASK-2` (its schema), `TASK-CICD-1`"],
        ["**Dependencies:** TASK-2", "**depends_on:** TASK-2, TASK-CICD-1"],
        ["**Dependencies:**", "- TASK-2", "* TASK-CICD-1"],
        ["#### Dependencies", "1. TASK-2", "2. TASK-CICD-1"],
    ],
)
def test_dependencies_are_a_line_or_a_list(lines: list[str]) -> None:
    assert read_one(*lines).depends_on == ("TASK-2", "TASK-CICD-1")


@pytest.mark.req("A1.4")
@pytest.mark.parametrize(
    "lines",
    [
        ["**output_files:** src/a.py, src/{b,c}/, docs/**/*.md"],
        ["**Output files:**", "- src/a.py", "- src/{b,c}/", "", "- docs/**/*.md"],
        ["**output_files:**", "- `src/a.py` (new)", "* `src/{b,c}/`: two folders", "- docs/**/*.md — pages"],
        ["**output_files:**", "src/a.py", "src/{b,c}/", "docs/**/*.md"],
        ["**output_files:** [src/a.py, src/{b,c}/, docs/**/*.md]"],
    ],
)
def test_output_files_are_a_line_or_a_list(lines: list[str]) -> None:
    assert read_one(*lines).output_files == ("src/a.py", "src/{b,c}/", "docs/**/*.md")


@pytest.mark.req("A1.4")
@pytest.mark.parametrize(
    "lines",
    [
        ["make lint", "make types"],
        ["- make lint", "- `make types`"],
        ["```sh", "make lint", "", "# the types", "make types", "```"],
        ["~~~", "make lint", "make \\", "  types", "~~~"],
        ["make lint", "make types", "", "Both are quick."],
    ],
)
def test_gate_commands_are_lines_a_list_or_a_fenced_block(lines: list[str]) -> None:
    assert read_one("**Gate commands:**", *lines).gate_commands == ("make lint", "make types")


@pytest.mark.req("A1.4")
def test_criteria_go_on_over_lines_and_end_with_the_next_field() -> None:
    task = read_one(
        "**Acceptance criteria:**", "- [ ] a quoted comma", "  stays in its field", "1. an **Owner:** is shown",
        "- **Status:** is shown too", "", "Words about it.", "**Owner:** somebody", "- not a criterion",
    )  # fmt: skip
    assert task.criteria == ("a quoted comma stays in its field", "an **Owner:** is shown", "**Status:** is shown too")
    assert task.status == ""


@pytest.mark.req("A1.4")
def test_a_list_of_fields_has_lists_inside() -> None:
    task = read_one(
        "- Status: DONE", "- output_files:", "  - src/a.py", "  - src/b.py", "- Acceptance criteria:", "  - it works",
        "- can_parallel: yes",
    )  # fmt: skip
    assert (task.status, task.output_files, task.criteria) == ("DONE", ("src/a.py", "src/b.py"), ("it works",))
    assert task.can_parallel


@pytest.mark.req("A1.4")
def test_a_contract_has_four_or_five_columns_and_follows_its_status_too() -> None:
    four = read_one(
        "**Test contract status:** REQUIRED", "",
        "| TC id | Behaviour | Kind | Test file |", "|:--|---|---|--:|", "| tc-2 | a \\| b | E2E | `tests/a.py` |",
    )  # fmt: skip
    assert [(one.id, one.behaviour, one.kind) for one in four.contracts] == [("TC-2", "a | b", ContractKind.E2E)]
    five = read_one(
        "**Test contract:**", "| TC | Behaviour | Kind | Test file | Command |", "|---|---|---|---|---|",
        "| TC-1 | looks right | visual | tests/a.py | `pytest tests/a.py` |", "| TC-2 | b | unit | tests/b.py | |",
    )  # fmt: skip
    assert [(one.file, one.command) for one in five.contracts] == [
        ("tests/a.py", "pytest tests/a.py"), ("tests/b.py", ""),
    ]  # fmt: skip


@pytest.mark.req("A1.4")
@pytest.mark.parametrize("text", ["EXEMPT (words alone)", "exempt: words alone", "EXEMPT — words alone."])
def test_an_exemption_has_its_reason(text: str) -> None:
    assert read_one(f"**Test contract status:** {text}").exempt == "words alone"


@pytest.mark.req("A1.4")
@pytest.mark.parametrize(
    "lines",
    [
        ["Batch 1 (no dependencies): [TASK-1, TASK-CICD-2]", "Batch 2 (depends on Batch 1): [TASK-3]"],
        ["- **Batch 1:** TASK-1, TASK-CICD-2", "- **Batch 2** (depends on Batch 1): TASK-3"],
        ["```", "Batch 1: [TASK-1, TASK-CICD-2]", "Batch 2: [TASK-3]", "```"],
        ["### Batch 1", "- TASK-1", "- TASK-CICD-2", "### Batch 2 (depends on Batch 1)", "- TASK-3"],
    ],
)
def test_the_map_is_read_in_each_of_its_forms(lines: list[str]) -> None:
    text = "\n".join(["### TASK-1: one", "## Parallelism Map", *lines, "## Afterwards", "Batch 3: [TASK-9]"])
    assert read_graph(text.encode(), "g").batches == (("TASK-1", "TASK-CICD-2"), ("TASK-3",))


@pytest.mark.req("A1.4")
@pytest.mark.parametrize("change", [lambda raw: raw.replace(b"\n", b"\r\n"), lambda raw: b"\xef\xbb\xbf" + raw])
def test_line_endings_and_a_byte_order_mark_change_nothing(change: Callable[[bytes], bytes]) -> None:
    assert read_graph(change(DOCUMENTED.encode()), "g") == read_graph(DOCUMENTED.encode(), "g")


@pytest.mark.req("A1.4")
@pytest.mark.parametrize(
    "heading", ["## TASK-1: one", "#### TASK-1 – one", "### TASK-1 one ###", "### **TASK-1**: one"]
)
def test_a_heading_of_another_level_or_mark_begins_a_task_too(heading: str) -> None:
    (task,) = read_graph(heading.encode(), "g").tasks
    assert (task.id, task.title.strip("*: ")) == ("TASK-1", "one")


@pytest.mark.req("A1.4")
@pytest.mark.parametrize("around", [("```", "```"), ("<!--", "-->"), ("~~~~", "~~~~")])
def test_what_nobody_sees_is_no_task_and_no_field(around: tuple[str, str]) -> None:
    text = ["### TASK-1: one", "**Status:** DONE", around[0], "### TASK-2: two", "**Status:** STALE", around[1]]
    (task,) = read_graph("\n".join(text).encode(), "g").tasks
    assert (task.id, task.status) == ("TASK-1", "DONE")


@pytest.mark.req("A1.4")
def test_a_field_that_the_format_does_not_know_is_left_alone_with_a_note() -> None:
    raw = DOCUMENTED.replace("**Platform:**", "**Owner:** me\n**Estimate:** 2 d\n**Platform:**").encode()
    graph = read_graph(raw, "g")
    assert check_graph(graph) == []
    assert [(note.line, "Owner" in note.text) for note in graph.notes] == [(17, True), (18, False)]


@pytest.mark.req("A1.4")
def test_the_example_of_the_published_format_has_no_fault_and_nothing_left_alone() -> None:
    text = document("docs/task-graph.md").partition("````markdown\n")[2].partition("````")[0]
    graph = read_graph(text.encode(), "example")
    assert check_graph(graph) == [] and graph.notes == ()
    assert [len(task.contracts) for task in graph.tasks] == [2, 2, 0] and len(graph.batches) == 2
    assert [task.id for task in graph.tasks if not task.criteria] == []
