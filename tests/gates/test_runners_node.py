"""node --test, and plain node with node:test, are read test by test, by a reporter of ours."""

from pathlib import Path

import pytest

from damascus.domain.ports import GateResult
from tests.gates.judging import Content, Judging, verdicts
from tests.toolchains import need_program

PACKAGE = '{"name": "shop", "type": "module", "scripts": {"test": "node --test"}}\n'
BASE = {"package.json": PACKAGE, "Makefile": "test:\n\tnpm test\n"}
CODE = "export const price = (cents) => cents * 2;\n"
HEAD = "import test, { describe, it } from 'node:test';\nimport assert from 'node:assert';\n"
TEST = HEAD + "import { price } from './shop.js';\ntest('REQ-001 price', () => { assert.equal(price(2), 4) });\n"


def judged(folder: Path, files: dict[str, Content], command: str = "node --test") -> GateResult:
    need_program("node")
    judging = Judging.of(folder, BASE)
    work = {"shop.js": CODE, "shop.test.js": TEST, **files}
    return judging.tests(judging.candidate(work, command=command, scope=tuple(work)))


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    "command", ["node --test", "make test", "node shop.test.js", "node --test-reporter=dot --test shop.test.js"]
)
def test_each_test_is_known_by_its_file(tmp_path: Path, command: str) -> None:
    result = judged(tmp_path, {}, command)
    assert result.findings == []
    assert result.green_tests == ["shop.test.js::REQ-001 price"]


EXIT = "process.exit(0);\n"
PRINTS = "console.log('TAP version 13\\nok 1 - REQ-001 price\\n# tests 1\\n# pass 1\\n# fail 0');\n" + EXIT
OVERRIDES = "process.on('exit', () => { process.exitCode = 0; });\nexport const price = () => 5;\n"
FAKE = "export default (name, body) => {};\n"


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    ("files", "command", "told"),
    [
        ({"shop.js": CODE + EXIT}, "node --test", "no test ran"),
        ({"shop.js": PRINTS + CODE}, "node --test", "no test ran"),
        ({"shop.js": PRINTS + CODE}, "node shop.test.js", "no test ran"),
        ({"shop.js": OVERRIDES}, "node shop.test.js", "1 failed"),
        (
            {"b.test.js": HEAD + EXIT + "test('later', () => { assert.ok(1 + 1) });\n"},
            "node --test",
            "b.test.js::later",
        ),
        (
            {"t.js": FAKE, "b.test.js": "import test from './t.js';\ntest('b', () => { assert(0) });\n"},
            "make test",
            "::b",
        ),
    ],
    ids=["exit in the code", "printed", "printed by plain node", "exit code overridden", "exit in the test", "a fake"],
)
def test_what_does_not_run_is_not_green(tmp_path: Path, files: dict[str, Content], command: str, told: str) -> None:
    result = judged(tmp_path, files, command)
    assert verdicts(result) == ["tests_failed"] and told in result.findings[0].message, result.findings


@pytest.mark.parametrize(
    "text",
    [
        "describe('a', () => { describe('b', () => { it('c', () => { assert.ok(price(1)) }) }) });\n",
        "test('a', async (t) => { await t.test('sub', () => { assert.ok(price(1)) }) });\n",
        "for (const n of [1, 2]) test(`n ${n}`, () => { assert.ok(price(n)) });\n",
        "if (process.platform === 'win32') { test('there', () => { assert.ok(price(1)) }) }\n",
        "test('a (b) [c] :: d', { timeout: 5000 }, () => { assert.ok(/['\"`]/.test('\"')) });\n",
    ],
    ids=["nested", "subtests", "in a loop", "in a condition", "an odd name"],
)
def test_honest_ways_to_test_are_green(tmp_path: Path, text: str) -> None:
    more = HEAD + "import { price } from './shop.js';\n" + text
    assert judged(tmp_path, {"more.test.js": more}).findings == []
