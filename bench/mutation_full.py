"""Mutants of changed lines, in each stack whose tool is there: how many in the time box, and is the box kept?"""

import os
import shlex
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.candidates import CONFIG, candidate_of
from bench.table import Result
from damascus.gates.mutation import Mutation

BOX, OVER = 60.0, 1.5
"""What runs when the time is up comes to its end."""
CACHE = Path(os.environ.get("DAMASCUS_MUTATION_DIR") or os.path.expanduser("~/.cache/damascus/mutation"))
PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider tests"


@dataclass(frozen=True)
class Sample:
    tools: str
    """Folders of its tool, as `make mutation-tools` names them."""
    command: str
    base: dict[str, str]
    changed: dict[str, str]


SAMPLES = {
    "python": Sample(
        "mutmut-*/bin",
        PYTEST,
        {"tests/conftest.py": ""},
        {
            "m.py": "def grade(p: int) -> int:\n    if p >= 90:\n        return p * 2 + 1\n    return p - 1\n",
            "tests/test_m.py": "from m import grade\n\n\ndef test_REQ_001():\n"
            "    assert (grade(95), grade(4)) == (191, 3)\n",
        },
    ),
    "node": Sample(
        "stryker-*/node_modules/.bin",
        "node --test",
        {"package.json": '{"name": "m"}'},
        {
            "m.js": "exports.grade = function (p) {\n  if (p >= 90) return p * 2 + 1;\n  return p - 1;\n};\n",
            "test/m.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\n"
            "const { grade } = require('../m.js');\ntest('REQ-001', () => {\n  assert.equal(grade(95), 191);\n"
            "  assert.equal(grade(4), 3);\n});\n",
        },
    ),
    "go": Sample(
        "gremlins-*/bin",
        "go test ./...",
        {"go.mod": "module m\n\ngo 1.21\n"},
        {
            "m.go": "package m\n\nfunc Grade(p int) int {\n"
            "\tif p >= 90 {\n\t\treturn p*2 + 1\n\t}\n\treturn p - 1\n}\n",
            "m_test.go": 'package m\n\nimport "testing"\n\nfunc TestREQ_001(t *testing.T) {\n'
            "\tif Grade(95) != 191 || Grade(4) != 3 {\n\t\tt.Fatal()\n\t}\n}\n",
        },
    ),
    "rust": Sample(
        "cargo-mutants-*/bin",
        "cargo test",
        {
            "Cargo.toml": '[package]\nname = "m"\nversion = "0.1.0"\nedition = "2021"\n',
            "Cargo.lock": 'version = 4\n\n[[package]]\nname = "m"\nversion = "0.1.0"\n',
        },
        {
            "src/lib.rs": "pub fn grade(p: i32) -> i32 {\n    if p >= 90 { p * 2 + 1 } else { p - 1 }\n}\n",
            "tests/m.rs": "#[test]\nfn req_001() {\n    assert_eq!((m::grade(95), m::grade(4)), (191, 3));\n}\n",
        },
    ),
}


def measure() -> list[Result]:
    return [_of(stack, sample) for stack, sample in SAMPLES.items() if any(CACHE.glob(sample.tools))]


def _of(stack: str, sample: Sample) -> Result:
    before = os.environ["PATH"]
    os.environ["PATH"] = os.pathsep.join([*map(str, CACHE.glob(sample.tools)), before])
    config = f'{CONFIG}[gates]\nmutation = "full"\nmutation_seconds = {BOX}\n'
    try:
        with tempfile.TemporaryDirectory(prefix="damascus-bench-") as name:
            candidate, runner = candidate_of(Path(name), sample.base, sample.changed, sample.command, config)
            began = time.monotonic()
            result = Mutation(runner).check(candidate)
            taken = time.monotonic() - began
    finally:
        os.environ["PATH"] = before
    told = result.score.told if result.score else "; ".join(result.unverified)
    what = f"mutation full, {stack}, × its time box of {BOX:g} s"
    return Result(what, taken / BOX, f"≤ {OVER:g}", taken <= BOX * OVER, f"{taken:.1f} s; {told}")
