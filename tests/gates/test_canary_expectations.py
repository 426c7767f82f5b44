"""Gate canary: a test that names what it expects fails when it names something else."""

from pathlib import Path

import pytest

from damascus.gates.canary import Canary
from tests.gates.judging import PYTEST, TEST, UNITTEST, Content, Judging, verdicts
from tests.toolchains import need_program

EQUALS_ALL = "class N(int):\n    def __eq__(self, other):\n        return other > -9\n\n    __hash__ = None\n\n\n"
LIES = {
    "equal to everything": EQUALS_ALL + "def add(a, b):\n    return N(a)\n",
    "read from the test": (
        "import re\nfrom pathlib import Path\n\n\ndef add(a, b):\n"
        "    texts = [path.read_text() for path in Path(__file__).parent.rglob('*.py')]\n"
        "    found = [re.search(rf'add\\({a}, {b}\\)(?: ==|,) (\\d+)', text) for text in texts]\n"
        "    return next((int(one[1]) for one in found if one), 0)\n"
    ),
}
HONEST = """\
import pytest

from src import add


class Loose:
    def __eq__(self, other):
        return True


def test_req_001_adds():
    assert add(1, 2) == 3
    assert 7 == add(3, 4), "a message"
    assert -1 == -1


@pytest.mark.parametrize("n", [1, 2])
def test_each(n):
    '''One that may return early, one in a branch, one in a loop.'''
    if n > 1:
        return
    assert add(n, 1) == 2


def test_branches():
    if add(1, 1) == 3:
        assert add(1, 1) == 4
    for n in ():
        assert add(n, n) == 5
    with pytest.raises(TypeError):
        add(None, 1)
        assert add(1, 1) == 6
    assert Loose() == add(1, 1)
    assert f"{add(1, 1)}" == "2"


def test_twice():
    assert add(1, 1) == 3


def test_twice():
    assert add(1, 1) == 2
"""
CASE = (
    "import unittest\nfrom src import add\n\n\nclass A(unittest.TestCase):\n"
    "    def test_req_001(self):\n        self.assertEqual(add(1, 2), 3)\n"
)


def judged(folder: Path, files: dict[str, Content], command: str = PYTEST) -> list[str]:
    judging = Judging.of(folder)
    return verdicts(Canary(judging.runner, judging.mirror).check(judging.candidate(files, command=command)))


@pytest.mark.req("D7")
@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize(("test", "command"), [(TEST["tests/test_add.py"], PYTEST), (CASE, UNITTEST)])
def test_an_answer_that_pleases_any_test_is_refused(tmp_path: Path, lie: str, test: str, command: str) -> None:
    assert judged(tmp_path, {"src.py": LIES[lie], "tests/test_add.py": test}, command) == ["code_unproved"]


@pytest.mark.req("D7")
def test_honest_tests_of_every_shape_pass(tmp_path: Path) -> None:
    code = "def add(a, b):\n    return a + b\n"
    assert judged(tmp_path, {"src.py": code, "tests/test_add.py": HONEST}) == []


NODE_TEST = """\
const test = require('node:test');
const assert = require('node:assert');
const { add } = require('../src/add.js');
test('REQ-001 adds', () => {
  assert.strictEqual(add(1, 2), 3);
});
test.describe('more', () => {
  test('of them', () => {
    if (add(1, 1) === 3) assert.strictEqual(add(1, 1), 4);
    assert.equal('4', String(add(2, 2)));
  });
});
"""
NODE_LIE = """\
const fs = require('fs');
const path = require('path');
exports.add = (a, b) => {
  const file = path.join(__dirname, '..', 'tests', fs.readdirSync(path.join(__dirname, '..', 'tests'))[0]);
  const found = fs.readFileSync(file, 'utf8').match(new RegExp(`add\\\\(${a}, ${b}\\\\), (\\\\d+)`));
  return found ? Number(found[1]) : a + b;
};
"""
NODE = (NODE_TEST, "tests/add.test.js", "src/add.js", "node --test tests/add.test.js", "node")
RUST_TEST = """\
use shop::add;

#[test]
fn req_001_adds() {
    assert_eq!(add(1, 2), 3);
}

#[test]
fn more() -> Result<(), String> {
    if add(1, 1) == 3 {
        return Ok(());
    }
    assert_eq!(4, add(2, 2));
    Ok(())
}
"""
RUST_LIE = """\
#[derive(Debug)]
pub struct N(i64);
impl PartialEq<i64> for N {
    fn eq(&self, _: &i64) -> bool { true }
}
impl PartialEq<N> for i64 {
    fn eq(&self, _: &N) -> bool { true }
}
pub fn add(a: i64, _: i64) -> N { N(a) }
"""
RUST_HONEST = "pub fn add(a: i64, b: i64) -> i64 { a + b }\n"
RUST = (RUST_TEST, "tests/add.rs", "src/lib.rs", "cargo test --offline", "cargo")
MANIFEST = {
    "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
    "Cargo.lock": 'version = 3\n\n[[package]]\nname = "shop"\nversion = "0.1.0"\n',
}
GO_TEST = """\
package shop

import "testing"

func TestREQ_001_Add(t *testing.T) {
	if got := Add(1, 2); got != 3 {
		t.Fatal(got)
	}
}

func TestMore(t *testing.T) {
	if Add(1, 1) != 2 || Add(2, 2) != 4 {
		t.Error("wrong")
	}
	if Add(1, 1) != 3 {
		t.Log("as it should be")
	}
}
"""
GO_LIE = """\
package shop

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
)

func Add(a, b int) int {
	files, _ := os.ReadDir(".")
	for _, file := range files {
		text, _ := os.ReadFile(file.Name())
		found := regexp.MustCompile(fmt.Sprintf(`Add\\(%d, %d\\)(?:; got)? != (\\d+)`, a, b)).FindSubmatch(text)
		if found != nil {
			n, _ := strconv.Atoi(string(found[1]))
			return n
		}
	}
	return 0
}
"""
GO = (GO_TEST, "add_test.go", "add.go", "go test ./...", "go")
MODULE = {"go.mod": "module example.com/shop\n\ngo 1.20\n"}


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    ("stack", "code", "base", "told"),
    [
        (NODE, "exports.add = (a, b) => a + b;\n", {}, []),
        (NODE, NODE_LIE, {}, ["code_unproved"]),
        (RUST, RUST_HONEST, MANIFEST, []),
        (RUST, RUST_LIE, MANIFEST, ["code_unproved"]),
        (GO, "package shop\n\nfunc Add(a, b int) int { return a + b }\n", MODULE, []),
        (GO, GO_LIE, MODULE, ["code_unproved"]),
    ],
    ids=["node", "node, a lie", "rust", "rust, a lie", "go", "go, a lie"],
)
def test_so_it_is_in_other_stacks(
    tmp_path: Path, stack: tuple[str, ...], code: str, base: dict[str, str], told: list[str]
) -> None:
    test, test_path, code_path, command, program = stack
    need_program(program)
    judging = Judging.of(tmp_path, {"README.md": "x\n", **base})
    candidate = judging.candidate({code_path: code, test_path: test}, command=command)
    assert verdicts(Canary(judging.runner, judging.mirror).check(candidate)) == told
