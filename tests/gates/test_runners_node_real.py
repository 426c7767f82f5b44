"""The real jest, vitest and mocha, each read test by test: results, ways to start them, tricks, canary and mutants."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from damascus.domain.ports import Candidate, GateResult, TestRun
from damascus.domain.spec import Requirement
from damascus.gates.canary import Canary
from damascus.gates.mutation import Mutation
from damascus.gates.tests import Tests
from tests.gates.judging import Content, Judging, verdicts
from tests.node_runners import node_project

COMMON, MODULE = '{"name": "shop"}\n', '{"name": "shop", "type": "module"}\n'
TIMEOUT = 120.0
RED = GateResult(gate="red", red_tests=["test/shop.test.js"])


@dataclass(frozen=True)
class Runner:
    """How a project of each is written: CommonJS with globals, ES modules with imports, CommonJS with node's assert."""

    command: str
    package: str
    code: str
    head: str
    equal: str
    """What says that {} is {}."""

    def base(self) -> dict[str, str]:
        old = self.head.replace("../", "./") + self.test("old", "1", "1")
        return {"package.json": self.package, "shop.js": "", "test/old.test.js": old}

    def test(self, name: str, value: str, wanted: str, before: str = "") -> str:
        return f"it('{name}', () => {{ {before}{self.equal.format(value, wanted)}; }});\n"

    def story(self, *more: str) -> dict[str, str]:
        imports = self.imports + self.test("REQ-001 price", "price(2)", "4")
        return {"shop.js": self.code, "test/shop.test.js": imports + "".join(more)}

    @property
    def imports(self) -> str:
        how = "import {{ price }} from '{}';\n" if self.package is MODULE else "const {{ price }} = require('{}');\n"
        return self.head + how.format("../shop.js")


CJS = "exports.price = function (cents) {\n  return cents * 2;\n};\n"
ESM = "export function price(cents) {\n  return cents * 2;\n}\n"
VITEST_HEAD = "import { describe, expect, it } from 'vitest';\n"
ASSERT = "const assert = require('node:assert');\n"
RUNNERS = {
    "jest": Runner("npx jest", COMMON, CJS, "", "expect({}).toBe({})"),
    "vitest": Runner("npx vitest run", MODULE, ESM, VITEST_HEAD, "expect({}).toBe({})"),
    "mocha": Runner("npx mocha", COMMON, CJS, ASSERT, "assert.equal({}, {})"),
}
each_runner = pytest.mark.parametrize("name", RUNNERS)


def run(folder: Path, files: dict[str, str], command: str, *, copied: bool = False) -> TestRun:
    return node_project(folder, files, copied=copied).run(command, timeout=TIMEOUT)


def told(result: TestRun) -> dict[str, str]:
    return {case.id: case.status for case in result.cases}


def candidate(folder: Path, name: str, files: Mapping[str, Content]) -> tuple[Judging, Candidate]:
    judging = node_project(folder, RUNNERS[name].base())
    made = judging.candidate(files, command=RUNNERS[name].command, scope=("shop.js", "test/"))
    return judging, replace(made, spec=replace(made.spec, requirements=(Requirement("REQ-001", "a price"),)))


def by_mutation(folder: Path, name: str, files: Mapping[str, Content]) -> GateResult:
    judging, made = candidate(folder, name, files)
    return Mutation(judging.runner).check(made)


# ── results ───────────────────────────────────────────────────────────────────────────────────────────

BODY = """\
describe('outer', () => {
  describe('inner', () => { it('deep', () => { same(1, 1); }); });
  it.skip('left out', () => { same(1, 2); });
  it.todo('later');
});
it('red', () => { same(1, 2); });
it.each([[1, 2], [2, 4]])('twice %i is %i', (one, two) => { same(one * 2, two); });
"""
SAME = "const same = (one, two) => { expect(one).toBe(two); };\n"
MOCHA_BODY = BODY.partition("it.each")[0].replace("it.todo(", "it(") + (
    "for (const [one, two] of [[1, 2], [2, 4]]) it(`twice ${one} is ${two}`, () => { same(one * 2, two); });\n"
)
BODIES = {
    "jest": SAME + BODY,
    "vitest": VITEST_HEAD + SAME + BODY,
    "mocha": "const { equal: same } = require('node:assert');\n" + MOCHA_BODY,
}
RESULTS = {
    "test/a.test.js::outer > inner > deep": "passed",
    "test/a.test.js::outer > left out": "skipped",
    "test/a.test.js::outer > later": "skipped",
    "test/a.test.js::red": "failed",
    "test/a.test.js::twice 1 is 2": "passed",
    "test/a.test.js::twice 2 is 4": "passed",
}


@pytest.mark.req("D7")
@each_runner
def test_each_result_is_told_by_file_and_name(tmp_path: Path, name: str) -> None:
    """In node_modules as npm lays them out; the other tests have links to one store."""
    runner = RUNNERS[name]
    files = {"package.json": runner.package, "test/a.test.js": BODIES[name]}
    result = run(tmp_path, files, runner.command, copied=True)
    assert told(result) == RESULTS and result.exit_code == 1, result.output


MISSING = {"jest": "require('./gone');\n", "vitest": "import './gone.js';\n", "mocha": "require('./gone');\n"}


@pytest.mark.req("D7")
@each_runner
def test_a_file_that_cannot_be_loaded_is_an_error_by_its_name(tmp_path: Path, name: str) -> None:
    """mocha ends there; the others run what they can."""
    runner = RUNNERS[name]
    files = {**runner.base(), "test/b.test.js": runner.head + MISSING[name] + runner.test("b", "1", "1")}
    result = run(tmp_path, files, runner.command)
    others = {} if name == "mocha" else {"test/old.test.js::old": "passed"}
    assert told(result) == {"test/b.test.js": "error", **others} and result.exit_code != 0, result.output


HOOK = "describe('of a hook', () => { HOOK(() => { throw new Error('no'); }); it('a', () => {}); });\n"


@each_runner
def test_tests_that_a_hook_kept_from_running_are_red(tmp_path: Path, name: str) -> None:
    runner = RUNNERS[name]
    head = runner.head.replace("describe", "beforeAll, describe")
    hook = HOOK.replace("HOOK", "before" if name == "mocha" else "beforeAll")
    files = {**runner.base(), "test/b.test.js": head + hook}
    result = run(tmp_path, files, runner.command)
    red = [case.id for case in result.cases if case.status in ("failed", "error")]
    assert ("test/b.test.js" if name == "vitest" else "test/b.test.js::of a hook > a") in red, result.output
    assert told(result)["test/old.test.js::old"] == "passed"


# ── ways to start ─────────────────────────────────────────────────────────────────────────────────────

JEST_ESM = "import { price } from './shop.js';\ntest('a', () => { expect(price(2)).toBe(4); });\n"
MOCHA_ESM = (
    "import assert from 'node:assert';\nimport { price } from './shop.js';\nit('a', () => { assert(price(1)) });\n"
)
VM = "node --experimental-vm-modules node_modules/jest/bin/jest.js"
ONE = "test('a', () => { expect(1).toBe(1); });\n"
MOCHA_ONE = "it('a', () => {});\n"
TYPED = VITEST_HEAD + "it('a', () => { const one: number = 1; expect(one).toBe(1); });\n"
SCRIPT = '{{"name": "shop", "scripts": {{"test": "{}"}}}}\n'
WAYS: dict[str, tuple[dict[str, str], str, str]] = {
    "jest: npm test": ({"package.json": SCRIPT.format("jest --ci"), "a.test.js": ONE}, "npm test", "a.test.js"),
    "jest: npm test with more words": (
        {"package.json": SCRIPT.format("jest"), "a.test.js": ONE, "b.test.js": ONE}, "npm test -- a.test.js",
        "a.test.js",
    ),
    "jest: a path": ({"package.json": COMMON, "x/a.test.js": ONE, "a.test.js": ONE}, "npx jest x/", "x/a.test.js"),
    "jest: in a folder": ({"x/package.json": COMMON, "x/a.test.js": ONE}, "cd x && npx jest", "x/a.test.js"),
    "jest: ES modules": ({"package.json": MODULE, "shop.js": ESM, "a.test.js": JEST_ESM}, VM, "a.test.js"),
    "jest: reporters of its own": (
        {"package.json": COMMON, "jest.config.js": "module.exports = { reporters: ['github-actions'], bail: 1 };\n",
         "a.test.js": ONE}, "npx jest --silent", "a.test.js",
    ),
    "vitest: ends by itself": (
        {"package.json": SCRIPT.format("vitest").replace("{", '{"type": "module", ', 1), "a.test.ts": TYPED},
        "npm test", "a.test.ts",
    ),
    "vitest: common code, a path": (
        {"package.json": COMMON, "shop.cjs": CJS, "x/a.test.mjs": VITEST_HEAD + "import { price } from '../shop.cjs';\n"
         "it('a', () => { expect(price(2)).toBe(4); });\n"}, "npx vitest run x/a.test.mjs", "x/a.test.mjs",
    ),
    "vitest: reporters and a file of its own, threads": (
        {"package.json": MODULE, "a.test.js": ONE, "vitest.config.js":
         "export default { test: { globals: true, pool: 'threads', reporters: ['junit'], outputFile: 'out.xml' } };\n"},
        "npx vitest run", "a.test.js",
    ),
    "mocha: npm test, ES modules": (
        {"package.json": SCRIPT.format("mocha *.test.js").replace("{", '{"type": "module", ', 1), "shop.js": ESM,
         "a.test.js": MOCHA_ESM}, "npm test", "a.test.js",
    ),
    "mocha: a path, a reporter, node's flags": (
        {"package.json": COMMON, "x/a.js": MOCHA_ONE}, "npx mocha --expose-gc -R dot x/a.js", "x/a.js",
    ),
    "mocha: reporter in its file, side by side": (
        {"package.json": COMMON, ".mocharc.json": '{"reporter": "json", "spec": "x/*.js", "parallel": true}\n',
         "x/a.js": MOCHA_ONE}, "npx mocha", "x/a.js",
    ),
}  # fmt: skip


@pytest.mark.req("D7")
@pytest.mark.parametrize("way", WAYS)
def test_it_is_read_however_it_is_started(tmp_path: Path, way: str) -> None:
    files, command, path = WAYS[way]
    result = run(tmp_path, files, command)
    assert (told(result), result.exit_code) == ({f"{path}::a": "passed"}, 0), result.output


# ── what does not run is not green ────────────────────────────────────────────────────────────────────

EXIT = "process.exit(0);\n"
SUMMARY = "console.log('Tests: 2 passed, 2 total\\n 2 passing\\n Tests  2 passed (2)');\n"


@pytest.mark.req("D7")
@pytest.mark.parametrize("where", ["in a test", "in the code, behind a summary"])
@each_runner
def test_a_process_that_ends_itself_has_not_passed(tmp_path: Path, name: str, where: str) -> None:
    runner = RUNNERS[name]
    story = runner.story(*([runner.test("ends", "1", "1", EXIT.strip())] if where == "in a test" else []))
    if where != "in a test":
        story["shop.js"] += SUMMARY + EXIT
    judging, made = candidate(tmp_path, name, story)
    result = Tests(judging.runner).check(replace(made, red=RED))
    assert verdicts(result) == ["tests_failed"], result


# ── a failing test of ours ────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D7")
@each_runner
def test_the_canary_is_seen_and_honest_work_passes(tmp_path: Path, name: str) -> None:
    judging, made = candidate(tmp_path, name, RUNNERS[name].story())
    assert judging.tests(made).findings == []
    result = Canary(judging.runner, judging.mirror).check(made)
    assert (result.findings, result.unverified, result.notes) == ([], [], [])


SWALLOWS = """\
const real = global.it;
global.it = (name, body) => real(name, async () => { try { await body(); } catch {} });
"""
REWRITES = """\
const fs = require('fs');
const write = fs.appendFileSync;
fs.appendFileSync = (file, text) => write(file, text.replaceAll('"failed"', '"passed"').replace('"end":1', '"end":0'));
"""
FORGIVES = """\
import { afterEach } from 'vitest';
afterEach(({ task }) => { Object.defineProperty(task.result, 'state', { get: () => 'pass', set() {} }); });
"""
PASSES = """\
const { Runner } = require('mocha');
Runner.prototype.fail = function (test) { test.state = 'passed'; this.emit('pass', test); };
"""
TRICKS = {
    "jest: expect is another": ("jest", "global.expect = () => ({ toBe() {} });\n"),
    "jest: its word for a test is another": ("jest", SWALLOWS),
    "jest: the report is rewritten": ("jest", REWRITES),
    "vitest: expect is another": (
        "vitest",
        "import { expect } from 'vitest';\nexpect.extend({ toBe: () => ({ pass: true, message: () => '' }) });\n",
    ),
    "vitest: results are set": ("vitest", FORGIVES),
    "mocha: assert is another": ("mocha", "require('node:assert').equal = () => {};\n"),
    "mocha: a failure is a pass": ("mocha", PASSES),
}  # fmt: skip


@pytest.mark.req("D7")
@pytest.mark.parametrize("trick", TRICKS)
def test_the_canary_finds_a_patched_runner(tmp_path: Path, trick: str) -> None:
    name, words = TRICKS[trick]
    story = RUNNERS[name].story()
    judging, made = candidate(tmp_path, name, {**story, "shop.js": words + story["shop.js"]})
    assert Tests(judging.runner).check(replace(made, red=RED)).findings == []
    result = Canary(judging.runner, judging.mirror).check(made)
    assert verdicts(result) == ["runner_compromised"], result


# ── mutants ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D7")
@each_runner
def test_a_function_that_a_test_needs_is_killed(tmp_path: Path, name: str) -> None:
    result = by_mutation(tmp_path, name, RUNNERS[name].story())
    assert (verdicts(result), result.unverified) == ([], [])
    assert "killed" in result.evidence[0].summary and "survived" not in result.evidence[0].summary


@pytest.mark.req("D7")
@each_runner
def test_a_test_that_never_awaits_its_assertion_proves_no_function(tmp_path: Path, name: str) -> None:
    runner = RUNNERS[name]
    late = f"price(2); new Promise(() => {{}}).then(() => {runner.equal.format('price(2)', '4')}); "
    story = {"shop.js": runner.code, "test/shop.test.js": runner.imports + runner.test("REQ-001", "1", "1", late)}
    assert set(verdicts(by_mutation(tmp_path, name, story))) == {"code_unproved"}
