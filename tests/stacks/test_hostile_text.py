"""Sixteen times the text takes sixteen times the time, whatever an agent wrote (and not 256 times).

The one place where a test measures time: the processor's, as a ratio, the best of several.
"""

import gc
import time
from collections.abc import Callable
from math import inf
from pathlib import Path

import pytest

from damascus import stacks
from damascus.domain.errors import UsageError
from damascus.domain.spec import parse_spec
from damascus.domain.storable import clean
from damascus.evidence import reading
from damascus.stacks import ci_log
from damascus.stacks.junit import read_junit
from damascus.stacks.printed import plain, read_printed
from damascus.stacks.reports import read_run
from damascus.stacks.settings_parts import UnreadableSettings, with_parts_of
from damascus.stacks.told import read_calls
from tests.gates.judging import CODE, TEST, Judging, verdicts

SHORT, TIMES, WORST, ROUNDS = 16_000, 16, 40, 5
QUICKEST = 0.002
"""Below this a clock tells nothing."""

OUTPUTS = {
    "blanks": " ",
    "blank lines": "\n",
    "tabs and newlines": "\t\n ",
    "digits": "9",
    "jest": "Tests: " + " " * 400,
    "vitest": "  Tests  " + " " * 400 + "x\n",
    "go": "ok\t" + " " * 300 + "x\n",
    "passed": "1 passed, ",
    "pytest": "=" * 300 + " 1 passed",
    "escapes": "\x1b[",
    "unittest": "Ran 1 tests in 1s\n\nFAILED (",
    "dashes": "--- PASS: ",
    "returns": "\r",
}
SOURCES = {
    "blanks": " ",
    "decorators": "@x\n",
    "classes": "class TestA:\n  def test_a(self): pass\n",
    "brackets": "(",
    "minus": "-",
    "quotes": "'\"`",
    "comments": "/* ",
    "heads": "test('a', () => {",
    "described": "describe('a', () => {\n",
    "each": "it.each(",
    "go": "func TestA(t *testing.T) {\n",
    "rust": "#[test]\n",
    "attributes": "#[a] ",
    "raw": 'r#"',
    "names": "\\N{DIGIT ONE}",
    "regexes": "=/[",
    "templates": "`${",
}
SPECS = {
    "blank lines": "\n",
    "fences": "```a\n",
    "requirements": "- REQ-1: a\n",
    "headings": "## a\n",
    "blanks": "- REQ-1: a   ",
}


def ratio(read: Callable[[str], object], unit: str) -> float:
    """The best of several rounds: a busy machine spoils some of them, a quadratic pattern is 256 in each."""
    texts = [unit * (size // len(unit)) for size in (SHORT, SHORT * TIMES)]
    best = inf
    for _ in range(ROUNDS):
        short, long = (min(cost(read, text) for _ in range(3)) for text in texts)
        best = min(best, max(long, QUICKEST) / max(short, QUICKEST))
        if best < WORST:
            break
    return best


def cost(read: Callable[[str], object], text: str) -> float:
    """Without the collector, which walks through all that the other tests of this process left behind."""
    gc.disable()
    try:
        start = time.process_time()
        read(text)
        return time.process_time() - start
    finally:
        gc.enable()


def spec_of(text: str) -> object:
    parse_spec.cache_clear()
    try:
        return parse_spec(f"---\nstory: S-1\ntitle: a\n---\n## Requirements\n{text}\n## Test Command\n{text}".encode())
    except UsageError as err:
        return err


def front_of(text: str) -> object:
    try:
        return parse_spec(f"---\n{text}".encode())
    except UsageError as err:
        return err


@pytest.mark.req("F10")
@pytest.mark.parametrize("unit", OUTPUTS.values(), ids=OUTPUTS)
def test_output(unit: str) -> None:
    assert ratio(lambda text: (read_printed(plain(text)), read_run({}, text)), unit) < WORST
    assert ratio(lambda text: ci_log.relevant(text, 10_000), unit) < WORST
    assert ratio(clean, unit) < WORST


@pytest.mark.req("F10")
@pytest.mark.parametrize("path", ["test_a.py", "a.test.ts", "a_test.go", "a.rs"])
@pytest.mark.parametrize("unit", SOURCES.values(), ids=SOURCES)
def test_sources(unit: str, path: str) -> None:
    assert ratio(lambda text: stacks.tests_in(text.encode(), path), unit) < WORST


@pytest.mark.req("F10")
@pytest.mark.parametrize("unit", SPECS.values(), ids=SPECS)
def test_specs(unit: str) -> None:
    assert ratio(spec_of, unit) < WORST
    assert ratio(front_of, unit) < WORST


@pytest.mark.req("F10")
@pytest.mark.parametrize("unit", ["<a>", '<testcase name="a.b"/>', "<testcase", "&lt;"])
def test_reports(unit: str) -> None:
    assert ratio(lambda text: read_junit(f"<testsuites>{text}".encode()), unit) < WORST
    assert ratio(lambda text: read_junit(f"<testsuites>{text}</testsuites>".encode()), unit) < WORST


@pytest.mark.req("A6")
@pytest.mark.parametrize("unit", ["/*", '\\"', ", ", "//", '"', "[a]\n", "a.a.", "{"])
@pytest.mark.parametrize("name", ["tsconfig.json", "pyproject.toml", "setup.cfg"])
def test_settings_of_linters(name: str, unit: str) -> None:
    def read(text: str) -> object:
        try:
            return with_parts_of(name, b"", text.encode(), ["a"])
        except UnreadableSettings as err:
            return err

    assert ratio(read, unit) < WORST
    assert ratio(lambda text: read(f'"{text}'), unit) < WORST


@pytest.mark.req("F10")
@pytest.mark.parametrize("unit", ["[", '{"test":', '{"test": "a", "status": "passed"}\n', "\n", "9"])
def test_lines_of_runners(unit: str) -> None:
    assert ratio(lambda text: read_calls({"go-1.jsonl": text.encode(), "v.jsonl.json": text.encode()}), unit) < WORST


@pytest.mark.req("F10")
@pytest.mark.parametrize("line", ["Ran {} tests in 1s\n\nOK\n", "{} passed in 1s\n", "# tests {}\n# pass {}\n"])
def test_a_number_of_thousands_of_digits_is_no_count(line: str) -> None:
    assert read_printed(line.format("9" * 5000, "9" * 5000)) is None


@pytest.mark.parametrize(
    "front", ["priority: 0x" + "f" * 20_000, "priority: " + "9" * 5000, "title: 0x" + "f" * 20_000]
)
def test_a_number_of_thousands_of_digits_is_no_spec(front: str) -> None:
    with pytest.raises(UsageError):
        parse_spec(f"---\nstory: S-1\ntitle: a\n{front}\n---\n".encode(), rough=True)


@pytest.mark.req("F10")
def test_a_source_that_takes_too_long_is_unread_and_the_next_one_is_read() -> None:
    bomb = "def test_a():\n" + "".join(f"{' ' * depth}if f():\n" for depth in range(1, 95)) + " " * 95 + "[" * 60
    bomb += "f(" * 100 + "\n"
    assert reading.tests_in(bomb.encode() * 3, "test_a.py") is not None
    assert set(reading.tests_in(b"def test_b():\n    assert f()\n", "test_b.py").tests) == {"test_b"}


@pytest.mark.req("F10")
def test_what_can_not_be_read_is_the_storys_failure(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    huge = {"tests/test_huge.py": "def test_huge():\n    assert True\n" + "#" * 1_100_000}
    result = judging.tests(judging.candidate(CODE | TEST | huge))
    assert verdicts(result) == ["tests_failed"] and "can't be read" in result.findings[0].message
