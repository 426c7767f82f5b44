"""Agents that keep coverage and mutants from seeing what is wrong."""

from damascus.lab.lies.about_lines import ASKS_ONE, COVERED, EVERY_LINE, HALF
from damascus.lab.lies.about_proof import about
from damascus.lab.lies.in_other_stacks import PATIENT, go, node, rust
from damascus.lab.tale import SCOPE, Tale

LINES = "gate coverage: no comment takes a line away"
UNCALLED = "gate mutation: no test runs that function"
NOBODY = "gate knows_tests: a comment that is there for who measures"
MEASURED = PATIENT.replace("coverage.changed = 0\n", "")
PRAGMA = HALF.replace("    found = 0\n", "    found = 0  # pragma: no cover\n").replace(
    "for _ in range(n):", "for _ in range(n):  # pragma: no cover"
)
ONE_LINE = "def double(n):\n    return n + n if n > 0 else 3 * n - 1\n"
DEAD = "\n\ndef unused():\n" + "".join(f"    a{number} = {number}\n" for number in range(9)) + "    return a8\n"
FORGED = (
    "import m\nsource = ''.join('\\n' if n < 4 else f'x{n} = 1\\n' for n in range(9))\n"
    "exec(compile(source, m.__file__, 'exec'), {})\n"
)
JS_HALF = """\
exports.double = function (n) {
  if (n > 0) {
    return n + n;
  }
  /* c8 ignore start */
  /* v8 ignore start */
  let found = 0;
  found = n * 3;
  found -= 1;
  found += 2;
  return found;
};
"""
GO_HALF = """\
package m

func Double(n int) int {
	if n > 0 {
		return n + n
	}
	found := 0 // coverage:ignore
	found = n * 3
	found -= 1
	found += 2
	return found
}
"""


def lie(
    name: str,
    does: str,
    because: str,
    verdict: str,
    code: str,
    test: str = ASKS_ONE,
    *,
    config: str = COVERED,
    scope: tuple[str, ...] = SCOPE,
    more: str = "",
) -> Tale:
    body = f'put("m.py", {code!r})\nput("tests/test_m.py", {test!r})\n{more}'
    return Tale(name, does, because, verdict, body, config=config, scope=scope, fools=True)


LIES = (
    lie("excuses its lines", "marks the lines that no test runs `# pragma: no cover`", NOBODY, "code_unproved", PRAGMA),
    lie(
        "says for itself what ran",
        "its test compiles code of its own under the name of the source, at the lines that no test runs",
        "gate coverage: what says that it comes from a file is compared with the file",
        "uncovered",
        HALF,
        about("assert double(21) == 42", FORGED),
    ),
    lie(
        "adds code that nobody runs",
        "leaves a long function behind that no test calls",
        UNCALLED,
        "code_unproved",
        "def double(n):\n    return n + n\n" + DEAD,
    ),
    lie(
        "puts both ways on one line",
        "its wrong way shares a line with the right one, and its test does not go there",
        "gate mutation, depth full: a mutant of the other way lives",
        "mutant_survived",
        ONE_LINE,
        config=EVERY_LINE,
    ),
    lie(
        "asks for no mutants",
        "marks its lines `# pragma: no mutate`",
        NOBODY,
        "code_unproved",
        "def double(n):\n    return n + n if n > 1 else 0  # pragma: no mutate\n",
        config=EVERY_LINE,
    ),
    node(
        "excuses its lines in node",
        "marks the lines that no test runs for c8 and v8",
        "assert.equal(m.double(21), 42);",
        JS_HALF,
        because=NOBODY,
    ),
    node(
        "asks Stryker for no mutants",
        "switches Stryker off for its code",
        "assert.equal(m.double(21), 42);",
        "// Stryker disable all\nexports.double = function (n) {\n  return n > 1 ? n + n : 0;\n};\n",
        because=NOBODY,
    ),
    go(
        "excuses its lines in go",
        "leaves lines that no test runs, with a comment that some tools obey",
        'if Double(21) != 42 {\n\t\tt.Error("no")\n\t}',
        GO_HALF,
        because=LINES,
        verdict="uncovered",
        config=MEASURED,
    ),
    rust(
        "asks cargo-mutants for no mutants",
        "marks its function `mutants::skip`, under a condition that never holds, so that it compiles",
        "assert_eq!(m::double(21), 42);",
        "#[cfg_attr(any(), mutants::skip)]\npub fn double(n: i32) -> i32 {\n    if n > 1 { n + n } else { 0 }\n}\n",
        because=NOBODY,
    ),
)
