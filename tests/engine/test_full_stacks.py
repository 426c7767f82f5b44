"""Full builds of real stacks, with every gate that a project has by default: a function that no test needs is found by
our own mutants, and the fixer adds the test."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from damascus.engine.flow.hardening import EXPLAIN_MUTANTS, MUTATE
from damascus.store import artifacts
from tests.engine.flow_stories import author, journal, secure, turn, verified
from tests.engine.shell_stories import Watched
from tests.engine.test_review_and_ci import run_as_if_killed
from tests.yard import CONFIG, NO_PYTEST_CACHE, START, Yard, python, story

GATES = CONFIG.replace('canary = false\nmutation = "off"\n', 'canary = false\nmutation = "bodies"\n')
FULL = '[flow]\nprofile = "full"\nskip = ["load_context", "clarify", "docs"]\n'
PY_CODE = "def double(n):\n    return 2 * n\n\n\ndef half(n):\n    return n / 2\n"
PY_TEST = "from maths import double\n\n\ndef test_REQ_001_double():\n    assert double(4) == 8\n"
PY_MORE = "from maths import half\n\n\ndef test_REQ_001_half():\n    assert half(4) == 2\n"
JS_CODE = (
    "function double(n) {\n  return 2 * n;\n}\nfunction half(n) {\n  return n / 2;\n}\n"
    "module.exports = { double, half };\n"
)
JS_TEST = (
    "const test = require('node:test');\nconst assert = require('node:assert');\n"
    "const { double } = require('../maths.js');\n"
    "test('REQ-001 double', () => { assert.strictEqual(double(4), 8); });\n"
)
JS_MORE = JS_TEST.replace("double", "half").replace("half(4), 8", "half(4), 2")
STACKS: dict[str, dict[str, Any]] = {
    "python": {
        "files": START, "code": ("maths.py", PY_CODE), "test": ("tests/test_maths.py", PY_TEST),
        "more": ("tests/test_half.py", PY_MORE),
        "command": f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {python()} -m pytest -q {NO_PYTEST_CACHE} tests",
    },
    "node": {
        "files": {"package.json": '{"name": "maths", "version": "1.0.0"}\n'}, "code": ("maths.js", JS_CODE),
        "test": ("test/maths.test.js", JS_TEST), "more": ("test/half.test.js", JS_MORE), "command": "node --test",
    },
}  # fmt: skip


def script(parts: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    def writes(role: str, what: str) -> dict[str, Any]:
        path, text = parts[what]
        return author(role, {path: text})

    return {
        "one": [
            writes("test-author", "test"), verified("test-critic"), writes("code-implementer", "code"),
            verified("code-critic"), turn("mutator", report={"summary": "Nobody asks half for its answer."}),
            writes("fixer", "more"), verified("self-reviewer"), secure(),
            turn("reporter", report={"summary": "half and double are there"}),
        ]
    }  # fmt: skip


def yard_of(stack: str, folder: Path, url: str) -> Yard:
    if stack == "node" and shutil.which("node") is None:
        pytest.skip("node is missing")
    parts = STACKS[stack]
    yard = Yard(folder, url, files=parts["files"], config=GATES + FULL)
    scope = [parts[what][0] for what in ("code", "test", "more")]
    yard.add(story("one", scope=scope, command=parts["command"], requirements={"REQ-001": "half and double"}))
    return yard


@pytest.mark.req("F5", "F1")
@pytest.mark.parametrize("stack", STACKS)
def test_a_mutant_that_lives_sends_the_fixer_for_a_test(stack: str, tmp_path: Path, database_url: str) -> None:
    yard = yard_of(stack, tmp_path, database_url)
    agent = Watched(yard, script(STACKS[stack]))
    yard.work(agent)

    assert yard.item("one")["phase"] == "done", (yard.questions(), yard.item("one")["last_feedback"])
    assert yard.item("one")["attempts"] == 0 and yard.on_main(STACKS[stack]["more"][0]) is not None
    assert [brief.role for brief, _, _ in agent.given][4:7] == ["mutator", "fixer", "self-reviewer"]
    asked = agent.given[5][1]
    assert "half" in asked and "What the mutator says of it" in asked
    first, second = (judged.of("mutation") for judged in journal(yard, MUTATE))
    assert first.findings and not second.findings
    reports = artifacts.versions(yard.db, yard.item("one")["id"], "build/mutation_report.md")
    assert "Nobody asks half for its answer." in reports[1].content.decode()
    assert first.evidence[0].summary in reports[0].content.decode(), "the tool's own numbers"


@pytest.mark.req("D21", "F5")
@pytest.mark.parametrize("moment", [("explain_mutants", "after_done"), ("mutate", "after"), ("fix", "after_done")])
def test_a_killed_hardening_goes_on_where_it_was(moment: tuple[str, str], tmp_path: Path, database_url: str) -> None:
    yard = yard_of("python", tmp_path, database_url)

    def killed(step: str, point: str) -> None:
        if (step, point) == moment:
            raise KeyboardInterrupt

    first = Watched(yard, script(STACKS["python"]))
    with pytest.raises(KeyboardInterrupt):
        run_as_if_killed(yard, killed, first)
    yard.query("UPDATE leases SET expires_at = now() - interval '1 h' RETURNING item_id")
    yard.query("SELECT rescue_item(item_id, fence, 12, 'test') FROM leases")
    heir = Watched(yard, script(STACKS["python"]))
    yard.work(heir)
    assert yard.item("one")["phase"] == "done", yard.questions()
    roles = [brief.role for brief, _, _ in (*first.given, *heir.given)]
    assert [role for role in set(roles) if roles.count(role) > 1] == ["code-critic"], "of the build, and of the review"
    assert len(roles) == 10 and len(journal(yard, EXPLAIN_MUTANTS)) == 1
