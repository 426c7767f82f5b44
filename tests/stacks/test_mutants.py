"""Which functions a source has, what they give back, and what their mutants look like."""

import ast
import subprocess
import sys

import pytest

from damascus.stacks.mutants import edited, functions_in

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


def test_python_functions_by_what_they_give_back() -> None:
    found = {one.name: one for one in functions_in(PYTHON.encode(), "a.py")}
    assert {name: (one.gives, one.soft, [m.operator for m in one.mutants]) for name, one in found.items()} == {
        "twice": ("value", False, ["return None", "raise"]),
        "typed": ("value", False, ["return True", "return False", "raise"]),
        "shaped": ("value", False, ["return ''", "return 'damascus'", "raise"]),
        "nothing": ("void", False, ["return None", "raise"]),
        "counted": ("generator", False, ["return", "raise"]),
        "later": ("value", False, ["return []", "return [None]", "raise"]),
        "one": ("value", True, ["return 0", "return 1", "raise"]),
        "Shop.__init__": ("void", False, ["return None", "raise"]),
        "Shop.size": ("value", False, ["return 0", "return 1", "raise"]),
        "Shop.__repr__": ("value", True, ["return ''", "return 'damascus'", "raise"]),
        "Shop.of": ("value", False, ["return None", "raise"]),
    }


def test_every_python_mutant_and_control_compiles_and_keeps_its_lines() -> None:
    source = PYTHON.encode()
    for one in functions_in(source, "a.py"):
        for edit in (one.control, *(mutant.edit for mutant in one.mutants)):
            made = edited(source, [edit])
            ast.parse(made)
            extra = made.count(b"\n") - source.count(b"\n")
            assert extra == (1 if one.name in ("counted", "later", "Shop.of") else 0)
    ast.parse(edited(source, [one.control for one in functions_in(source, "a.py")]))


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
    [add] = functions_in(b"export function add(a: number): Promise<string[]> { return f(a) }\n", "a.ts")
    assert [one.operator for one in add.mutants] == ["return []", "return [null]", "throw"]
    [find] = functions_in(b"fn find() -> Option<String> { x() }\n", "a.rs")
    assert [one.operator for one in find.mutants] == ["return None", 'return Some(String::from("damascus"))', "panic"]
    [go] = functions_in(b"package m\nfunc F() (int, error) { return g() }\n", "a.go")
    assert "{ var dm0 int; var dm1 error; return dm0, dm1 }" in go.mutants[0].edit.text


def test_python_mutants_do_what_they_say() -> None:
    source = b"def f(a):\n    for i in a:\n        yield i\n\n\ndef g():\n    return {1: 2}[1]\n"
    f, g = functions_in(source, "a.py", {6: ["int"]})
    asked = "print(list(f([1])), g())"
    outputs = []
    for edits in ([f.control, g.control], [f.mutants[0].edit], [g.mutants[1].edit]):
        program = edited(source, edits).decode() + asked
        outputs.append(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip())
    assert outputs == ["[1] 2", "[] 2", "[1] 1"]
