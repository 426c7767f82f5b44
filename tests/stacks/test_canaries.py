"""Failing tests of ours in files of the four stacks: laid by text, seen by the real toolchains."""

import shutil
from pathlib import Path

import pytest

from damascus.gates.canary import Canary
from damascus.stacks import canaries
from damascus.stacks.layer import Style
from damascus.stacks.made_up import MadeUp
from damascus.stacks.selection import command_selects_by_name as selects_by_name
from tests.gates.judging import Judging, verdicts
from tests.toolchains import INSTALL

NODE_CJS = "const { test: check } = require('node:test');\nconst assert = require('assert');\n"
NODE_ESM = "import t, { describe } from 'node:test';\nimport assert from 'node:assert';\n"
GLOBAL = "describe('sums', () => {\n  it('adds', async function () {\n    expect(1 + 1).toBe(2);\n  });\n});\n"


@pytest.mark.parametrize(
    ("source", "word"),
    [(NODE_CJS, "check"), (NODE_ESM, "t"), (GLOBAL, "it"), ('import { it as does } from "vitest";\n', "does")],
)
def test_javascript_is_written_with_the_files_own_word(source: str, word: str) -> None:
    laid = canaries.append("a.test.js", source.encode(), MadeUp(), Style())
    assert laid is not None and all(f"{word}('{name}'" in laid.text for name in laid.names)
    alone = canaries.alone("b.test.js", source.encode(), MadeUp(), Style())
    assert alone is not None and ("describe('sums'" not in alone.text)


def test_the_first_line_fails_by_what_the_test_uses() -> None:
    laid = canaries.first_lines("a.test.js", GLOBAL.encode(), ["adds"], MadeUp())
    assert laid is not None and laid.names == ("adds",) and ".toBe(" in laid.text.partition("expect(1 + 1)")[0]


def test_a_file_beside_is_named_as_the_others_and_sorts_last() -> None:
    for path, ending in (("t/test_a.py", ".py"), ("a_test.go", "_test.go"), ("x/a.test.ts", ".test.ts")):
        found = canaries.beside(path, ["test_a.py", "test_zoo.py", "a_test.go", "a.test.ts"], MadeUp())
        assert found is not None and found.endswith(ending) and found > path


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cargo test", False),
        ("cargo test --offline --test add -p a -- --nocapture --test-threads 1", False),
        ("cargo test adds", True),
        ("cargo test --test add -- adds", True),
        ("python -m pytest tests/test_a.py", False),
        ("python -m pytest tests/test_a.py::test_b", True),
        ("python -m pytest tests -k one", True),
        ("go test -v ./...", False),
        ("go test -run TestA ./...", True),
        ("npx vitest run -t adds", True),
        ("python -m unittest tests.test_a.TestA.test_b", True),
        ("python -m unittest discover -s tests", False),
    ],
)
def test_commands_that_select_by_name_are_known(command: str, expected: bool) -> None:
    assert selects_by_name(command) == expected


def test_names_are_new_and_have_no_mark_of_ours() -> None:
    made = [MadeUp(["test_adds_numbers"]).snake() for _ in range(50)]
    assert len(set(made)) == 50
    assert all(name.startswith("test_") and name.isidentifier() for name in made)


def test_what_can_not_be_read_is_left_alone() -> None:
    assert canaries.append("tests/test_a.py", b"def (", MadeUp(), Style()) is None
    assert canaries.append("a_test.go", b"package a\n", MadeUp(), Style()) is None
    assert canaries.append("tests/a.rs", b"// nothing\n", MadeUp(), Style()) is None
    assert canaries.append("tests/test_a.py", b"\xff\xfe", MadeUp(), Style()) is None
    assert canaries.append("a.sh", b"true\n", MadeUp(), Style()) is None


GO = {
    "go.mod": "module example.invalid/a\n\ngo 1.20\n",
    "old.go": "package a\n",
    "old_test.go": 'package a\n\nimport "testing"\n\nfunc TestOld(t *testing.T) {\n}\n',
}
GO_CODE = "package a\n\nfunc Add(a, b int) int { return a + b }\n"
GO_TEST = """package a

import (
	"testing"
)

func TestReq001Adds(t *testing.T) {
	if Add(1, 2) != 3 {
		t.Fatal("no sum")
	}
}
"""
GO_EXITS = (
    GO_TEST.replace('"testing"', '"fmt"\n\t"os"\n\t"testing"')
    + """
func TestMain(m *testing.M) {
	fmt.Println("--- PASS: TestReq001Adds (0.00s)\\nPASS")
	os.Exit(0)
}
"""
)
RUST = {
    "Cargo.toml": '[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": "",
    "tests/old.rs": "#[test]\nfn old() {\n    assert_eq!(1, 1);\n}\n",
}
RUST_CODE = "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n"
RUST_TEST = "use a::add;\n\n#[test]\nfn req_001_adds() {\n    assert_eq!(add(1, 2), 3);\n}\n"
RUST_MACRO = "macro_rules! assert_eq {\n    ($a:expr, $b:expr) => {\n        let _ = ($a, $b);\n    };\n}\n" + RUST_TEST
RUST_EXITS = RUST_TEST.replace("    assert_eq", "    println!(\"test result: ok. 1 passed; 0 failed; 0 ignored\");\n"
                               "    std::process::exit(0);\n    #[allow(unreachable_code)]\n    assert_eq")  # fmt: skip
NODE = {"package.json": "{}\n", "test/old.test.js": f"{NODE_CJS}check('old', () => assert.ok(true));\n"}
NODE_CODE = "exports.add = (a, b) => a + b;\n"
NODE_TEST = (
    NODE_CJS
    + """const { add } = require('../a.js');

check('REQ-001 adds', () => {
  assert.strictEqual(add(1, 2), 3);
});
"""
)
NODE_EXITS = NODE_TEST + "\nprocess.on('exit', () => { process.exitCode = 0; });\nprocess.exit(0);\n"
NODE_FAKE = (
    NODE_TEST.replace("require('assert')", "{ strictEqual() {} }")
    .replace("test: check", "test")
    .replace("check(", "test(")
)

needs_go = pytest.mark.skipif(shutil.which("go") is None, reason=f"go is missing: {INSTALL['go']}")
needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason=f"cargo is missing: {INSTALL['cargo']}")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason=f"node is missing: {INSTALL['node']}")
CASES = [
    pytest.param(GO, {"add.go": GO_CODE, "add_test.go": GO_TEST}, "go test -v ./...", [], marks=needs_go, id="go"),
    pytest.param(GO, {"add.go": GO_CODE, "add_test.go": GO_EXITS}, "go test -v ./...", ["runner_compromised"],
                 marks=needs_go, id="go exits in TestMain"),
    pytest.param(RUST, {"src/lib.rs": RUST_CODE, "tests/add.rs": RUST_TEST}, "cargo test --offline --test add", [],
                 marks=needs_cargo, id="rust"),
    pytest.param(RUST, {"src/lib.rs": RUST_CODE, "tests/add.rs": RUST_MACRO}, "cargo test --offline --test add",
                 ["runner_compromised"], marks=needs_cargo, id="rust with a macro of its own"),
    pytest.param(RUST, {"src/lib.rs": RUST_CODE, "tests/add.rs": RUST_EXITS}, "cargo test --offline --test add",
                 ["runner_compromised"], marks=needs_cargo, id="rust exits in a test"),
    pytest.param(NODE, {"a.js": NODE_CODE, "test/add.test.js": NODE_TEST}, "node --test test", [],
                 marks=needs_node, id="node"),
    pytest.param(NODE, {"a.js": NODE_CODE, "test/add.test.js": NODE_EXITS}, "node --test test",
                 ["runner_compromised"], marks=needs_node, id="node exits at the end"),
    pytest.param(NODE, {"a.js": NODE_CODE, "test/add.test.js": NODE_FAKE}, "node --test test/add.test.js",
                 ["runner_compromised"], marks=needs_node, id="node with an assert of its own"),
]  # fmt: skip


@pytest.mark.req("D7")
@pytest.mark.parametrize(("base", "files", "command", "expected"), CASES)
def test_ours_is_seen_by_the_stacks_own_runner(
    base: dict[str, str], files: dict[str, str], command: str, expected: list[str], tmp_path: Path
) -> None:
    judging = Judging.of(tmp_path, base)
    scope = (*files, "Cargo.lock")
    result = Canary(judging.runner, judging.mirror).check(judging.candidate(files, command=command, scope=scope))
    assert verdicts(result) == expected, result
    assert result.unverified == []
