"""The pattern library as text: what is read, what fits a task, what a change shows, what a new entry looks like."""

import time

import pytest

from damascus.domain.spec import parse_spec
from damascus.tasks.pattern_entries import NewPattern, next_id, with_entry, with_row
from damascus.tasks.pattern_search import TaskWords, domains_of, search, shows, wanted_by
from damascus.tasks.patterns import Library, named_files, read_library
from tests.yard import story

INDEX = b"""# Patterns
| Keywords | Pattern |
|---|---|
| auth, nextauth, session | [PATTERN-001](patterns/auth.md#PATTERN-001): NextAuth sessions |
| payment, stripe webhook | PATTERN-002: Idempotent webhooks |
| csv | PATTERN-003 |

## PATTERN-002: Idempotent webhooks
- domain: payment
- stack: python
- **context:** Stripe sends an event twice.
- pattern: Keep the id of each event in `seen_events`,
  and ignore what is there.
- reuse_signal: a webhook
"""
AUTH = b"""## PATTERN-001: NextAuth v5 + Prisma sessions
domain: auth
stack: Next.js, Prisma
pattern: sessions in a table
"""


def library() -> Library:
    return read_library("PATTERN_INDEX.md", INDEX, {"patterns/auth.md": AUTH})


def ids(wanted: TaskWords) -> list[str]:
    return [match.pattern.id for match in search(library(), wanted)]


@pytest.mark.req("A4.1")
def test_the_index_and_the_entries_that_it_names_are_read() -> None:
    assert named_files("PATTERN_INDEX.md", INDEX) == ["patterns/auth.md"]
    first, second, third = library().patterns
    assert (first.name, first.keywords) == (
        "PATTERN-001 (NextAuth v5 + Prisma sessions)",
        ("auth", "nextauth", "session"),
    )
    assert (first.file, first.told("domain")) == ("patterns/auth.md", "auth")
    assert second.told("pattern") == "Keep the id of each event in `seen_events`,\n  and ignore what is there."
    assert second.told("context") == "Stripe sends an event twice."
    assert (third.id, third.fields, library().faults) == ("PATTERN-003", {}, ())


@pytest.mark.parametrize(
    "line",
    [
        "[a](../x.md)",
        "[a](/etc/x.md)",
        "`~/x.md`",
        "[a](https://x.example/a.md)",
        "`a/../../x.md`",
        "`PATTERN_INDEX.md`",
    ],
)
def test_nothing_outside_the_repository_is_named(line: str) -> None:
    assert named_files("PATTERN_INDEX.md", line.encode()) == []
    assert named_files("docs/INDEX.md", b"`patterns/*.md` and [a](../lib/a.md)") == ["docs/patterns/", "lib/a.md"]


@pytest.mark.req("A4.1")
def test_domain_stack_and_words_decide_and_a_shared_language_alone_does_not() -> None:
    assert ids(TaskWords(frozenset({"auth"}), frozenset({"node"}))) == ["PATTERN-001"]
    assert ids(TaskWords(frozenset({"payment"}), frozenset({"python"}))) == ["PATTERN-002"]
    assert ids(TaskWords(frozenset(), frozenset({"python"}))) == []
    assert ids(TaskWords(frozenset(), frozenset(), frozenset({"csv", "webhook", "stripe"}))) == [
        "PATTERN-002",
        "PATTERN-003",
    ]


def test_an_entry_of_another_language_counts_less() -> None:
    entry = b"| k | PATTERN-9 |\n## PATTERN-9: x\ndomain: auth\nstack: rust\n"
    found = read_library("I.md", entry, {})
    assert [match.points for match in search(found, TaskWords(frozenset({"auth"}), frozenset({"rust"})))] == [6]
    assert search(found, TaskWords(frozenset({"auth"}), frozenset({"python"}))) == []


def test_a_tasks_domain_is_its_own_word_and_its_type() -> None:
    def spec(**front: object) -> object:
        return domains_of(parse_spec(story("S-1", **front).encode()))

    assert spec(domain="Payments") == {"payment"} and spec(task_type="data") == {"database"}
    assert spec(task_type="auth", domain="db") == {"auth", "database"} and spec() == frozenset()
    wanted = wanted_by(parse_spec(story("S-1", title="Sessions of Stripe", platform="Web").encode()), ["python"])
    assert {"session", "stripe"} <= wanted.words and wanted.stacks == {"python", "web"}


@pytest.mark.req("A4.3")
def test_a_change_shows_a_pattern_by_the_code_that_it_quotes_else_by_a_keyword() -> None:
    first, second, third = library().patterns
    assert shows(second, ["if event in seen_events:"], []) and not shows(second, ["# a payment webhook"], [])
    assert shows(first, ["class SessionStore:"], ["src/session_store.py"]) and not shows(first, ["x = 1"], ["m.py"])
    assert shows(third, [], ["io/csv.py"]) and not shows(third, ["csvx = 1"], [])


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"\xff\xfe", "PATTERN_INDEX.md is not UTF-8 (byte 0)"),
        (b"x" * 10_000_000, "is larger than 1,000,000 bytes"),
        (b"# nothing here\n", "names no pattern"),
        (b"", "names no pattern"),
    ],
)
def test_an_index_that_says_nothing_is_a_fault_in_one_sentence(raw: bytes, said: str) -> None:
    found = read_library("PATTERN_INDEX.md", raw, {})
    assert found.patterns == () and len(found.faults) == 1 and said in found.faults[0]


@pytest.mark.parametrize(
    "raw",
    [
        b"|" * 900_000, b"## PATTERN-" * 80_000, b"[" * 900_000, b"`" * 900_000, b" " * 900_000 + b":",
        b"| PATTERN-1 | PATTERN-1 |\n" * 36_000, b"## PATTERN-1: x\n" + b"- a b c d e f\n" * 60_000,
    ],
    ids=range(7),
)  # fmt: skip
def test_hostile_text_takes_no_time(raw: bytes) -> None:
    begun = time.monotonic()
    found = read_library("I.md", raw, {"a.md": raw})
    named_files("I.md", raw)
    search(found, TaskWords(frozenset({"auth"}), frozenset(), frozenset({"x"})))
    assert time.monotonic() - begun < 5 and len(found.patterns) <= 2_000


def test_a_new_entry_leaves_all_other_bytes_as_they_are_and_is_read_again() -> None:
    new = NewPattern(
        "PATTERN-004",
        "Optimistic | locking",
        "database",
        "python",
        "dead`locks",
        "retry",
        "",
        "DECISION-007",
        "DECISION-007 of T",
    )
    index = with_row(INDEX, new, "I.md")
    assert INDEX.replace(b"| csv | PATTERN-003 |\n", b"") == b"".join(
        line for line in index.splitlines(keepends=True) if b"PATTERN-003" not in line and b"PATTERN-004" not in line
    )
    whole = read_library("I.md", with_entry(index, new, "I.md"), {})
    found = whole.find("PATTERN-004")
    assert found is not None and found.keywords == ("database", "optimistic", "locking")
    assert found.told("evidence") == "DECISION-007 of T" and next_id(whole) == "PATTERN-005"
    assert next_id(Library()) == "PATTERN-001"
    assert b"| database, optimistic, locking | PATTERN-004: " in with_row(b"", new, "I.md")
    assert with_row(INDEX.replace(b"\n", b"\r\n"), new, "I.md").count(b"\n") == index.count(b"\n")
    assert b"\n" not in with_row(INDEX.replace(b"\n", b"\r\n"), new, "I.md").replace(b"\r\n", b"")
