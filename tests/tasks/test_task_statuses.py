"""Statuses and checkpoints are written into a task graph, and no other byte of it changes."""

import difflib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from damascus.domain.verdict import TaskStatus
from damascus.tasks.graph import read_graph
from damascus.tasks.statuses import Written, statuses_in, with_statuses
from damascus.tasks.values import known_status

pytestmark = pytest.mark.req("A1.2")
SHA = "0123abcd" * 5
STAMP = f"{SHA} 2026-03-02T10:11:12Z"


def done(raw: str, status: TaskStatus = TaskStatus.DONE, checkpoint: str = "") -> str:
    return with_statuses(raw.encode(), {"TASK-1": Written(status, checkpoint)}).decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("**Status:** PENDING\n", "**Status:** DONE\n"),
        ("**Status:**   PENDING  \t\r\n", "**Status:**   DONE  \t\r\n"),
        ("- **status**: `pending` (see the board)\n", "- **status**: DONE (see the board)\n"),
        ("**Status:** ✅ DONE ✅ <!-- mine -->\n", "**Status:** DONE <!-- mine -->\n"),
        ("**Status:**\n", "**Status:** DONE\n"),
        ("Status: in progress\n", "Status: DONE\n"),
        ("**Status:** PENDING", "**Status:** DONE"),
        ("**Status:** (none yet)\n", "**Status:** DONE (none yet)\n"),
    ],
)
def test_only_the_word_changes(before: str, after: str) -> None:
    assert done(f"### TASK-1: one\n{before}") == f"### TASK-1: one\n{after}"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("### TASK-1: one\n\nwords\n", "### TASK-1: one\n**Status:** DONE\n\nwords\n"),
        ("### TASK-1: one", "### TASK-1: one\n**Status:** DONE"),
        ("a\r\n### TASK-1: one", "a\r\n### TASK-1: one\r\n**Status:** DONE"),
        ("### TASK-1: one\r\nwords\r\n", "### TASK-1: one\r\n**Status:** DONE\r\nwords\r\n"),
    ],
)
def test_a_missing_status_line_is_put_below_the_heading(raw: str, expected: str) -> None:
    assert done(raw) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("**Status:** PENDING\nx\n", f"**Status:** DONE\n**Checkpoint:** {STAMP}\nx\n"),
        ("- **Status**: PENDING\r\nx\r\n", f"- **Status**: DONE\r\n- **Checkpoint**: {STAMP}\r\nx\r\n"),
        ("Status: PENDING", f"Status: DONE\nCheckpoint: {STAMP}"),
        ("x\n**Checkpoint:** <sha> <time>\n", f"**Status:** DONE\nx\n**Checkpoint:** {STAMP}\n"),
        ("x\n", f"**Status:** DONE\n**Checkpoint:** {STAMP}\nx\n"),
    ],
)
def test_a_checkpoint_is_written_where_it_stands_or_below_the_status(raw: str, expected: str) -> None:
    assert done(f"### TASK-1: one\n{raw}", checkpoint=STAMP) == f"### TASK-1: one\n{expected}"


def test_a_checkpoint_that_is_none_any_more_goes_and_other_words_stay() -> None:
    head = "### TASK-1: one\n**Status:** DONE\n"
    assert done(f"{head}**Checkpoint:** {STAMP}\n") == f"{head}**Checkpoint:** \n"
    assert done(f"{head}**Checkpoint:** when it is there\n") == f"{head}**Checkpoint:** when it is there\n"


OLD = "fedcba987654 2026-01-02T03:04:05Z"


@pytest.mark.parametrize(
    ("words", "after"),
    [
        (f"{OLD} — reviewed by Bob", f"{STAMP} — reviewed by Bob"),
        (f"{OLD}  (see #7) \t", f"{STAMP}  (see #7) \t"),
        (f"`{OLD[:12]}` ask Bob", f"{STAMP} ask Bob"),
        (f"{OLD[:12]}: mine\r", f"{STAMP}: mine\r"),
        ("when Bob has seen it", f"{STAMP} when Bob has seen it"),
        ("None", STAMP),
    ],
)
def test_words_behind_a_checkpoint_stay(words: str, after: str) -> None:
    head = "### TASK-1: one\n**Status:** DONE\n**Checkpoint:** "
    assert done(f"{head}{words}\n", checkpoint=STAMP) == f"{head}{after}\n"
    assert done(f"{head}{after}\n", checkpoint=STAMP) == f"{head}{after}\n"


def test_words_behind_a_checkpoint_that_goes_stay() -> None:
    head = "### TASK-1: one\n**Status:** STALE\n**Checkpoint:** "
    assert done(f"{head}{OLD} — by Bob\n", TaskStatus.STALE) == f"{head}— by Bob\n"


def test_a_status_that_nobody_sees_or_another_task_has_is_left_alone() -> None:
    raw = "### TASK-1: one\n```\n**Status:** DONE\n```\n**Acceptance criteria:**\n- **Status:** is shown\n"
    raw += "### TASK-2: two\n**Status:** PENDING\n"
    assert done(raw, TaskStatus.STALE) == raw.replace("one\n", "one\n**Status:** STALE\n", 1)


def test_a_file_that_is_no_utf8_and_a_byte_order_mark_stay_as_they_are() -> None:
    raw = b"\xef\xbb\xbf\xff\xfe\n### TASK-1: \xe9\n**Status:** PENDING\n\x00\xc3"
    assert with_statuses(raw, {"TASK-1": Written(TaskStatus.DONE)}) == raw.replace(b"PENDING", b"DONE")


def test_a_mark_at_the_very_beginning_hides_no_task() -> None:
    raw = b"\xef\xbb\xbf### TASK-1: one\r\n**Status:** PENDING\r\n"
    assert statuses_in(raw) == {"TASK-1": "PENDING"}


PIECES = st.sampled_from(
    [
        "### TASK-1: one", "### TASK-2: two", "## TASK-3 three", "**Status:** PENDING", "- **Status**: done ✅",
        "Status:",
        "**Status:** BLOCKED (me)  ", f"**Checkpoint:** {STAMP}", "**Checkpoint:**", "- Checkpoint: later", "```",
        "~~~",
        "<!--", "-->", "**output_files:**", "- src/a.py", "| TC-1 | a | unit | b |", "", "words", "---", "#### Status",
        "## Parallelism Map", "Batch 1: [TASK-1]", "**Acceptance criteria:**", "# End", "\ufeff", "  **status:** x",
    ]
)  # fmt: skip
LINES = st.one_of(PIECES, st.text(max_size=20).map(lambda text: text.replace("\n", "")))
FILES = st.lists(st.tuples(LINES, st.sampled_from(["\n", "\r\n"])), max_size=25).map(
    lambda lines: "".join(line + ending for line, ending in lines)
)
BYTES = st.one_of(
    FILES.map(lambda text: text.encode("utf-8", "surrogatepass")), FILES.map(lambda t: t.rstrip().encode())
)
WRITTEN = st.builds(Written, st.sampled_from(list(TaskStatus)), st.sampled_from(["", STAMP, SHA]))
STATUSES = st.dictionaries(st.sampled_from(["TASK-1", "TASK-2", "TASK-3", "TASK-4"]), WRITTEN)
OURS = re.compile(rb"(?i)[ \t]*[-*+]?[ \t]*[*_]*(status|checkpoint)[*_]*:?")


@given(BYTES, STATUSES)
def test_nothing_but_status_and_checkpoint_lines_ever_changes(raw: bytes, statuses: dict[str, Written]) -> None:
    after = with_statuses(raw, statuses)
    old, new = raw.split(b"\n"), after.split(b"\n")
    changes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    assert len(new) >= len(old), "no line goes"
    for tag, first, last, begin, end in changes:
        touched = [*old[first:last], *new[begin:end]] if tag != "equal" else []
        at_the_end = {old[-1], old[-1] + b"\r"}  # a line at the end of the file is given the ending that it lacked
        assert all(OURS.match(line) or line in at_the_end for line in touched), changes


@given(BYTES, STATUSES)
def test_what_was_written_is_read_and_writing_it_again_changes_nothing(
    raw: bytes, statuses: dict[str, Written]
) -> None:
    after = with_statuses(raw, statuses)
    assert with_statuses(after, statuses) == after
    before, told = statuses_in(raw), statuses_in(after)
    assert told == {each: str(statuses[each].status) if each in statuses else was for each, was in before.items()}


@given(st.one_of(st.binary(max_size=300), BYTES))
def test_without_a_status_to_write_no_byte_changes(raw: bytes) -> None:
    assert with_statuses(raw, {}) == raw


@given(BYTES)
def test_reader_and_writer_see_the_same_status(raw: bytes) -> None:
    graph = read_graph(raw, "g")
    first = {task.id: task.status for task in reversed(graph.tasks)}
    assert first == {each: word for each, word in statuses_in(raw).items() if graph.tasks}


@pytest.mark.parametrize("word", ["In progress", "IN_PROGRESS", "`in-progress`", "⏳ In-Progress"])
def test_a_known_status_in_other_letters(word: str) -> None:
    assert known_status(word) is TaskStatus.IN_PROGRESS
