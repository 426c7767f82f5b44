"""A refiner fills what is missing; whatever a person wrote is as it was, by every trick that we could think of."""

import pytest

from damascus.domain.errors import UsageError
from damascus.domain.refined import changed_by_refiner, marked

pytestmark = pytest.mark.req("D19")

ROUGH = """---
story: S-1
title: Say hello
priority: 1
---
Somebody should
say hello.

## Requirements
- REQ-001: it says hello,
  and never goodbye
- REQ-002 (EXT): it says it twice

## Background
Old.
```sh
## no heading
```
"""
FILLED = (
    ROUGH.replace("priority: 1\n", "priority: 1\nscope: [a.py, tests/test_a.py]\n")
    + """
## TDD Plan
One test each.

## Test Command
```sh
pytest -q
```
"""
)


def changed(text: str, rough: str = ROUGH) -> list[str]:
    return changed_by_refiner(rough.encode(), text.encode())


def test_filling_what_is_missing_is_welcome() -> None:
    assert changed(FILLED) == []


@pytest.mark.parametrize(
    "honest",
    [
        FILLED.replace("\n## Background", "- REQ-003: in a loud voice\n\n## Background"),
        FILLED.replace("- REQ-001", "- REQ-000: first of all\n- REQ-001"),
        FILLED.replace("priority: 1\n", "").replace("story: S-1\n", "story: 'S-1'\npriority: 1\n"),
        FILLED.replace("title: Say hello", 'title: "Say  hello"\ncomplexity: low'),
        FILLED.replace("\n", "\r\n"),
        FILLED.replace("say hello.\n", "say hello.\n\nThe file is a.py, für alle.\n"),
    ],
    ids=["a requirement more", "one before", "order and quotes", "spaces, complexity", "line ends", "prose added"],
)
def test_honest_variants(honest: str) -> None:
    assert changed(honest) == []


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        (FILLED.replace("Say hello", "Say goodbye"), "title"),
        (FILLED.replace("priority: 1\n", ""), "priority: 1 became nothing"),
        (FILLED.replace("priority: 1\n", "priority: 0\n"), "priority: 1 became 0"),
        (FILLED.replace("scope:", "kind: docs\nscope:"), "kind: docs was set"),
        (FILLED.replace("scope:", "may_remove: [tests/]\nscope:"), "may_remove: tests/ was set"),
        (FILLED.replace("scope:", "<<: {kind: docs}\nscope:"), "kind"),
        (FILLED.replace("priority: 1\n", "priority: &p 1\nkind: &k docs\n"), "kind: docs was set"),
        (FILLED.replace("- REQ-002 (EXT): it says it twice\n", ""), "requirement"),
        (FILLED.replace("(EXT)", "(SKIP)"), "requirement"),
        (FILLED.replace("says hello,\n", "says hello,\n  or nothing,\n"), "requirement"),
        (FILLED.replace("and never", "and sometimes"), "requirement"),
        (FILLED.replace("twice\n", "twice\n  (or not at all)\n"), "requirement"),
        (FILLED.replace("Old.\n", "New.\n"), "Background"),
        (FILLED.replace("## Background\n", "## Background\nNew.\n\n## Background\n"), "Background"),
        (FILLED.replace("## Requirements\n", "## Requirements\n- REQ-005: x\n\n## Requirements\n"), "Requirements"),
        (FILLED.replace("## Requirements\n", "## requirements\n- REQ-005: x\n\n##  REQUIREMENTS\n"), "equirements"),
        (FILLED.replace("## Req", "```\n## Req").replace("\n## Back", "```\n## Back"), "Requirements"),
        (FILLED.replace("say hello.\n", "say nothing.\n"), "before the first heading"),
        (FILLED.replace("One test each.", "One test each.\u202e"), "U+202E"),
        (FILLED.replace("pytest -q", "pytest -q \x1b[2K"), "U+001B"),
        (FILLED + "\n## Test Command\n```sh\necho fine\n```\n", "twice"),
    ],
)
def test_lies(lie: str, said: str) -> None:
    found = changed(lie)
    assert found and said in " ".join(found), found


def test_a_scope_or_command_that_a_person_gave_is_theirs() -> None:
    rough = FILLED.replace("## TDD Plan\nOne test each.\n", "")
    assert changed(FILLED, rough) == []
    assert "scope" in changed(FILLED.replace("[a.py,", "[src/, a.py,"), rough)[0]
    assert "Test Command" in changed(FILLED.replace("pytest -q", "echo fine"), rough)[0]


def test_an_empty_key_is_no_word_of_a_person() -> None:
    rough = ROUGH.replace("priority: 1\n", "priority: 1\nmay_remove: []\n")
    assert changed(FILLED.replace("scope:", "may_remove: []\nscope:"), rough) == []
    assert "may_remove" in changed(FILLED.replace("scope:", "may_remove: [tests/]\nscope:"), rough)[0]


@pytest.mark.parametrize("key", ["Kind: docs", "scope: [b]"])
def test_what_the_parser_refuses_is_refused_here(key: str) -> None:
    """A key in other case, and one that is there twice."""
    with pytest.raises(UsageError):
        changed(FILLED.replace("scope:", f"{key}\nscope:"))


def test_what_was_added_is_marked() -> None:
    lines = marked(ROUGH.encode(), FILLED.encode()).split("\n")
    assert "+ scope: [a.py, tests/test_a.py]" in lines and "+ pytest -q" in lines and "+ ## TDD Plan" in lines
    assert "  title: Say hello" in lines and "  - REQ-001: it says hello," in lines
    assert [line[2:] for line in lines] == FILLED.rstrip("\n").split("\n")
