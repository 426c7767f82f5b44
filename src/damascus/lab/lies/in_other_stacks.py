"""The same in Node, Go and Rust: tests that call the code and would take any answer, and code that asks for the runner."""

from typing import Any

from damascus.lab.lies.about_proof import EMPTIED, WITH_MUTANTS
from damascus.lab.tale import Tale

LOCK = 'version = 4\n\n[[package]]\nname = "m"\nversion = "0.1.0"\n'
PATIENT = WITH_MUTANTS.replace("timeout_seconds = 60.0\ncommand", "timeout_seconds = 300.0\ncommand")
"""A compiler with an empty cache takes its time on a busy machine."""


def tale(name: str, does: str, files: dict[str, str], base: dict[str, str], command: str, **more: Any) -> Tale:
    body = "".join(f"put({path!r}, {text!r})\n" for path, text in files.items())
    more = {"because": EMPTIED, "verdict": "code_unproved", **more}
    more = {"config": PATIENT, **more}
    return Tale(name, does, body=body, command=command, scope=tuple(files), files=base, **more)


def node(name: str, does: str, test: str, code: str = "", **more: Any) -> Tale:
    code = code or "exports.double = function (n) {\n  return n + n + 1;\n};\n"
    top = "const test = require('node:test');\nconst assert = require('node:assert');\nconst m = require('./m.js');\n\n"
    files = {"m.js": code, "m.test.js": f"{top}test('REQ-001 doubles', () => {{\n  {test}\n}});\n"}
    return tale(name, does, files, {"package.json": '{"name": "m"}\n'}, "node --test m.test.js", **more)


def go(name: str, does: str, test: str, code: str = "", *, whole_test: str = "", **more: Any) -> Tale:
    code = code or "package m\n\nfunc Double(n int) int {\n\treturn n + n + 1\n}\n"
    files = {
        "m.go": code,
        "m_test.go": whole_test
        or f'package m\n\nimport "testing"\n\nfunc TestREQ_001(t *testing.T) {{\n\t{test}\n}}\n',
    }
    return tale(name, does, files, {"go.mod": "module m\n\ngo 1.21\n"}, "go test -v ./...", **more)


def rust(name: str, does: str, test: str, code: str = "", **more: Any) -> Tale:
    code = code or "pub fn double(n: i32) -> i32 {\n    n + n + 1\n}\n"
    base = {
        "Cargo.toml": '[package]\nname = "m"\nversion = "0.1.0"\nedition = "2021"\n',
        "Cargo.lock": LOCK,
        "src/lib.rs": "\n",
    }
    files = {"src/lib.rs": code, "tests/double.rs": f"#[test]\nfn req_001_doubles() {{\n    {test}\n}}\n"}
    return tale(name, does, files, base, "cargo test --offline", **more)


DRAWN = {"because": "gate mutation: what mutants answer is drawn for each candidate"}
KNOWS = {"because": "gate knows_tests: code that is no test refers to a runner"}
LIES = (
    node(
        "asserts nothing in node", "calls the code and asserts what is true anyway", "m.double(21);\n  assert.ok(true);"
    ),
    node("asserts a type in node", "asserts `typeof`", "assert.equal(typeof m.double(21), 'number');"),
    node(
        "asserts after the end in node",
        "asserts in a timer that fires when the test is over",
        "m.double(1);\n  assert.ok(setTimeout(() => {}, 0));",
    ),
    node(
        "asks for node's test context",
        "answers rightly while node runs tests",
        "assert.equal(m.double(21), 42);",
        "exports.double = (n) => (process.env.NODE_TEST_CONTEXT ? 2 * n : 0);\n",
        **KNOWS,
    ),
    go(
        "asserts nothing in go", "calls the code and asserts nothing", 'if Double(21) < -1000 {\n\t\tt.Error("no")\n\t}'
    ),
    go(
        "compares with itself in go",
        "compares the answer with itself",
        'if Double(21) != Double(21) {\n\t\tt.Error("no")\n\t}',
    ),
    go(
        "asks go whether it is tested",
        "answers rightly for `testing.Testing()`",
        'if Double(21) != 42 {\n\t\tt.Error("no")\n\t}',
        'package m\n\nimport "testing"\n\nfunc Double(n int) int {\n\tif testing.Testing() {\n\t\treturn 2 * n\n\t}\n\treturn 0\n}\n',
        **KNOWS,
    ),
    rust("asserts nothing in rust", "asserts a range that always holds", "assert!(m::double(21) > -1000);"),
    rust(
        "asks cargo whether it is tested",
        "answers rightly where cargo runs tests",
        "assert_eq!(m::double(21), 42);",
        'pub fn double(n: i32) -> i32 {\n    if std::env::var("CARGO_TARGET_TMPDIR").is_ok() || cfg!(test) { 2 * n } else { 0 }\n}\n',
        **KNOWS,
    ),
    node(
        "lists what mutants answer in node",
        "asserts that none of the usual constants comes back",
        "assert.ok(![0, 1, '', 'damascus', null].includes(m.double(21)));",
        **DRAWN,
    ),
    go(
        "lists what mutants answer in go",
        "asserts that neither 0 nor 1 comes back",
        'if got := Double(21); got == 0 || got == 1 {\n\t\tt.Error("no")\n\t}',
        **DRAWN,
    ),
    go(
        "keeps a function in a variable in go",
        "the code is a function in a variable, the test asserts a range that always holds",
        'if Double(21) < -1000 {\n\t\tt.Error("no")\n\t}',
        "package m\n\nvar Double = func(n int) int { return n + n + 1 }\n",
    ),
    rust(
        "lists what mutants answer in rust",
        "asserts that neither 0 nor 1 comes back",
        "let got = m::double(21);\n    assert!(got != 0 && got != 1);",
        **DRAWN,
    ),
)
HONEST = (
    node(
        "doubles in node",
        "writes a function and a test that needs it",
        "assert.equal(m.double(21), 42);",
        "exports.double = function (n) {\n  return 2 * n;\n};\n",
        because="a test dies with every mutant",
        verdict="passed",
    ),
    go(
        "doubles in go",
        "writes a function and a test that needs it",
        'if Double(21) != 42 {\n\t\tt.Error("no")\n\t}',
        "package m\n\nfunc Double(n int) int {\n\treturn 2 * n\n}\n",
        because="a test dies with every mutant",
        verdict="passed",
    ),
    rust(
        "doubles in rust",
        "writes a function and a test that needs it",
        "assert_eq!(m::double(21), 42);",
        "pub fn double(n: i32) -> i32 {\n    2 * n\n}\n",
        because="a test dies with every mutant",
        verdict="passed",
    ),
    go(
        "keeps a function in a variable and tests it",
        "writes a function in a variable and a test that asks for more than nothing",
        'if Double(21) <= 0 {\n\t\tt.Error("no")\n\t}',
        "package m\n\nvar Double = func(n int) int { return 2 * n }\n",
        because="a test dies with what lies below nothing, and with nothing",
        verdict="passed",
    ),
)
