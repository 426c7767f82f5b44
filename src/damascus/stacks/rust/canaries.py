"""Failing tests in Rust files: at the end of an integration test, or first in the last module of a source's tests.

The test harness sorts by name, so a name that continues the last one comes last.
"""

import re
from collections.abc import Collection

from damascus.stacks.expectations import changed
from damascus.stacks.layer import Laid, Style
from damascus.stacks.made_up import MadeUp
from damascus.stacks.rust.expectations import places
from damascus.stacks.rust.source import HEAD as TEST_HEAD

MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\([a-z]+\))?\s+)?mod\s+\w+\s*\{")
INNER = re.compile(r"\s*(?:#!\[|//!|/\*!)")
HEAD = re.compile(
    r"(?P<marks>#\[(?:\w+::)*test\b[^\]\n]*\](?:\s*#\[[^\]\n]*\])*)\s*(?:pub\s+)?(?:async\s+)?"
    r"fn\s+(?P<name>\w+)\s*\([^)\n]{0,300}\)[^{;\n]{0,300}\{"
)


class RustLayer:
    endings = (".rs",)

    def append(self, source: str, made: MadeUp, style: Style) -> Laid | None:
        last = max((head["name"] for head in TEST_HEAD.finditer(source)), default="")
        modules = list(MODULE.finditer(source))
        if not modules:
            text, names = _tests(made, last, "", style)
            return Laid(f"{source.rstrip()}\n\n{text}", names) if last else None
        at = modules[-1].end()
        if INNER.match(source, at):
            return None
        text, names = _tests(made, last, "    ", style)
        return Laid(f"{source[:at]}\n{text}{source[at:]}", names)

    def alone(self, like: str, made: MadeUp, style: Style) -> Laid | None:
        text, names = _tests(made, "", "", style)
        return Laid(text, names) if not MODULE.search(like) else None

    def first_lines(self, source: str, tests: Collection[str], made: MadeUp) -> Laid | None:
        names: list[str] = []
        plain = {test.rsplit("::", 1)[-1] for test in tests}

        def failing(head: re.Match[str]) -> str:
            if head["name"] not in plain or "should_panic" in head["marks"]:
                return head[0]
            names.append(head["name"])
            return f"{head[0]} {_own_assertion(source, head.end(), made)}"

        text = HEAD.sub(failing, source)
        return Laid(text, tuple(names)) if names else None

    def expecting(self, source: str, tests: Collection[str], made: MadeUp) -> Laid | None:
        asked = [place for place in places(source) if place.test in {test.rsplit("::", 1)[-1] for test in tests}]
        found = changed(source, asked, made)
        return Laid(*found) if found is not None else None


RUST = RustLayer()


def _own_assertion(source: str, at: int, made: MadeUp) -> str:
    """By a macro that the test uses: a file may have its own `assert_eq!`."""
    end = source.find("#[test]", at)
    body = source[at:] if end < 0 else source[at:end]
    first, second = made.two_numbers()
    forms = {"assert!": f"assert!({first} == {second});", "assert_eq!": f"assert_eq!({first}, {second});"}
    return made.one_of([form for word, form in forms.items() if f"{word}(" in body] or list(forms.values()))


def _tests(made: MadeUp, last: str, blanks: str, style: Style) -> tuple[str, tuple[str, ...]]:
    names, lines = [], []
    for shape in ("assert_eq!({}, {});", 'if {} != {} {{ panic!("{}"); }}')[: 1 if style.only_one else 2]:
        names.append(f"{last}_{made.new_word()}" if last else made.snake(made.one_of(("", "it"))).lstrip("_"))
        body = shape.format(*made.two_numbers(), made.new_word())
        lines += [f"{blanks}#[test]", f"{blanks}fn {names[-1]}() {{", f"{blanks}    {body}", f"{blanks}}}", ""]
    return "\n".join(lines), tuple(names)
