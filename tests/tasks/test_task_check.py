"""Whatever is wrong with a task graph is told with its line, all at once."""

import pytest

from damascus.domain.tasks import PROJECTED
from damascus.tasks.check import check_graph
from damascus.tasks.graph import read_graph


def task(ident: str, *lines: str, files: str = "", contract: bool = True) -> str:
    """A task without a fault, and these lines besides."""
    name = ident.lower()
    table = ["**Test contract:**", f"| TC-1 | it works | unit | tests/test_{name}.py |"] if contract else []
    outputs = [f"**output_files:** {files or f'src/{name}.py'}, tests/test_{name}.py"] if files != "none" else []
    return "\n".join([f"### {ident}: {name}", *lines, *outputs, *table, ""])


def faults(*parts: str) -> list[tuple[int, str]]:
    graph = read_graph("\n".join(parts).encode(), "TASK-GRAPH.md")
    return [(fault.line, fault.text) for fault in check_graph(graph)]


def only(*parts: str) -> tuple[int, str]:
    found = faults(*parts)
    assert len(found) == 1, found
    return found[0]


pytestmark = pytest.mark.req("A1.5")


def test_a_task_as_this_file_writes_it_has_no_fault() -> None:
    assert faults(task("TASK-1"), task("TASK-2", "**depends_on:** TASK-1")) == []


def test_a_circle_is_named_whole() -> None:
    line, text = only(
        task("TASK-1", "**depends_on:** TASK-3"), task("TASK-2", "**depends_on:** TASK-1"),
        task("TASK-3", "**depends_on:** TASK-2"), task("TASK-4", "**depends_on:** TASK-3"),
    )  # fmt: skip
    assert line == 2 and "TASK-1 → TASK-3 → TASK-2 → TASK-1." in text


def test_every_circle_is_told_at_once() -> None:
    pairs = [
        task(f"TASK-{n}", f"**depends_on:** TASK-{n + 1 if n % 2 == 0 else n - 1}, TASK-{max(n - 2, 0)}")
        for n in range(2, 8)
    ]
    told = [text for _, text in faults(task("TASK-0"), task("TASK-1"), *pairs)]
    assert len(told) == 3 and all("in a circle" in text for text in told)


def test_a_circle_as_long_as_the_graph_is_no_trouble() -> None:
    ring = [task(f"TASK-{n}", f"**depends_on:** TASK-{(n + 1) % 3000}") for n in range(3000)]
    assert only(*ring)[1].count("→") == 3000


def test_a_task_that_needs_itself() -> None:
    assert only(task("TASK-1", "**Dependencies:** TASK-1")) == (2, "TASK-1 depends on itself. Take that out.")


def test_an_unknown_id_in_a_list_has_its_own_line() -> None:
    line, text = only(task("TASK-1", "**depends_on:**", "- TASK-7"))
    assert line == 3 and text.startswith("TASK-1 depends on TASK-7, which is no task of this graph.")
    assert only(task("TASK-1"), task("TASK-2", "**depends_on:** task-1"))[1].endswith("Write TASK-1.")


def test_what_is_no_id_is_no_dependency() -> None:
    assert only(task("TASK-1", "**depends_on:** the login"))[1].startswith(
        "TASK-1 depends on 'the login', which is no id"
    )


def test_two_tasks_of_one_id_ignoring_case() -> None:
    line, text = only(task("TASK-1"), task("TASK-1", files="src/b.py"))
    assert line == 6 and "'TASK-1' is the id of the task on line 1 too" in text
    assert [line for line, _ in faults(task("TASK-A1"), task("TASK-a1", files="b.py"))] == [6, 6]


@pytest.mark.parametrize(
    "ident", ["TASK-../../etc", "TASK-a", "TASK-1_2", "Task 5", "TASK-" + "1" * 60, "task-7", "TASK-ä", "TASK-"]
)
def test_an_id_that_can_be_no_story_is_refused(ident: str) -> None:
    line, text = faults(task("TASK-1"), task(ident, files="src/x.py", contract=False))[0]
    assert line == 6 and "is no id of a task" in text


def test_a_title_is_needed() -> None:
    assert "has no title" in faults("### TASK-1:\u200b")[0][1]


def test_a_task_without_output_files_or_contract() -> None:
    told = faults(task("TASK-1", "**Task type:** api", files="none", contract=False))
    assert [(line, text.split(".")[0]) for line, text in told] == [
        (1, "TASK-1 has no output_files"), (1, "TASK-1 has no test contract"),
    ]  # fmt: skip


@pytest.mark.parametrize("status", ["EXEMPT", "EXEMPT ()", "EXEMPT: \u200b"])
def test_an_exemption_needs_a_reason_that_can_be_read(status: str) -> None:
    line, text = only(task("TASK-1", f"**Test contract status:** {status}", contract=False))
    assert line == 2 and "without a reason" in text
    assert faults(task("TASK-1", "**Test contract status:** EXEMPT (words alone)", contract=False)) == []


def test_an_exemption_and_a_contract_contradict_each_other() -> None:
    assert "EXEMPT and has test contracts" in only(task("TASK-1", "**Test contract status:** EXEMPT (words)"))[1]
    assert "unknown test contract status 'MAYBE'" in only(task("TASK-1", "**Test contract status:** MAYBE"))[1]


@pytest.mark.parametrize(
    ("one", "two"),
    [("src/a.py", "src/a.py"), ("src/", "src/io/a.py"), ("src/*.py", "src/a.py"), ("src/io/", "src/"), ("**/a", "b/a")],
)
def test_output_files_that_overlap_inside_a_batch(one: str, two: str) -> None:
    first, second = task("TASK-1", files=one), task("TASK-2", files=two)
    assert faults(first, second) == [], "without the map they are worked one after the other"
    line, text = only(first, second, "## Parallelism Map\nBatch 1: [TASK-1, TASK-2]")
    assert line == 12 and text.startswith("TASK-2 and TASK-1 both write ") and "in one batch" in text
    assert faults(first, second, "## Parallelism Map\nBatch 1: [TASK-1]\nBatch 2: [TASK-2]") == []


def test_tasks_that_may_run_side_by_side_share_no_file() -> None:
    first, second = task("TASK-1", "**can_parallel:** true"), "**can_parallel:** true"
    line, text = only(first, task("TASK-2", second, files="src/task-1.py"))
    assert line == 9 and "TASK-2 and TASK-1 both write src/task-1.py and both say can_parallel: true" in text
    assert faults(first, task("TASK-2", second, "**depends_on:** TASK-1", files="src/task-1.py")) == []
    assert faults(first, task("TASK-2", "**can_parallel:** false", files="src/task-1.py")) == []
    middle = task("TASK-3", "**depends_on:** TASK-1")
    assert faults(first, middle, task("TASK-2", second, "**depends_on:** TASK-3", files="src/task-1.py")) == []


def test_the_map_has_known_ids_once_and_in_order() -> None:
    both = task("TASK-1"), task("TASK-2", "**depends_on:** TASK-1")
    assert "names TASK-9, which is no task" in only(*both, "## Parallelism Map\nBatch 1: [TASK-1, TASK-9]")[1]
    assert "lists 'the rest'" in only(*both, "## Parallelism Map\nBatch 1: [TASK-1, the rest]")[1]
    assert "has batch 1 twice" in only(*both, "## Parallelism Map\nBatch 1: [TASK-1]\nBatch 1: [TASK-2]")[1]
    assert (
        "TASK-1 is in batch 1 and in batch 2" in only(*both, "## Parallelism Map\nBatch 1: TASK-1\nBatch 2: TASK-1")[1]
    )
    for wrong in ("Batch 1: [TASK-1, TASK-2]", "Batch 1: [TASK-2]\nBatch 2: [TASK-1]"):
        assert "TASK-2 is in a batch before or with TASK-1" in only(*both, f"## Parallelism Map\n{wrong}")[1]


@pytest.mark.parametrize("files", ["src/", "tests/*.py", "**/test_?.py"])
def test_a_test_file_outside_of_the_output_files(files: str) -> None:
    row = "| TC-2 | more | unit | spec/a_spec.rb |"
    line, text = only(f"### TASK-1: one\n**output_files:** {files}\n**Test contract:**\n{row}")
    assert line == 4 and text == (
        "TASK-1 may not write 'spec/a_spec.rb', the test file of TC-2. Add it to output_files."
    )
    for covered in ("spec/", "**/*_spec.rb", "spec/a_spec.rb"):
        assert faults(f"### TASK-1: one\n**output_files:** {covered}\n**Test contract:**\n{row}") == []


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("**Status:** FINISHED", "TASK-1 has the unknown status 'FINISHED'. Use one of: PENDING, IN-PROGRESS, DONE"),
        ("**Status:** PENDING REVIEW", "unknown status 'PENDING REVIEW'"),
        ("**Task type:** backend", "TASK-1 is of the unknown type 'backend'. Use one of: api, data, ui"),
        ("**can_parallel:** maybe", "TASK-1 says can_parallel 'maybe'. Write true or false."),
        ("**Platform:** web\n**Platform:** ios", "TASK-1 has 'Platform' twice."),
    ],
)
def test_a_word_that_is_not_known(line: str, says: str) -> None:
    assert says in only(task("TASK-1", line))[1]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("| TC-1 | twice | unit | tests/test_task-1.py |", "has TC-1 twice"),
        ("| TC-01 | twice | unit | tests/test_task-1.py |", "has TC-01 twice"),
        ("| TC-2 | b | smoke | tests/test_task-1.py |", "TC-2 is of the kind 'smoke'"),
        ("| TC-x | b | unit | tests/test_task-1.py |", "'TC-x' is no id of a test contract"),
        ("| TC-2 | | unit | tests/test_task-1.py |", "TC-2 names no behaviour"),
        ("| TC-2 | b | unit | |", "TC-2 names no test file"),
        ("| TC-2 | b | unit | tests/test_task-1.py | make | x |", "has a row of 6 cells"),
    ],
)
def test_a_row_of_the_contract_that_can_not_be_read(row: str, says: str) -> None:
    line, text = only(task("TASK-1").rstrip("\n") + f"\n{row}")
    assert line == 5 and text.startswith("TASK-1") and says in text


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../x", "a/../b", "~/x", "damascus.toml", ".github/workflows/ci.yml", ".ci/", ".git/x", "**"],
)
def test_an_output_file_that_no_story_may_write(path: str) -> None:
    line, text = only(task("TASK-1", files=path))
    assert line == 2 and text.startswith(f"TASK-1 names the output file {path!r}")


def test_all_faults_come_at_once_and_by_line() -> None:
    found = faults(
        task("TASK-1", "**Status:** FINISHED", "**depends_on:** TASK-9, TASK-2"), task("TASK-1", "**Task type:** x"),
        task("TASK-2", "**depends_on:** TASK-1", files="../x"), "## Parallelism Map\nBatch 1: [TASK-8]",
    )  # fmt: skip
    lines = [line for line, _ in found]
    assert lines == sorted(lines) and len(found) >= 7


@pytest.mark.parametrize("name", ["TASK-GRAPH.md", *PROJECTED])
def test_what_is_written_from_what_is_known_is_no_tasks_to_write(name: str) -> None:
    for files, folder in ((name, ""), (f"plan/{name}", "plan/"), ("plan/", "plan/"), ("plan/*.md", "plan/")):
        graph = read_graph(task("TASK-1", files=files).encode(), "TASK-GRAPH.md")
        told = [fault.text for fault in check_graph(graph, f"{folder}TASK-GRAPH.md")]
        assert len(told) == 1 and "which is Damascus's to write" in told[0], files
    assert check_graph(read_graph(task("TASK-1", files=f"docs/{name}").encode(), "G"), "TASK-GRAPH.md") == []
