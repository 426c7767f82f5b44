"""Which functions a source has, what they give back, and what their mutants look like."""

import ast
import subprocess
import sys
from collections.abc import Callable

import pytest

from damascus.stacks.mutants import Function, Values, edited, functions_in, noticed, outside
from damascus.stacks.python.by_name import bindings, by_name, called_by, is_module

VALUES = Values(number=432, below=511, small=117, real=333.25, word="pesafure", letters="kd")


def read(source: bytes, path: str = "a.py", seen: dict[int, list[str]] | None = None) -> list[Function]:
    return functions_in(source, path, seen, VALUES)


PYTHON = '''
import typing

LIMIT = 3
twice = lambda n: 2 * n


def typed(a: int) -> bool:
    """Says so."""
    if a:
        return True
    return False


def shaped(a):
    return f"{a}"


def nothing(a):
    a.append(1)


def counted(n):
    for i in range(n):
        yield i


async def later(n) -> "list[int]":
    async with n:
        return [n]


def one(): return 7


@typing.overload
def stub(a: int) -> int: ...


def todo():
    raise NotImplementedError


class Shop:
    def __init__(self):
        self.items = []

    @property
    def size(self):
        return len(self.items)

    def __repr__(self):
        return "Shop"

    @classmethod
    def of(cls, items: typing.Iterable[str]) -> "Shop":
        try:
            made = cls()
        finally:
            pass
        return made
'''


LATER = ("return []", "return ['pesafure']")


def test_python_functions_by_what_they_give_back() -> None:
    found = {one.name: one for one in read(PYTHON.encode())}
    assert {name: (one.gives, one.soft, [m.operator for m in one.mutants]) for name, one in found.items()} == {
        "twice": ("value", False, ["return None", "raise"]),
        "typed": ("value", False, ["return True", "return False", "raise"]),
        "shaped": ("value", False, ["return 'pesafure'", "raise"]),
        "nothing": ("void", False, ["return None", "raise"]),
        "counted": ("generator", False, ["return", "raise"]),
        "later": ("value", False, [*LATER, *at_once(*LATER), "raise"]),
        "one": ("value", True, ["return 432", "return -511", "return 0", "raise"]),
        "Shop.__init__": ("void", False, ["return None", "raise"]),
        "Shop.size": ("value", False, ["return 432", "return -511", "return 0", "raise"]),
        "Shop.__repr__": ("value", True, ["return 'pesafure'", "raise"]),
        "Shop.of": ("value", False, ["return None", *at_once("return None"), "raise"]),
    }


def at_once(*operators: str) -> list[str]:
    """Whoever does nothing but answer has none of these."""
    return [f"{one}, its work undone" for one in operators]


def test_every_python_mutant_and_control_compiles_and_adds_a_line() -> None:
    source = PYTHON.encode()
    for one in functions_in(source, "a.py"):
        for edit in (one.control, *(mutant.edit for mutant in one.mutants)):
            made = edited(source, [edit])
            ast.parse(made)
            extra = made.count(b"\n") - source.count(b"\n")
            late = one.gives == "value" and "[" in edit.text and "if " not in edit.text
            assert extra == (0 if late else {"twice": 0, "one": 2}.get(one.name, 1))
    ast.parse(edited(source, [one.control for one in functions_in(source, "a.py")]))


@pytest.mark.parametrize(
    "body",
    [
        "return a + 1",
        "return a, a",
        "return (\n        a  # one\n        + 1\n    )",
        "return a \\\n        + 1",
        "if a:\n        return -1\n    return 1",
    ],
)
def test_a_python_answer_is_changed_behind_its_work(body: str) -> None:
    source = f"def f(a):\n    {body}\n".encode()
    made = edited(source, [read(source)[0].mutants[0].edit])
    space: dict[str, Callable[[int], object]] = {}
    exec(made, space)
    assert space["f"](5) in (432, (), None) and made.count(b"\n") == source.count(b"\n")


@pytest.mark.parametrize(
    "body",
    [
        "log(a)\n    return a",
        "a.b = 1\n    return a",
        "if a:\n        return 1",
        "if a:\n        raise a\n    return a",
    ],
)
def test_who_does_more_than_answer_has_mutants_without_its_work_too(body: str) -> None:
    operators = [one.operator for one in read(f"def f(a):\n    {body}\n".encode())[0].mutants]
    assert any(one.endswith("its work undone") for one in operators)


def test_a_function_is_the_same_whatever_its_docstring_and_annotations_say() -> None:
    was = functions_in(b"def f(a):\n    return a\n", "a.py")[0]
    now = functions_in(b'def g(a: int) -> int:\n    """Gives a."""\n    return a  # yes\n', "b.py")[0]
    assert was.body == now.body
    assert was.body != functions_in(b"def f(a):\n    return -a\n", "a.py")[0].body


GO = b"""package m

import "errors"

const Limit = 3

func Add(a int, b int) int {
	return a + b
}

func (s *Shop) Find(name string) (item *Item, err error) {
	if name == "" { return nil, errors.New("none") }
	return s.items[name], nil
}

func (s *Shop) Close() { s.open = false }
"""
RUST = b"""pub fn add(a: i32, b: i32) -> i32 { a + b }

impl Shop {
    pub fn find(&self, name: &str) -> Option<String> { self.items.get(name).cloned() }
    fn close(&mut self) { self.open = false; }
    pub fn parse(text: &str) -> Result<Vec<u8>, String> { Ok(text.bytes().collect()) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn adds() { assert_eq!(super::add(1, 2), 3); }
}
"""
NODE = b"""import { x } from "./x.js";
export const LIMIT = 3;
export function add(a, b) { return a + b; }
export const greet = (name) => `hello ${name}`;
export class Shop {
  #items = [];
  constructor() { this.open = true; }
  get size() { return this.#items.length; }
  *each() { yield* this.#items; }
  async load() { this.#items = await x(); }
}
module.exports = { isEven: (n) => n % 2 === 0 };
"""


@pytest.mark.parametrize(
    ("source", "path", "found"),
    [
        (GO, "a.go", {"Add": "value", "Shop.Find": "value", "Shop.Close": "void"}),
        (RUST, "a.rs", {"add": "value", "Shop::find": "value", "Shop::close": "void", "Shop::parse": "value"}),
        (
            NODE,
            "a.mjs",
            {
                "add": "value",
                "greet": "value",
                "constructor": "void",
                "size": "value",
                "each": "generator",
                "load": "void",
                "isEven": "value",
            },
        ),
        (b"export function add(a: number): Promise<string[]> { return f(a) }\n", "a.ts", {"add": "value"}),
    ],
)
def test_functions_of_other_stacks(source: bytes, path: str, found: dict[str, str]) -> None:
    functions = functions_in(source, path)
    assert {one.name: one.gives for one in functions} == found
    for one in functions:
        for edit in (one.control, *(mutant.edit for mutant in one.mutants)):
            assert len(functions_in(edited(source, [edit]), path)) == len(functions)


def test_the_constants_of_other_stacks_follow_the_types() -> None:
    [add] = read(b"export function add(a: number): Promise<string[]> { return f(a) }\n", "a.ts")
    assert [one.operator for one in add.mutants] == ["return []", 'return ["pesafure"]', "throw"]
    [find] = read(b"fn find() -> Option<String> { x() }\n", "a.rs")
    assert [one.operator for one in find.mutants] == ["return None", 'return Some(String::from("pesafure"))', "panic"]
    [small] = read(b"fn f() -> i8 { x() }\n", "a.rs")
    assert [one.operator for one in small.mutants] == ["return 117", "return -117", "return 0", "panic"]
    [go] = read(b"package m\nfunc F() (int, error) { return g() }\n", "a.go")
    assert "{ var dm0 int; var dm1 error; dm0 = 432; return dm0, dm1 }" in go.mutants[0].edit.text
    [held] = read(b"package m\nvar F = func(a int) string { return g(a) }\n", "a.go")
    assert (held.name, held.mutants[0].operator) == ("F", 'return var dm0 string; dm0 = "pesafure"; return dm0')


def test_python_mutants_do_what_they_say() -> None:
    source = b"def f(a):\n    for i in a:\n        yield i\n\n\ndef g():\n    return {1: 2}[1]\n"
    f, g = read(source, "a.py", {6: ["int"]})
    asked = "print(list(f([1])), g())"
    outputs = []
    for edits in ([f.control, g.control], [f.mutants[0].edit], [g.mutants[1].edit]):
        program = edited(source, edits).decode() + asked
        outputs.append(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip())
    assert outputs == ["[1] 2", "[] 2", "[1] -511"]


CODE = "def price(qty, unit):\n    return qty + unit * 7\n"
ENCODED = {
    "byte order mark": b"\xef\xbb\xbf" + CODE.encode(),
    "latin-1": f"# -*- coding: latin-1 -*-\n# caf\xe9\n{CODE}".encode("latin-1"),
    "escapes": f"# coding: unicode_escape\n{CODE}".encode(),
    "utf-7": f"# coding: utf-7\n# caf\xe9\n{CODE}".encode("utf-7"),
    "windows lines": CODE.replace("\n", "\r\n").encode(),
    "bare returns": CODE.replace("\n", "\r").encode(),
    "continued": b"def price(qty, unit): \\\n    return qty + unit * 7\n",
    "one line": b"def price(qty, unit): x = qty; return x + unit * 7\n",
    "docstring beside": b'def price(qty, unit): "x"; return qty + unit * 7\n',
    "docstring in front": b'def price(qty, unit):\n    "x"; return qty + unit * 7\n',
    "tabs": b"class A:\n\tdef price(qty, unit):\n\t\treturn qty + unit * 7\nprice = A.price\n",
}


@pytest.mark.parametrize("name", ENCODED)
def test_a_python_source_is_read_and_written_as_python_does(name: str) -> None:
    source = ENCODED[name]
    price = read(source)[0]
    answers = []
    for edit in (price.control, price.mutants[0].edit, price.mutants[-1].edit):
        space: dict[str, object] = {}
        made = edited(source, [edit], "a.py")
        exec(compile(made, "a.py", "exec"), space)
        try:
            answers.append(space["price"](2, 3))  # type: ignore[operator]
        except RuntimeError as err:
            answers.append(str(err))
    assert answers == [23, None, "pesafure"]


MEANT = {
    "typing's overload": ("import typing as t\n@t.overload\ndef f(a):\n    return g(a)\n", True),
    "an own overload": ("def overload(f):\n    return g(f)\n@overload\ndef f(a):\n    return g(a)\n", False),
    "typing's protocol": ("from typing import Protocol as P\nclass A(P):\n    def f(a):\n        return g(a)\n", True),
    "a generic protocol": (
        "from typing_extensions import Protocol\nclass A(Protocol[T]):\n    def f(a):\n        return g(a)\n",
        True,
    ),
    "a base of that name": ("class A(ProtocolBase):\n    def f(a):\n        return g(a)\n", False),
    "an own abstractmethod": ("from x import abstractmethod\n@abstractmethod\ndef f(a):\n    return g(a)\n", False),
    "abc's abstractmethod": ("from abc import abstractmethod\n@abstractmethod\ndef f(a):\n    return g(a)\n", True),
    "an overload bound again": (
        "from typing import overload\noverload = id\n@overload\ndef f(a):\n    return g(a)\n",
        False,
    ),
    "never, but it returns": ("from typing import NoReturn\ndef f(a) -> NoReturn:\n    return g(a)\n", False),
    "NotImplemented bound": ("NotImplemented = 3\ndef f(a):\n    return NotImplemented\n", False),
}


@pytest.mark.parametrize("name", MEANT)
def test_what_is_left_out_is_known_by_its_import(name: str) -> None:
    source, soft = MEANT[name]
    assert read(source.encode())[-1].soft is soft


@pytest.mark.parametrize(
    "head",
    [
        *("match 1:\n    case 1:\n        ", "if x:\n    pass\nelif y:\n        ", "with x:\n        "),
        *("try:\n    pass\nexcept* ValueError:\n        ", "for _ in x:\n        ", "while x:\n        "),
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    pass\nelse:\n        ",
    ],
)
def test_functions_are_found_inside_of_any_block(head: str) -> None:
    [found] = read((head + "def f(a):\n            return g(a)\n").encode())
    assert found.name == "f"
    checked = "import typing\nif typing.TYPE_CHECKING:\n    def f(a):\n        return g(a)\n"
    assert read(checked.encode()) == []


def test_an_annotation_without_an_answer_is_not_believed_where_one_was_seen() -> None:
    source = b"def f(a) -> None:\n    return g(a)\n"
    seen: list[list[str]] = [[], ["NoneType"], ["NoneType", "int"]]
    assert [read(source, seen={1: types})[0].gives for types in seen] == ["void", "void", "value"]
    unsaid = b"def f(a):\n    return g(a)\n"
    assert read(unsaid, seen={1: ["NoneType"]})[0].gives == "value"


def test_lambdas_with_an_annotation_count() -> None:
    [price] = read(b"price: Callable = lambda qty, unit: qty + unit * 7\n")
    space: dict[str, object] = {"Callable": object}
    exec(edited(b"price: Callable = lambda qty, unit: qty + unit * 7\n", [price.mutants[0].edit]), space)
    assert space["price"](2, 3) is None  # type: ignore[operator]


DEEP = {
    "strings": "TABLE = (" + "".join(f"'row{i}' +\n" for i in range(1500)) + "'end')\n",
    "numbers": "def g():\n    return " + "1 + " * 1500 + "1\n",
    "calls": "def g(x: int) -> int:\n    return x" + ".y()" * 900 + "\n",
    "unions": "def g(x) -> " + "int | " * 900 + "str:\n    return f(x)\n",
    "otherwise": "if a:\n    pass\n" + "elif b:\n    pass\n" * 600,
}


@pytest.mark.parametrize("name", DEEP)
def test_depth_hides_no_function(name: str) -> None:
    source = (DEEP[name] + CODE).encode()
    assert read(source)[-1].name == "price"
    assert isinstance(outside(source, "a.py", VALUES), list)
    assert "price" in bindings(source) and called_by(source) is not None


CALLED = """
import shop.m as m
from shop import m as other, cart
from .m import price as cost
import app.m

cost(1), m.total(2), other.net(3), cart.Shop().sum(4), app.m.gross(5), print(6)
"""


def test_what_a_test_calls_is_known_by_module_and_name() -> None:
    called = called_by(CALLED.encode())
    assert called >= {("m", "price"), ("shop.m", "total"), ("shop.m", "net"), ("app.m", "gross")}
    assert [is_module(name, "src/shop/m.py") for name in ("m", "shop.m", "hop.m", "app.m", "")] == [True, True] + [
        False
    ] * 3


NO_DEF = {
    "partial": "from functools import partial\nprice = partial(lambda f, a, b: f(a, b), lambda a, b: a + b * 7)\n",
    "bound method": "class Shop:\n    def total(self, a, b):\n        return a + b * 7\nprice = Shop().total\n",
    "exec": "exec('def price(a, b):\\n    return a + b * 7')\n",
    "decorator": "def by(f):\n    return lambda a, b: a + b * 7\n@by\ndef price(a, b): ...\n",
    "no new line": "price = (lambda: lambda a, b: a + b * 7)()",
}


@pytest.mark.parametrize("name", NO_DEF)
def test_whatever_bound_a_name_it_can_be_bound_again(name: str) -> None:
    source = NO_DEF[name].encode()
    [price] = by_name(source, "a.py", ["price"], VALUES)
    answers = []
    for edit in (price.control, *(one.edit for one in price.mutants[:3])):
        space: dict[str, object] = {}
        exec(edited(source, [edit], "a.py"), space)
        answers.append(space["price"](2, 3))  # type: ignore[operator]
    assert answers == [23, 432, -511, 0]


def test_a_class_is_not_taken_for_a_function() -> None:
    source = b"from collections import Counter\n"
    [counter] = by_name(source, "a.py", ["Counter"], VALUES)
    space: dict[str, object] = {}
    exec(edited(source, [counter.mutants[-1].edit]), space)
    assert isinstance(space["Counter"], type)


def test_halves_count_together() -> None:
    [f] = read(b"def f() -> int:\n    return g()\n")
    found = [noticed(f, killed) for killed in ([], ["return 432"], ["return -511"], ["return 0", "return -511"])]
    assert found == [False, True, False, True]


def test_values_are_others_for_each_candidate() -> None:
    drawn = [Values.drawn() for _ in range(4)]
    assert len({one.word for one in drawn}) == 4
    assert all(128 < one.number < 999 and 100 < one.small < 127 for one in drawn)


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("exec(open('m.txt').read())\n", "a.py"),
        ("package m\nvar Price = mul\n", "a.go"),
        ("make!(price);\n", "a.rs"),
        ("macro_rules! make { () => {}; }\n", "a.rs"),
        ("export const price = new Function('q', body);\n", "a.js"),
    ],
)
def test_what_hides_functions_is_known(source: str, path: str) -> None:
    [part] = outside(source.encode(), path, VALUES)
    assert part.hides and part.line == source.count("\n", 0, source.index(part.name)) + 1


def test_an_expression_that_is_compiled_hides_nothing() -> None:
    [part] = outside(b"WORD = re.compile('a')\n", "a.py", VALUES)
    assert not part.hides and part.edits
