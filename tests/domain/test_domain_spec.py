"""The spec format: what is read from it, and that each bad spec is one clear sentence."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from damascus.domain.errors import UsageError
from damascus.domain.ids import story_id
from damascus.domain.spec import HEADINGS, Spec, parse_spec, read_spec
from damascus.domain.verdict import Kind

FRONT = "story: S-1\ntitle: Say hello\nscope: [a.py, tests/]\n"
BODY = """## Requirements
- REQ-001: says hello
- REQ-002: says bye (EXT)
- REQ-003 (SKIP): sings

## TDD Plan
Tests first.

## Test Command
```sh
pytest -q tests
```
"""


def spec(front: str = FRONT, body: str = BODY) -> bytes:
    return f"---\n{front}---\n{body}".encode()


def refusal(raw: bytes, *, rough: bool = False) -> str:
    with pytest.raises(UsageError) as caught:
        parse_spec(raw, "s.md", rough=rough)
    return str(caught.value)


@pytest.mark.req("D3")
def test_a_whole_spec_is_read() -> None:
    read = parse_spec(
        spec(
            FRONT
            + "depends_on: S-0\npriority: 0\nkind: refactor\nmay_remove: [t::a]\nmay_change: [t/]\nacceptance: acc\n"
        )
    )
    assert (read.story, read.title) == ("S-1", "Say hello")
    assert read.scope is not None and read.scope.patterns == ("a.py", "tests/")
    assert read.tdd_plan == "Tests first." and read.test_command == "pytest -q tests"
    assert [(r.id, r.text, r.tag) for r in read.requirements] == [
        ("REQ-001", "says hello", "MVP"),
        ("REQ-002", "says bye", "EXT"),
        ("REQ-003", "sings", "SKIP"),
    ]
    assert (read.depends_on, read.priority, read.kind) == (("S-0",), 0, Kind.REFACTOR)
    assert (read.may_remove, read.may_change, read.acceptance) == (("t::a",), ("t/",), "acc")


@pytest.mark.req("D3")
@pytest.mark.parametrize("ends", ["\r\n", "\n"])
@pytest.mark.parametrize("bom", ["\ufeff", ""])
def test_windows_line_ends_and_a_byte_order_mark_change_nothing(ends: str, bom: str) -> None:
    raw = (bom + spec().decode().replace("\n", ends)).encode()
    assert parse_spec(raw) == parse_spec(spec())


@pytest.mark.req("D3")
def test_headings_inside_fenced_blocks_are_no_headings() -> None:
    body = (
        "## TDD Plan\n```sh\n## Test Command\n# not a heading\n```\nafter it\n"
        "### deeper\n\n## Test Command\n```sh\n# a comment\npytest -q\n## another\n```\n"
    )
    read = parse_spec(spec(body=body))
    assert read.test_command == "# a comment\npytest -q\n## another"
    assert read.tdd_plan.endswith("after it\n### deeper")
    assert "## Test Command" in read.tdd_plan


@pytest.mark.req("D3")
def test_a_rough_spec_needs_story_and_title_only() -> None:
    read = parse_spec(b"---\nstory: S-1\ntitle: x\n---\nSome words.\n", rough=True)
    assert read.missing() == ["scope", '"## TDD Plan"', '"## Test Command"']
    for title in ("", "title: ' '\n", "title: '\u3164'\n"):
        assert "has no title" in refusal(f"---\nstory: S-1\n{title}---\n".encode(), rough=True)


NO_COMMAND = BODY.partition("## Test Command")[0]
BAD: dict[str, tuple[bytes, str]] = {
    "no Test Command": (spec(body=NO_COMMAND), '"## Test Command"'),
    "empty Test Command": (spec(body=NO_COMMAND + "## Test Command\n"), '"## Test Command"'),
    "empty fenced block": (spec(body=NO_COMMAND + "## Test Command\n```sh\n```\n"), '"## Test Command"'),
    "Test Command not fenced": (
        spec(body=NO_COMMAND + "## Test Command\npytest\n"),
        "exactly one fenced block, it has 0",
    ),
    "two fenced blocks": (spec(body=BODY + "```sh\nrm -rf x\n```\n"), "exactly one fenced block, it has 2"),
    "no TDD Plan": (spec(body=BODY.replace("## TDD Plan", "## Plan")), '"## TDD Plan"'),
    "no scope": (spec("story: S-1\ntitle: x\n"), "has no scope"),
    "empty scope": (spec("story: S-1\ntitle: x\nscope: []\n"), "scope is empty"),
    "absolute scope": (spec("story: S-1\ntitle: x\nscope: [/etc]\n"), "not relative"),
    "scope with ..": (spec("story: S-1\ntitle: x\nscope: [../x]\n"), "'..'"),
    "scope .git": (spec("story: S-1\ntitle: x\nscope: [.git/]\n"), ".git"),
    "scope damascus.toml": (spec("story: S-1\ntitle: x\nscope: [damascus.toml]\n"), "damascus.toml"),
    "scope CI": (spec("story: S-1\ntitle: x\nscope: [.github/workflows/ci.yml]\n"), ".github"),
    "scope a table": (spec("story: S-1\ntitle: x\nscope: {a: b}\n"), "list of texts"),
    "scope with a list": (spec("story: S-1\ntitle: x\nscope: [[a]]\n"), "list of texts"),
    "not UTF-8": (b"---\nstory: S-1\ntitle: \xff\n---\n", "not UTF-8 (byte 22 is 0xff)"),
    "NUL": (spec(body=BODY + "\0"), "NUL"),
    "NUL by escape": (spec('story: S-1\ntitle: "a\\0b"\nscope: [a]\n'), "can't be stored"),
    "half a character by escape": (spec('story: S-1\ntitle: "\\ud83d"\nscope: [a]\n'), "can't be stored"),
    "half a character in acceptance": (spec(FRONT + 'acceptance: "\\ud83d"\n'), "can't be stored"),
    "unknown key": (spec(FRONT + "scopes: [x]\n"), "unknown key 'scopes'"),
    "key twice": (spec(FRONT + "scope: [b.py]\n"), "'scope' twice"),
    "priority": (spec(FRONT + "priority: 4\n"), "priority is 4"),
    "priority a truth": (spec(FRONT + "priority: true\n"), "priority is True"),
    "kind": (spec(FRONT + "kind: fix\n"), "kind is 'fix'"),
    "requirement twice": (spec(body=BODY.replace("REQ-002", "REQ-001")), "REQ-001 twice"),
    "no front matter": (b"# Hello\n", "no front matter"),
    "empty file": (b"", "no front matter"),
    "front matter not closed": (b"---\nstory: S-1\n", "no front matter"),
    "front matter a list": (b"---\n- a\n---\n", "'key: value'"),
    "not YAML": (b"---\nstory: [\n---\n", "not valid YAML"),
    "no date": (spec("story: S-1\ntitle: 2001-99-99\nscope: [a]\n"), "not valid YAML"),
    "too deep": (spec("story: S-1\ntitle: x\nscope: " + "[" * 500 + "]" * 500 + "\n"), "not valid YAML"),
    "no story": (spec("title: x\nscope: [a]\n"), "has no story"),
    "story a list": (spec("story: [a]\ntitle: x\nscope: [a]\n"), "has no story"),
    "dependency a path": (spec(FRONT + "depends_on: [../x]\n"), "not a story id"),
}


@pytest.mark.req("D3")
@pytest.mark.parametrize("name", BAD)
def test_a_bad_spec_is_one_clear_sentence(name: str) -> None:
    raw, expected = BAD[name]
    said = refusal(raw)
    assert expected in said and "s.md" in said and "Traceback" not in said


BAD_IDS = ["-x", "--help", "../a", "a/b", "/a", ".lock", "a.lock", "A.LOCK", ".a", "a..b", "a.", "", " ", "a b", "é",
           "a" * 65, "a\nb", "a:b", "a~1", "@", "a@{b", "\\a", "a\0b"]  # fmt: skip


@pytest.mark.parametrize("text", BAD_IDS)
def test_an_id_that_is_a_path_or_an_option_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a story id"):
        story_id(text)
    assert "not a story id" in refusal(spec(f"story: {text!r}\ntitle: x\nscope: [a]\n")) or not text.strip()


@pytest.mark.parametrize("text", ["S-1", "a.b", "0", "A_b-c.d-e", "a" * 64, "x.locked"])
def test_a_good_id_is_kept(text: str) -> None:
    assert story_id(text) == text


@settings(max_examples=150, deadline=None)
@given(st.text("-: []{}#&*!|>'\"\n`~abS1\t\\ué\0", max_size=60))
def test_no_front_matter_makes_the_parser_fall_over(text: str) -> None:
    try:
        parse_spec(f"---\n{text}\n---\n".encode(), rough=True)
    except UsageError as err:
        assert str(err)


# ── everything that is wrong, at once ─────────────────────────────────────────────────────────────────


def test_all_that_is_wrong_with_a_spec_is_told_at_once() -> None:
    front = "story: ../x\nscope: [/etc, a.py, ../b]\npriority: 9\nkind: fix\ncolour: red\ndepends_on: [a/b]\n"
    read, said = read_spec(spec(front, "## Requirements\n- REQ-001: a\n- REQ-001: b\n"), "s.md")
    assert read is not None
    wanted = ["'colour'", "'../x' is not", "no title", "'/etc'", "'../b'", "REQ-001 twice", "'a/b' is not", "priority",
              "kind is", '"## TDD Plan"', '"## Test Command"']  # fmt: skip
    assert [word for word in wanted if not any(word in text for text in said)] == []
    assert len(said) == len(wanted) and all("s.md" in text for text in said)


def test_what_can_not_be_read_is_not_told_as_missing_too() -> None:
    _, said = read_spec(spec("story: S-1\ntitle: x\nscope: [/etc]\n", NO_COMMAND + "## Test Command\npytest\n"), "s.md")
    assert len(said) == 2 and "has no" not in "".join(said)


@pytest.mark.parametrize("heading", ["Test Command", "TDD Plan", "Requirements", "test  command"])
def test_a_heading_that_is_there_twice_is_refused(heading: str) -> None:
    said = refusal(spec(body=BODY + f"\n## {heading}\n```sh\ntrue\n```\n"))
    assert "is there twice. Keep one of them" in said
    read_inside_a_fence = BODY.replace("Tests first.", f"Tests first.\n```\n## {heading}\n```")
    assert parse_spec(spec(body=read_inside_a_fence)).test_command == "pytest -q tests"


@pytest.mark.parametrize(
    ("title", "quoted"),
    [
        ("fix: a colon", 'title: "fix: a colon"'),
        ('say: "hi"', 'title: "say: \\"hi\\""'),
        ("@all must know", 'title: "@all must know"'),
        ("*bold* words", 'title: "*bold* words"'),
        ("2001-99-99", 'title: "2001-99-99"'),
    ],
)
def test_front_matter_that_is_not_yaml_names_the_line_and_the_quotes(title: str, quoted: str) -> None:
    said = refusal(spec(f"story: S-1\ntitle: {title}\nscope: [a]\n"))
    assert said.startswith("s.md, line 3: the front matter is not valid YAML")
    assert f"Put it in quotes: {quoted}" in said
    assert parse_spec(spec(f"story: S-1\n{quoted}\nscope: [a]\n")).title == title


def test_other_yaml_errors_name_their_line_and_promise_no_cure() -> None:
    said = refusal(b"---\nstory: S-1\n\ttitle: x\n---\n")
    assert "line 3" in said and "quotes" not in said


def test_every_mandatory_key_and_heading_is_in_the_table_of_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs/spec.md").read_text()
    musts = re.findall(r"^\| `([^`]+)` \| yes \|", page, re.MULTILINE)
    told = {word.removeprefix("## ") for word in musts}
    empty = Spec(story_id("S-1"), "x", None)
    assert told == {"story", "title", *(what.strip('"').removeprefix("## ") for what in empty.missing())}
    assert [heading for heading in HEADINGS if f"| `## {heading}` |" not in page] == []
