"""Failing tests in Go files: functions of the same package, by the name under which the file imports `testing`."""

import re
from collections.abc import Collection

from damascus.stacks.expectations import changed
from damascus.stacks.go.expectations import places
from damascus.stacks.layer import Laid, Style
from damascus.stacks.made_up import MadeUp

PACKAGE = re.compile(r"^package[ \t]+(\w+)", re.M)
TESTING = re.compile(r"""^[ \t]*(?:import[ \t]+)?(?:(\w+|\.)[ \t]+)?"testing"[ \t]*$""", re.M)
BUILD = re.compile(r"^//go:build .*$", re.M)
HEAD = re.compile(r"^func (?P<name>Test\w*)\((?P<t>\w+) \*(?:\w+\.)?T\)[ \t]*\{", re.M)


class GoLayer:
    endings = ("_test.go",)

    def append(self, source: str, made: MadeUp, style: Style) -> Laid | None:
        imported = TESTING.search(source)
        if imported is None or imported[1] == "_":
            return None
        kind = {None: "testing.T", ".": "T"}.get(imported[1], f"{imported[1]}.T")
        text, names = _tests(made, kind, style)
        return Laid(f"{source.rstrip()}\n\n{text}", names)

    def alone(self, like: str, made: MadeUp, style: Style) -> Laid | None:
        package = PACKAGE.search(like)
        if package is None:
            return None
        text, names = _tests(made, "testing.T", style)
        tags = "".join(f"{tag}\n\n" for tag in BUILD.findall(like)[:1])
        return Laid(f'{tags}package {package[1]}\n\nimport "testing"\n\n{text}', names)

    def first_lines(self, source: str, tests: Collection[str], made: MadeUp) -> Laid | None:
        names: list[str] = []

        def failing(head: re.Match[str]) -> str:
            if head["name"] not in tests or head["t"] == "_":
                return head[0]
            names.append(head["name"])
            return f'{head[0]}\n\t{head["t"]}.Fatalf("got %d, want %d", {made.number(2, 40)}, {made.number(41, 90)})'

        text = HEAD.sub(failing, source)
        return Laid(text, tuple(names)) if names else None

    def expecting(self, source: str, tests: Collection[str], made: MadeUp) -> Laid | None:
        asked = [place for place in places(source) if place.test in tests]
        found = changed(source, asked, made)
        return Laid(*found) if found is not None else None


GO = GoLayer()


def _tests(made: MadeUp, kind: str, style: Style) -> tuple[str, tuple[str, ...]]:
    """No panic: it would end the package's whole run, the others' tests with it."""
    names, texts = [], []
    for call in ("Fatalf", "Errorf")[: 1 if style.only_one else 2]:
        first, second = made.two_numbers()
        names.append(made.camel())
        want = f'\tif got, want := {first}, {second}; got != want {{\n\t\tt.{call}("got %d, want %d", got, want)\n\t}}'
        texts.append(f"func {names[-1]}(t *{kind}) {{\n{want}\n}}\n")
    return "\n".join(texts), tuple(names)
