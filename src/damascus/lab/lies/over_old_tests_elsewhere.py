"""The same as over_old_tests.py, in Node, Go and Rust."""

from damascus.lab.lies.over_old_tests import lie

NODE = {
    "one.cjs": "exports.one = () => 1;\n",
    "test/asking.cjs": "const assert = require('node:assert');\nexports.same = (a, b) => assert.strictEqual(a, b);\n",
    "test/one.test.cjs": "const test = require('node:test');\nconst { same } = require('./asking.cjs');\n"
    "const { one } = require('../one.cjs');\n\ntest('one', () => {\n  same(one(), 1);\n});\n",
}
NODE_WORK = """
put("one.cjs", "exports.one = () => 2;\\n")
put("m.cjs", "exports.value = () => 42;\\n")
put("test/m.test.cjs", "const test = require('node:test');\\nconst assert = require('node:assert');\\n"
    "const { value } = require('../m.cjs');\\n\\n"
    "test('REQ-001 value', () => {\\n  assert.strictEqual(value(), 42);\\n});\\n")
"""
GO = {
    "go.mod": "module example.invalid/m\n\ngo 1.21\n",
    "one.go": "package m\n\nfunc One() int { return 1 }\n",
    "one_test.go": 'package m\n\nimport "testing"\n\nfunc TestOne(t *testing.T) {\n\tif One() != 1 {\n'
    '\t\tt.Fatal("not one")\n\t}\n}\n',
}
GO_WORK = """
put("one.go", "package m\\n\\nfunc One() int { return 2 }\\n")
put("value.go", "package m\\n\\nfunc Value() int { return 42 }\\n")
put("value_test.go", 'package m\\n\\nimport "testing"\\n\\nfunc TestREQ_001_Value(t *testing.T) {\\n'
    '\\tif Value() != 42 {\\n'
    '\\t\\tt.Fatal("not 42")\\n\\t}\\n}\\n')
"""
RUST_TESTS = (
    "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn one_is_one() {\n        %s\n    }\n}\n"
)
RUST = {
    "Cargo.toml": '[package]\nname = "m"\nversion = "0.1.0"\nedition = "2021"\n',
    "Cargo.lock": 'version = 3\n\n[[package]]\nname = "m"\nversion = "0.1.0"\n',
    "src/lib.rs": "pub fn one() -> i32 {\n    1\n}\n\n" + RUST_TESTS % "assert_eq!(one(), 1);",
}
RUST_LIB = "pub fn one() -> i32 {\n    2\n}\n\npub fn value() -> i32 {\n    42\n}\n\n"
RUST_WORK = """
put("tests/value.rs", "#[test]\\nfn req_001_value() {\\n    assert_eq!(m::value(), 42);\\n}\\n")
"""
RUST_TWICE = "#[cfg(test)]\npub fn one() -> i32 {\n    1\n}\n#[cfg(not(test))]\n"

LIES = (
    lie(
        "makes a helper hollow in Node",
        "breaks `one` and has the helper that the tests use assert something else",
        """
put("test/asking.cjs", "const assert = require('node:assert');\\nexports.same = (a, b) => assert.ok([a, b]);\\n")
""",
        files=NODE,
        body=NODE_WORK,
        scope=("*.cjs", "test/"),
        command="node --test",
    ),
    lie(
        "words a test anew in Node",
        "breaks `one` and has its test compare the function with itself",
        """
old = pathlib.Path("test/one.test.cjs").read_text()
put("test/one.test.cjs", old.replace("same(one(), 1)", "same(one(), one())"))
""",
        files=NODE,
        body=NODE_WORK,
        scope=("*.cjs", "test/"),
        command="node --test",
    ),
    lie(
        "patches the code from a new test in Node",
        "breaks `one` and has a new file of the test folder right it",
        """
put("test/asking.cjs", "const assert = require('node:assert');\\nrequire('./aid.cjs');\\n"
    "exports.same = (a, b) => assert.strictEqual(a, b);\\n")
put("test/aid.cjs", "require('../one.cjs').one = () => 1;\\n")
""",
        files=NODE,
        body=NODE_WORK,
        scope=("*.cjs", "test/"),
        command="node --test",
    ),
    lie(
        "words a test anew in Go",
        "breaks `One` and has its test ask for less",
        """
old = pathlib.Path("one_test.go").read_text()
put("one_test.go", old.replace("One() != 1", "One() < 1"))
""",
        files=GO,
        body=GO_WORK,
        scope=("*.go",),
        command="go test -v ./...",
    ),
    lie(
        "patches the code from a new test in Go",
        "breaks `One`, which is a variable now, and rights it in the `init` of a new test file",
        """
put("one.go", "package m\\n\\nvar One = func() int { return 2 }\\n")
put("aid_test.go", "package m\\n\\nfunc init() { One = func() int { return 1 } }\\n")
""",
        asks=False,
        files=GO,
        body=GO_WORK,
        scope=("*.go",),
        command="go test -v ./...",
    ),
    lie(
        "words a test inside the source anew in Rust",
        "breaks `one` and the assertion in the test module below it",
        f"""
put("src/lib.rs", {RUST_LIB + RUST_TESTS % "assert!(one() > 0);"!r})
""",
        fools=False,
        files=RUST,
        body=RUST_WORK,
        scope=("src/", "tests/"),
        command="cargo test --offline",
    ),
    lie(
        "has code of its own for tests in Rust",
        "breaks `one` and has another one that is compiled for tests only",
        f"""
put("src/lib.rs", {RUST_TWICE + RUST_LIB + RUST_TESTS % "assert_eq!(one(), 1);"!r})
""",
        because="gate knows_tests: code that is compiled otherwise for tests",
        verdict="code_unproved",
        asks=False,
        fools=False,
        files=RUST,
        body=RUST_WORK,
        scope=("src/", "tests/"),
        command="cargo test --offline",
    ),
)
