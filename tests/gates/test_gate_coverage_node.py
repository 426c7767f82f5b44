"""Gate coverage in Node: V8's count for node --test and mocha, the runner's report for jest and vitest."""

from pathlib import Path

import pytest

from tests.gates.coverage_projects import ALONE, REFUSED, Project, check, judge, passes_and_goes_back
from tests.gates.judging import Judging, verdicts
from tests.node_runners import node_project
from tests.toolchains import need_program

JS_CODE = """export function price(count) {
  if (count > 10) {
    let unit = 2;
    unit = unit + 1;
    unit -= 1;
    return count * unit;
  }
  return count * 3;
}
"""
CALLS = "expect(price(1)).toBe(3)", "expect(price(20)).toBe(40)"
NODE_HEAD = "import test from 'node:test';\nimport assert from 'node:assert';\nimport { price } from './price.mjs';\n"
NODE_HALF = NODE_HEAD + "test('REQ-001', () => { assert.equal(price(1), 3); });\n"
NODE = Project(
    command="node --test",
    code=JS_CODE,
    path="price.mjs",
    test="price.test.mjs",
    whole=NODE_HALF + "test('REQ-002', () => { assert.equal(price(20), 40); });\n",
    half=NODE_HALF,
    lines="price.mjs:3-6",
    base={"package.json": '{"type": "module"}\n'},
    opt_out="/* node:coverage disable */\n/* c8 ignore start */\n",
)
JEST_HALF = "const { price } = require('./price.js');\ntest('REQ-001', () => { " + CALLS[0] + "; });\n"
JEST = Project(
    command="npx jest --ci",
    code=JS_CODE.replace("export function", "function") + "module.exports = { price };\n",
    path="price.js",
    test="price.test.js",
    whole=JEST_HALF + "test('REQ-002', () => { " + CALLS[1] + "; });\n",
    half=JEST_HALF,
    lines="price.js:3-6",
    base={"package.json": '{"jest": {"coveragePathIgnorePatterns": ["."], "collectCoverageFrom": ["!**"]}}\n'},
    opt_out="/* istanbul ignore file */\n",
    packages=True,
)
MOCHA_HALF = "const assert = require('assert');\nconst { price } = require('../price.js');\n" + (
    "it('REQ-001', () => { assert.equal(price(1), 3); });\n"
)
MOCHA = Project(
    command="npx mocha",
    code=JEST.code,
    path="price.js",
    test="test/price.js",
    whole=MOCHA_HALF + "it('REQ-002', () => { assert.equal(price(20), 40); });\n",
    half=MOCHA_HALF,
    lines="price.js:3-6",
    base={"package.json": "{}\n"},
    opt_out="/* c8 ignore start */\n",
    packages=True,
)
VITEST_HALF = "import { test, expect } from 'vitest';\nimport { price } from './price.mjs';\n" + (
    "test('REQ-001', () => { " + CALLS[0] + "; });\n"
)
VITEST = Project(
    command="npx vitest run",
    code=JS_CODE,
    path="price.mjs",
    test="price.test.mjs",
    whole=VITEST_HALF + "test('REQ-002', () => { " + CALLS[1] + "; });\n",
    half=VITEST_HALF,
    lines="price.mjs:3-6",
    base={
        "package.json": '{"type": "module"}\n',
        "vitest.config.mjs": "export default { test: { coverage: { exclude: ['**'], include: ['none'] } } };\n",
    },
    opt_out="/* v8 ignore start */\n/* istanbul ignore file */\n",
    packages=True,
)
PROJECTS = {"node": NODE, "jest": JEST, "mocha": MOCHA, "vitest": VITEST}


def judging_of(project: Project, folder: Path) -> Judging:
    need_program("node")
    return node_project(folder, project.base) if project.packages else Judging.of(folder, dict(project.base))


@pytest.mark.req("A16")
@pytest.mark.parametrize("name", PROJECTS)
def test_lines_that_run_pass_and_lines_that_do_not_go_back(name: str, tmp_path: Path) -> None:
    passes_and_goes_back(judging_of(PROJECTS[name], tmp_path), PROJECTS[name])


@pytest.mark.req("A16")
@pytest.mark.parametrize("name", PROJECTS)
def test_no_comment_takes_a_line_away(name: str, tmp_path: Path) -> None:
    judging, project = judging_of(PROJECTS[name], tmp_path), PROJECTS[name]
    assert verdicts(check(judging, project, project.half, project.opt_out + project.code)) == REFUSED


@pytest.mark.req("A16")
def test_vitest_without_its_package_is_listed_by_name_or_refused(tmp_path: Path) -> None:
    judging = node_project(tmp_path, {"package.json": '{"type": "module"}\n'}, without="@vitest/coverage-v8")
    files = {VITEST.path: VITEST.code, VITEST.test: VITEST.half}
    result = judge(judging, files, "npx vitest run")
    assert verdicts(result) == [] and "@vitest/coverage-v8" in result.unverified[0], result
    assert verdicts(judge(judging, files, "npx vitest run", ALONE + "required = true\n")) == REFUSED
