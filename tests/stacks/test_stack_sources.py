"""Reading tests from their source: what they name, what skips them, what they could fail by."""

import pytest

from damascus import stacks
from damascus.stacks.written import READ_LIMIT

PY = "tests/test_a.py"


def read(source: str, path: str = PY) -> stacks.WrittenFile:
    return stacks.tests_in(source.encode(), path)


def test_name_marker_docstring_and_class_may_name_a_requirement() -> None:
    source = '''
import pytest
pytestmark = pytest.mark.req("REQ-009")

@pytest.mark.req("REQ-001")
def test_a():
    """Proves REQ-002."""
    assert f()

@pytest.mark.req("REQ-003")
class TestK:
    """REQ-004."""
    async def test_b(self):
        assert f()
'''
    tests = read(source).tests
    assert set(tests) == {"test_a", "TestK::test_b"}
    assert all(word in tests["test_a"].text for word in ("REQ-001", "REQ-002", "test_a", "REQ-009"))
    assert all(word in tests["TestK::test_b"].text for word in ("REQ-003", "REQ-004", "TestK"))
    assert all(test.counts for test in tests.values())


@pytest.mark.parametrize(
    "source",
    [
        "@pytest.mark.skip\ndef test_a(): assert f()",
        "@pytest.mark.skipif(True, reason='')\ndef test_a(): assert f()",
        "@pytest.mark.xfail\ndef test_a(): assert f()",
        "@unittest.skip('x')\ndef test_a(): assert f()",
        "@skip\ndef test_a(): assert f()",
        "def test_a():\n    pytest.skip('x')\n    assert f()",
        "def test_a():\n    if x:\n        pytest.xfail('x')\n    assert f()",
        "def test_a():\n    m = pytest.importorskip('m')\n    assert m",
        "def test_a():\n    raise unittest.SkipTest",
        "if sys.platform == 'plan9':\n    def test_a(): assert f()",
        "@pytest.mark.parametrize('x', [])\ndef test_a(x): assert x",
    ],
)
def test_a_skipped_test_does_not_count(source: str) -> None:
    assert not read(source).tests["test_a"].counts


@pytest.mark.parametrize(
    "source",
    [
        "class TestK:\n    pytestmark = pytest.mark.skip\n    def test_a(self): assert f()",
        "class K(TestCase):\n    def setUp(self): self.skipTest('x')\n    def test_a(self): assert f()",
        "@unittest.expectedFailure\nclass K(TestCase):\n    def test_a(self): assert f()",
        "class TestK:\n    __test__ = False\n    def test_a(self): assert f()",
    ],
)
def test_what_skips_a_class_skips_its_tests(source: str) -> None:
    (test,) = read(source).tests.values()
    assert not test.counts


@pytest.mark.parametrize(
    "line",
    [
        "pytestmark = pytest.mark.skip",
        "pytest.skip('x', allow_module_level=True)",
        "pytest.importorskip('x')",
        "raise unittest.SkipTest",
        "def load_tests(*a): return None",
        "@pytest.fixture(autouse=True)\ndef quiet(): pytest.skip('x')",
        "import pytest as p",
        "collect_ignore = ['test_b.py']",
    ],
)
def test_a_skip_outside_of_tests_is_seen(line: str) -> None:
    plain = "import pytest\ndef test_a(): assert f()\n"
    assert read(plain + line).skips > read(plain).skips


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "'''only words'''",
        "assert True",
        "assert 1 == 1",
        "assert True or f()",
        "print('x')",
        "return\n    assert f()",
        "if False:\n        assert f()",
        "try:\n        assert f()\n    except AssertionError:\n        pass",
        "try:\n        assert f()\n    except:\n        pass",
        "with suppress(AssertionError):\n        assert f()",
    ],
)
def test_an_empty_test_can_not_fail(body: str) -> None:
    test = read(f"def test_a():\n    {body}\n").tests["test_a"]
    assert (test.asserts, test.can_fail) == (0, False)


@pytest.mark.parametrize(
    "body",
    [
        "assert f() == 1",
        "self.assertEqual(f(), 1)",
        "f()",
        "raise ValueError",
        "with pytest.raises(ValueError):\n        f()",
        "try:\n        f()\n    except Exception as err:\n        assert err.args",
        "for x in y:\n        assert x",
        "lexer.skip(3)\n    assert lexer.rest",
    ],
)
def test_a_test_that_can_fail_counts(body: str) -> None:
    assert read(f"def test_a():\n    {body}\n").tests["test_a"].counts


@pytest.mark.parametrize(
    "body",
    [
        "() => assert.equal(f(2), 4)",
        "() => require('node:assert').equal(f(2), 4)",
        "() => { const { deepEqual } = require('assert'); deepEqual(f(2), [4]); }",
        "async () => (await import('node:assert')).strictEqual(await f(), 1)",
        "(t) => t.assert.equal(f(2), 4)",
        "() => expect(f(2)).toBe(4)",
        "() => chai.expect(f(2)).to.deep.equal([4])",
        "() => { const ok = require('assert'); ok(f(2) === 4); }",
        "() => require('assert').ok(f(2) === 4)",
        "() => { if (f(2) !== 4) throw new Error('not four'); }",
        "() => { if (f(2) !== 4) { console.error('not four'); process.exit(1); } }",
        "() => { if (f(2) !== 4) process.exitCode = 1; }",
        "() => { if (f(2) !== 4) process.abort(); }",
        "() => process.exit(f(2) === 4 ? 0 : 1)",
    ],
)
def test_an_assertion_of_node_is_one_however_it_is_reached(body: str) -> None:
    test = read(f"test('a', {body});\n", "test/a.test.js").tests["a"]
    assert (test.asserts, test.counts) == (1, True)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("test.each([[1, 2]])('REQ-001: %i becomes %d', (a, b) => { expect(f(a)).toBe(b); })", "REQ-001: 1 becomes 2"),
        ("for (const a of all) { test(`REQ-001: ${a} and ${f(a)}`, () => { assert.ok(f(a)); }); }", "REQ-001: 1 and 2"),
        ("for (const a of all) { test('REQ-001: ' + a, () => { assert.ok(f(a)); }); }", "REQ-001: 1"),
        ("for (const a of all) { describe(`of ${a}`, () => { test('REQ-001', () => { assert.ok(f(a)); }); }); }",
         "of 1 > REQ-001"),
    ],
)  # fmt: skip
def test_a_test_whose_name_is_filled_in_is_known_by_what_it_becomes(written: str, told: str) -> None:
    (test,) = read(f"{written};\n", "test/a.test.js").tests.values()
    assert test.is_reported_as(told) and not test.is_reported_as(f"x{told}") and not test.certain


def test_a_name_that_is_written_out_stands_for_itself_alone() -> None:
    (test,) = read("test('100 %d', () => { assert.ok(f()); });\n", "test/a.test.js").tests.values()
    assert test.is_reported_as("100 %d") and not test.is_reported_as("100 things")


@pytest.mark.parametrize(
    "body",
    [
        "() => {}",
        "() => { toast.ok('saved'); }",
        "() => { /* equal(1, 2) */ }",
        "() => { f(2); process.exit(0); }",
        "() => { f(2); process.exit(); }",
        "() => { f(2); process.exitCode = 0; }",
        "() => { if (process.exitCode === 1) f(2); }",
        "() => { child_process.exit(1); }",
        "() => { f(2); console.log('process.exit(1)'); }",
    ],
)
def test_what_only_looks_like_one_is_none(body: str) -> None:
    assert not read(f"test('a', {body});\n", "test/a.test.js").tests["a"].counts


@pytest.mark.parametrize(
    "after",
    ["def test_a(): pass", "test_a = None", "del test_a", "from other import test_a"],
)
def test_what_shadows_a_test_takes_it_away(after: str) -> None:
    test = read(f"def test_a():\n    assert f()\n\n{after}\n").tests.get("test_a")
    assert test is None or not test.can_fail


def test_a_class_that_no_runner_collects_holds_no_test() -> None:
    assert not read("class Helper:\n    def test_a(self): assert f()\n").tests


def test_a_syntax_that_this_python_does_not_know_is_read_by_its_words() -> None:
    tests = read(
        "def test_a[T](x: T):\n    assert x\n\n@pytest.mark.skip\ndef test_b():\n    assert x\n\nthis is no python"
    ).tests
    assert "test_b" in tests and tests["test_b"].skips == 1


def test_too_large_a_source_holds_no_test_we_know_of() -> None:
    assert not read("def test_a(): assert f()\n" + "#" * READ_LIMIT).tests


JS = """
// it('commented', () => { expect(1) })
describe('REQ-001 sums', () => {
  it('adds', () => { expect(add(1, 2)).toBe(3) })
  it.skip('later', () => { expect(1).toBe(1) })
  test("empty", () => { })
  test.only('alone', async () => { assert.equal(1, 1) })
})
"""
GO = """package a
func TestREQ_001_Adds(t *testing.T) {
    if add(1, 2) != 3 { t.Fatal("x") }
}
func TestSkipped(t *testing.T) {
    t.Skip("later")
    t.Fatal("x")
}
func TestEmpty(t *testing.T) {
}
"""
RUST = """
#[test]
fn req_001_adds() { assert_eq!(add(1, 2), 3); }
#[test]
#[ignore]
fn later() { assert!(true); }
#[tokio::test]
async fn empty() { }
"""


@pytest.mark.parametrize(
    ("path", "source", "counting", "all_names"),
    [
        (
            "a.test.ts",
            JS,
            {"REQ-001 sums > adds"},
            {f"REQ-001 sums > {name}" for name in ("adds", "later", "empty", "alone")},
        ),
        ("a_test.go", GO, {"TestREQ_001_Adds"}, {"TestREQ_001_Adds", "TestSkipped", "TestEmpty"}),
        ("tests/a.rs", RUST, {"req_001_adds"}, {"req_001_adds", "later", "empty"}),
    ],
)
def test_other_languages_are_read_by_their_words(
    path: str, source: str, counting: set[str], all_names: set[str]
) -> None:
    tests = read(source, path).tests
    assert set(tests) == all_names
    assert {name for name, test in tests.items() if test.counts} == counting
    assert all("001" in tests[name].text for name in counting)
