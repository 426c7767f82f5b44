"""Failing tests in Python files, for pytest and unittest. Places are found by the syntax tree, the result is parsed."""

import ast
import warnings
from collections.abc import Collection, Iterator

from damascus.domain.ports import TestRun
from damascus.stacks.expectations import changed
from damascus.stacks.layer import Laid, Style
from damascus.stacks.made_up import MadeUp
from damascus.stacks.python.expectations import places

Function = ast.FunctionDef | ast.AsyncFunctionDef
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


class PythonLayer:
    endings = ("_test.py", ".py")

    def append(self, source: str, made: MadeUp, style: Style) -> Laid | None:
        """In the last test class too, if there is one; before `if __name__ == …`, behind which nothing runs."""
        tree = _parsed(source)
        if tree is None:
            return None
        lines = source.splitlines()
        text, names = _tests(made, style, source)
        at = _main_block(tree) or len(lines)
        pieces = [(at, ["", "", *text])]
        inside = None if style.only_one else _last_test_class(tree)
        if inside is not None:
            name = made.snake(style.prefix)
            pieces.append((inside.end_lineno or at, ["", *_method(inside, name, made)]))
            names.append(name)
        for place, added in sorted(pieces, key=lambda piece: piece[0], reverse=True):
            lines[place:place] = added
        return _checked("\n".join(lines) + "\n", names)

    def alone(self, like: str, made: MadeUp, style: Style) -> Laid | None:
        text, names = _tests(made, style, "")
        tree = _parsed(like)
        ending = []
        if tree is not None and _main_block(tree) is not None:
            ending = ["", "", 'if __name__ == "__main__":', "    import unittest", "", "    unittest.main()"]
        return _checked("\n".join([*text, *ending]) + "\n", names)

    def first_lines(self, source: str, tests: Collection[str], made: MadeUp) -> Laid | None:
        tree = _parsed(source)
        if tree is None:
            return None
        lines = source.encode().splitlines()
        names = []
        for name, function in sorted(_functions(tree.body), key=lambda found: -found[1].lineno):
            if name in tests and _insert(lines, function, made):
                names.append(name)
        return _checked(b"\n".join(lines).decode() + "\n", names) if names else None

    def expecting(self, source: str, tests: Collection[str], made: MadeUp) -> Laid | None:
        tree = _parsed(source)
        found = changed(source, places(source, list(_functions(tree.body)), tests), made) if tree is not None else None
        return _checked(*found) if found is not None else None


PYTHON = PythonLayer()


def _parsed(source: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except UNREADABLE:
        return None


def _checked(text: str, names: Collection[str]) -> Laid | None:
    return Laid(text, tuple(names)) if _parsed(text) is not None else None


def _tests(made: MadeUp, style: Style, above: str) -> tuple[list[str], list[str]]:
    """One that fails by an assertion, one by an exception: code that hides the one need not hide the other."""
    lines: list[str] = []
    names: list[str] = []
    if style.functions:
        for body in _bodies([_asserting(made), _raising(made)], style):
            names.append(made.snake(style.prefix))
            lines += [f"def {names[-1]}():", *(f"    {line}" for line in body), "", ""]
    if style.classes and not (style.only_one and names):
        lines += [] if "\nimport unittest\n" in f"\n{above}" else ["import unittest", "", ""]
        lines += [f"class {made.camel()}(unittest.TestCase):"]
        left, right = made.two_numbers()
        for body in _bodies([[f"self.assertEqual({left}, {right})"], _raising(made)], style):
            names.append(made.snake())
            lines += [f"    def {names[-1]}(self):", *(f"        {line}" for line in body), ""]
    while lines and not lines[-1]:
        lines.pop()
    return lines, names


def _bodies(bodies: list[list[str]], style: Style) -> list[list[str]]:
    return bodies[:1] if style.only_one else bodies


def _asserting(made: MadeUp) -> list[str]:
    first, second = made.two_numbers()
    word = made.new_word()
    shapes = (
        [f"left, right = {first}, {second}", "assert left == right"],
        [f"assert sorted([{first}, {second}]) == [{max(first, second)}, {min(first, second)}]"],
        [f"found = {{{word!r}: {first}}}", f"assert found[{word!r}] == {second}"],
        [f"assert len({word!r}) > {first + 20}"],
    )
    return shapes[made.number(0, len(shapes) - 1)]


def _raising(made: MadeUp) -> list[str]:
    word = made.new_word()
    shapes = (
        [f"raise ValueError({word!r})"],
        [f"int({word!r})"],
        [f"raise RuntimeError({word!r} * {made.number(2, 3)})"],
        [f"[{made.number()}].index({made.number(200, 300)})"],
    )
    return shapes[made.number(0, len(shapes) - 1)]


def _method(inside: ast.ClassDef, name: str, made: MadeUp) -> list[str]:
    blanks = " " * inside.body[0].col_offset
    body = [_own_assertion(inside, made)] if _is_case(inside) else _asserting(made) if made.coin() else _raising(made)
    return [f"{blanks}def {name}(self):", *(f"{blanks}    {line}" for line in body)]


def _last_test_class(tree: ast.Module) -> ast.ClassDef | None:
    """The last that is surely collected: by its name, not abstract, on lines of its own."""
    found = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        and (node.name.startswith("Test") or _is_case(node))
        and node.body[0].lineno > node.lineno
        and any(isinstance(part, Function) and part.name.startswith("test") for part in node.body)
        and not any(isinstance(part, Function) and part.name == "__init__" for part in node.body)
    ]
    return found[-1] if found else None


def _is_case(node: ast.ClassDef) -> bool:
    """unittest's, by what it is derived from."""
    return any(ast.unparse(base).endswith("TestCase") for base in node.bases)


def _own_assertion(node: ast.AST, made: MadeUp) -> str:
    """A failing form of an assertion that is used there, for a class may have made its own; else a plain one."""
    low, high = sorted(made.two_numbers())
    failing = {
        "assertEqual": f"({low}, {high})",
        "assertNotEqual": f"({low}, {low})",
        "assertTrue": f"({low} == {high})",
        "assertFalse": f"({low} < {high})",
        "assertIn": f"({low}, [{high}])",
        "assertNotIn": f"({low}, [{low}])",
        "assertIs": f"(None, {low})",
        "assertIsNone": f"({low})",
        "assertIsNotNone": "(None)",
        "assertGreater": f"({low}, {high})",
        "assertLess": f"({high}, {low})",
        "assertListEqual": f"([{low}], [{high}])",
        "assertDictEqual": f"({{{low}: {high}}}, {{{high}: {low}}})",
    }
    called = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
    used = {func.attr for func in called if isinstance(func, ast.Attribute) and ast.unparse(func.value) == "self"}
    name = made.one_of(sorted(used.intersection(failing))) if used.intersection(failing) else ""
    if name:
        return f"self.{name}{failing[name]}"
    return f"assert {low} == {high}" if made.coin() else f'raise AssertionError("{low} != {high}")'


def _main_block(tree: ast.Module) -> int | None:
    """The line before `if __name__ == "__main__":`, counted from 0; None if there is none at the end."""
    for node in reversed(tree.body):
        if isinstance(node, ast.If) and "__name__" in ast.dump(node.test):
            return node.lineno - 1
    return None


def _functions(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, Function]]:
    for node in body:
        if isinstance(node, Function):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}::")


def _insert(lines: list[bytes], function: Function, made: MadeUp) -> bool:
    """A failing statement in front of the first one that does something; a docstring stays the first."""
    first = function.body[0]
    doc = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    if doc and len(function.body) > 1:
        first = function.body[1]
    heads = [decorator.lineno for decorator in getattr(first, "decorator_list", [])]
    line = min([first.lineno, *heads])
    here, failing = lines[line - 1], _own_assertion(function, made)
    before = here[: first.col_offset] if not heads else here[: len(here) - len(here.lstrip())]
    if not before.strip():
        lines.insert(line - 1, before + failing.encode())
        return True
    if isinstance(first, ast.Expr | ast.Assert | ast.Assign | ast.Pass | ast.Return | ast.Raise) and not heads:
        lines[line - 1] = before + failing.encode() + b"; " + here[first.col_offset :]
        return True
    return False


def style(path: str, source: bytes, command: str, green: TestRun) -> Style:
    """pytest takes functions, unittest classes."""
    pytest = _by_pytest(command, green)
    passed = [case.id for case in green.cases if case.status == "passed"]
    names = [test.rpartition("::")[2] for test in passed if test.startswith(f"{path}::")]
    prefix = next((name for name in names if not name.startswith("test")), "test").partition("_")[0]
    usual = not prefix.isidentifier() or not names or any(name.startswith("test") for name in names)
    return Style("test" if usual else prefix, pytest, not pytest or b"TestCase" in source)


def _by_pytest(command: str, green: TestRun) -> bool:
    """By who reported; what a `make test` runs that nobody told of is seen by whether it names single tests."""
    told = {call.runner for call in green.calls}.intersection(("pytest", "unittest"))
    if told:
        return "pytest" in told
    tells_single_tests = bool(green.cases) and len(green.cases) >= green.total
    return "pytest" in command or (tells_single_tests and "unittest" not in command)
