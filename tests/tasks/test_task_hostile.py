"""A task graph may hold anything: what comes back is a graph and sentences, soon, and never an exception."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from damascus.tasks.check import MOST_FAULTS, check_graph
from damascus.tasks.graph import LARGEST_GRAPH, Fault, read_graph
from damascus.tasks.statuses import statuses_in, with_statuses

pytestmark = pytest.mark.req("A1.5")
ROOM = 1_500_000
TASK = "### TASK-1: one\n"


def checked(raw: bytes) -> list[Fault]:
    return check_graph(read_graph(raw, "TASK-GRAPH.md"))


@pytest.mark.parametrize(
    ("raw", "line", "says"),
    [
        (b"x" * 10_000_000, 1, "TASK-GRAPH.md is larger than 5,000,000 bytes. Split it"),
        (b"one\ntwo\n\xff\xfe", 3, "TASK-GRAPH.md is not UTF-8 (byte 8 is 0xff). Save it as UTF-8."),
        ("### TASK-1: x".encode("utf-16"), 1, "is not UTF-8"),
        (b"one\n\x00", 2, "TASK-GRAPH.md contains a NUL character."),
        (b"", 1, "TASK-GRAPH.md has no task. Begin each with a heading: ### TASK-001: what it does."),
        (b"# TASK-GRAPH.md\n## TASK-GRAPH of the shop\n### Tasks\n", 1, "has no task"),
        (b"### TASK-1: x\n" * 10_001, 1, "has more than 10,000 tasks"),
        (b"### TASK-1: x\n" + b"\n" * 300_000, 1, "has more than 300,000 lines"),
    ],
    ids=["large", "no UTF-8", "UTF-16", "NUL", "empty", "no task", "tasks", "lines"],
)
def test_what_is_no_task_graph_is_told_in_one_sentence(raw: bytes, line: int, says: str) -> None:
    (fault,) = checked(raw)
    assert fault.line == line and says in fault.text


@pytest.mark.parametrize("hidden", ["\x1b[2J", "\x07", "\x7f", "\x9b", "\u202e", "\u2066"])
def test_a_character_that_nobody_sees_is_told_and_not_printed(hidden: str) -> None:
    (fault,) = [each for each in checked(f"{TASK}**Platform:** w{hidden}eb\n".encode()) if "nobody sees" in each.text]
    assert fault.line == 2 and hidden not in fault.text


def test_words_of_the_file_come_back_cut_and_printable() -> None:
    turned = "y\u202e" * 500
    raw = f"### TASK-{'x' * 9000}\x1b\u202e: t\n**Status:** {turned}\n**depends_on:** {'z' * 9000}\n"
    found = checked(raw.encode())
    assert found and all(len(fault.text) < 600 and "\u202e" not in fault.text for fault in found)


def test_a_block_that_is_never_closed_hides_nothing_silently() -> None:
    for mark in ("```", "~~~~", "<!--"):
        found = checked(f"{TASK}\n{mark}\n### TASK-2: two\n".encode())
        assert any(fault.line == 3 and "never closed" in fault.text for fault in found)


def test_too_many_faults_are_counted() -> None:
    found = checked((TASK + "\x01\n" * 5_000).encode())
    assert len(found) == MOST_FAULTS + 1 and "more faults" in found[-1].text


def filled(piece: str) -> bytes:
    return (TASK + piece * min(ROOM // len(piece), 30_000)).encode()


def many(piece: Callable[[int], str], size: int) -> bytes:
    return "".join(piece(number) for number in range(ROOM // size))[:ROOM].encode()


HOSTILE = {
    "one line": TASK.encode() + b"a" * ROOM,
    "blanks": TASK.encode() + b"**Status:** " + b" " * ROOM + b"x",
    "hashes": b"#" * ROOM,
    "heading": b"### TASK-1: " + b"# " * (ROOM // 2),
    "stars": filled("**" * 20 + "\n"),
    "pipes": TASK.encode() + b"**Test contract:**\n" + b"|" * ROOM,
    "rule": TASK.encode() + b"**Test contract:**\n|" + b"-" * ROOM + b"x",
    "rows": (TASK + "**Test contract:**\n").encode() + filled("| TC-1 | b | unit | c |\n"),
    "criteria": (TASK + "**Acceptance criteria:**\n- a\n").encode() + filled("  b\n"),
    "backslashes": (TASK + "**Gate commands:**\n```\n").encode() + filled("a \\\n"),
    "files": (TASK + "**output_files:**\n").encode() + filled("- a\n"),
    "commas": (TASK + "**output_files:** ").encode() + b"," * ROOM,
    "braces": (TASK + "**output_files:** ").encode() + b"{," * (ROOM // 2),
    "fences": filled("```\n"),
    "comments": filled("<!--\n"),
    "batches": (TASK + "## Parallelism Map\n").encode() + filled("Batch 1: [TASK-1, TASK-1]\n"),
    "control": filled("\x01"),
    "fields": filled("**Status:** x\n"),
    "headings": filled("#### x\n"),
    "one folder": many(lambda n: f"### TASK-{n}: t\n**can_parallel:** true\n**output_files:** src/\n", 500),
    "chain": many(lambda n: f"### TASK-{n}: t\n**depends_on:** TASK-{n - 1}\n**output_files:** src/\n", 500),
    "everybody": many(
        lambda n: f"### TASK-{n}: t\n**depends_on:** {', '.join(f'TASK-{m}' for m in range(n % 400))}\n", 4_000
    ),
    "wildcards": many(
        lambda n: (
            f"### TASK-{n}: t\n**output_files:** {'*a' * 100}b\n**Test contract:**\n| TC-1 | b | unit | {'a' * 300} |\n"
        ),
        600,
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_told_apart_soon(name: str) -> None:
    """By the processor's time, with room for a slow and busy machine: what is not linear takes minutes."""
    raw = HOSTILE[name]
    assert len(raw) < LARGEST_GRAPH
    began = time.process_time()
    assert checked(raw)
    with_statuses(raw, {})
    assert time.process_time() - began < 10


LINE = st.one_of(
    st.sampled_from(
        [
            "### TASK-1: one", "### TASK-2: two", "## Parallelism Map", "Batch 1: [TASK-1, TASK-2]",
            "**depends_on:** TASK-2",
            "**depends_on:**", "- TASK-1", "**output_files:** src/, {a,b", "**Test contract:**",
            "| TC-1 | b | unit | src/a |",
            "**Test contract status:** EXEMPT", "**can_parallel:** true", "**Gate commands:**", "```", "a \\", "<!--",
            "-->",
        ]
    ),
    st.text(max_size=12),
    st.text(alphabet="#*|-`:[]{}(),\\ TASK1\t\r\u202e\x00", max_size=30),
)  # fmt: skip


@given(st.one_of(st.binary(max_size=200), st.lists(LINE, max_size=30).map(lambda lines: "\n".join(lines).encode())))
def test_whatever_the_bytes_are_nothing_is_raised(raw: bytes) -> None:
    found = checked(raw)
    assert found == sorted(found) and all(1 <= fault.line <= raw.count(b"\n") + 1 for fault in found)
    assert statuses_in(with_statuses(raw, {})) == statuses_in(raw)
